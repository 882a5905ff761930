package standard

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// facts are the data of [Rows.Complete] about one state of one role.
type facts struct {
	ways []way    // the ways into the state, each once
	left []string // jobs of earlier states that were stopped and have not given their last command
}

// way describes one way into a state. It is comparable.
type way struct {
	running  string                     // the jobs that run, joined
	stopping string                     // the jobs that were asked to stop, joined
	request  performatives.Performative // received last; zero for none
	answer   performatives.Performative // sent since request; zero for none
	pending  performatives.Performative // sent last with a retry timer; zero when that does not run
	awaited  performatives.Performative // sent last and expects an answer; zero once a message has arrived
	spoke    bool                       // this side has sent a message
	deadline bool                       // the timer may run
	grace    bool                       // the timer may run
	timers   string                     // the timers of own that may run, joined
}

// The jobs of a way are joined, so that ways compare.
const jobSeparator = "\n"

func jobsOf(joined string) []string {
	if joined == "" {
		return nil
	}
	return strings.Split(joined, jobSeparator)
}

func joinJobs(jobs []string) string {
	slices.Sort(jobs)
	return strings.Join(slices.Compact(jobs), jobSeparator)
}

func withoutJob(joined, job string) string {
	return joinJobs(slices.DeleteFunc(jobsOf(joined), func(j string) bool { return j == job }))
}

// active returns the jobs that have not given their last command.
func (w way) active() []string { return append(jobsOf(w.running), jobsOf(w.stopping)...) }

// active returns the jobs that have not said their last word on one of the ways into the state.
func (f *facts) active() []string {
	var jobs []string
	for _, w := range f.ways {
		jobs = append(jobs, w.active()...)
	}
	return jobs
}

// any reports whether one of the ways into the state has the property.
func (f *facts) any(has func(way) bool) bool { return slices.ContainsFunc(f.ways, has) }

// values returns the values of a property of the ways into a state, each once.
func values[T comparable](f *facts, of func(way) T) []T {
	var all []T
	for _, w := range f.ways {
		if v := of(w); !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

// follow returns the facts of all states that a role reaches by the rows so far. It applies the
// rows of a state to all ways into it until nothing new is found. There is a fixpoint: the ways
// into a state are made of finitely many jobs and acts, and ways and jobs are only ever added.
func (c *completion) follow(role machine.Role) map[machine.State]*facts {
	rows := map[machine.State][]machine.Row{}
	for i, r := range c.table.Rows {
		if i >= len(c.own) && r.To == "" {
			continue // a standard row that stays starts and ends nothing
		}
		for _, from := range r.From {
			if r.Role == role {
				rows[from] = append(rows[from], r)
			}
		}
	}
	all := map[machine.State]*facts{machine.Idle: {ways: []way{{}}}}
	for todo := []machine.State{machine.Idle}; len(todo) > 0; todo = todo[1:] {
		for _, r := range rows[todo[0]] {
			if to := c.followRow(all, r, todo[0]); to != "" && !slices.Contains(todo[1:], to) {
				todo = append(todo, to)
			}
		}
	}
	return all
}

// followRow applies a row to the ways into one of its states. It returns the next state if that has
// got new facts.
func (c *completion) followRow(all map[machine.State]*facts, r machine.Row, from machine.State) machine.State {
	to, changed := r.To, false
	to = cmp.Or(to, from)
	f := all[from]
	for _, on := range r.On {
		for _, w := range slices.Clone(f.ways) {
			next, left, ok := c.take(w, f.left, r, from, on)
			if ok && note(all, to, next, append(left, f.left...)) {
				changed = true
			}
		}
	}
	if !changed {
		return ""
	}
	return to
}

// note adds a way into a state, and jobs that were left behind. It reports whether they are new.
func note(all map[machine.State]*facts, to machine.State, w way, left []string) bool {
	f := all[to]
	if f == nil {
		f = &facts{}
		all[to] = f
	}
	changed := false
	if !slices.Contains(f.ways, w) {
		f.ways, changed = append(f.ways, w), true
	}
	for _, job := range left {
		if !slices.Contains(f.left, job) {
			f.left, changed = append(f.left, job), true
		}
	}
	return changed
}

// take returns the way after a row, and the jobs that the row leaves behind. It is false for a
// command of a job that does not run on this way.
func (c *completion) take(w way, before []string, r machine.Row, from machine.State, on machine.Symbol) (way, []string, bool) {
	moves := r.To != "" && r.To != from
	w, ok := c.issue(w, before, r.Role, on)
	if !ok {
		return w, nil, false
	}
	if on.Kind == machine.KindReceive && on.Act != performatives.ActCancel && (moves || len(actsOf(r)) > 0) {
		w.answer = 0
		if c.asksFor(r.Role.Other(), on.Act) {
			w.request = on.Act
		}
	}
	for _, act := range actsOf(r) {
		w.spoke = true
		if moves || on.Kind == machine.KindReceive {
			w.answer = act
		}
	}
	if on.Kind == machine.KindReceive || on.Kind == machine.KindStale {
		w.awaited = 0
	}
	w = c.clocks(w, r, on)
	w, left := runJobs(w, r)
	if c.terminal(r.To) {
		left = append(left, w.active()...)
		w = way{request: w.request, answer: w.answer}
	}
	return w, left, true
}

// issue ends the job whose last command on is. It is false for a command of jobs none of which
// runs.
func (c *completion) issue(w way, left []string, role machine.Role, on machine.Symbol) (way, bool) {
	issuersFor := c.issuersFor(role, on)
	if len(issuersFor) == 0 {
		return w, true
	}
	for _, j := range issuersFor {
		if !slices.Contains(w.active(), j.Name) {
			continue
		}
		if slices.Contains(j.Ends, on.Name) {
			w.running, w.stopping = withoutJob(w.running, j.Name), withoutJob(w.stopping, j.Name)
		}
		return w, true
	}
	return w, slices.ContainsFunc(issuersFor, func(j machine.Job) bool { return slices.Contains(left, j.Name) })
}

// issuersFor returns the jobs of a role that may give a command. It returns none for a command of
// the agent and for any other symbol.
func (c *completion) issuersFor(role machine.Role, on machine.Symbol) []machine.Job {
	if on.Kind != machine.KindCommand {
		return nil
	}
	return c.issuers[role][on.Name]
}

// issuersOf returns the jobs of each role that may give a command.
func issuersOf(jobs []machine.Job) map[machine.Role]map[string][]machine.Job {
	issuers := map[machine.Role]map[string][]machine.Job{machine.Initiator: {}, machine.Responder: {}}
	for _, j := range jobs {
		for _, command := range slices.Concat(j.Says, j.Ends) {
			if of := issuers[j.Role]; of != nil {
				of[command] = append(of[command], j)
			}
		}
	}
	return issuers
}

// clocks applies the timer effects of a row to a way.
func (c *completion) clocks(w way, r machine.Row, on machine.Symbol) way {
	armed := func(timer string, before bool) bool {
		switch {
		case slices.Contains(r.Do, machine.Arm(timer)):
			return true
		case slices.Contains(r.Do, machine.Disarm(timer)), on == machine.Timeout(timer):
			return false
		}
		return before
	}
	w.deadline, w.grace = armed(machine.TimerDeadline, w.deadline), armed(machine.TimerGrace, w.grace)
	running := jobsOf(w.timers)
	w.timers = ""
	for _, t := range c.table.Timers {
		if t.Role == r.Role && !IsTimer(t.Name) && armed(t.Name, slices.Contains(running, t.Name)) {
			w.timers = joinJobs(append(jobsOf(w.timers), t.Name))
		}
	}
	arm, disarm := c.retries(r)
	for _, act := range actsOf(r) {
		if arm {
			w.pending = act
		}
		if arm || act.ExpectsReply() {
			w.awaited = act
		}
	}
	if disarm {
		w.pending = 0
	}
	return w
}

// retries reports whether a row begins or ends the wait for the answer to a request: whether it
// arms or disarms the retry timer, or would do so with [Retry].
func (c *completion) retries(r machine.Row) (arm, disarm bool) {
	if names(r, machine.TimerRetry) {
		return slices.Contains(r.Do, machine.Arm(machine.TimerRetry)), slices.Contains(r.Do, machine.Disarm(machine.TimerRetry))
	}
	if r.Role != machine.Initiator || r.To == "" || c.terminal(r.To) {
		return false, false
	}
	if sendsRequest(r) {
		return true, false
	}
	return false, r.On[0].Kind == machine.KindReceive && (runs(r) || !receivesIn(c.own, r.Role, r.To))
}

// asksFor reports whether an act of a role is a request: it expects a reply, or is sent with a
// retry timer.
func (c *completion) asksFor(role machine.Role, act performatives.Performative) bool {
	return act != performatives.ActCancel && (act.ExpectsReply() || c.retried[asked{role, act}])
}

// asked is an act that a role sends.
type asked struct {
	role machine.Role
	act  performatives.Performative
}

// retriedActs returns the acts of own rows that are sent with a retry timer.
func (c *completion) retriedActs() map[asked]bool {
	acts := map[asked]bool{}
	for _, r := range c.own {
		if arm, _ := c.retries(r); arm {
			for _, act := range actsOf(r) {
				acts[asked{r.Role, act}] = true
			}
		}
	}
	return acts
}

// runJobs applies the job effects of a row to a way. A job that is stopping when another begins is
// left behind.
func runJobs(w way, r machine.Row) (way, []string) {
	var left []string
	for _, e := range r.Do {
		switch e.Kind { //nolint:exhaustive // the others are about no job
		case machine.EffectRun:
			left = append(left, jobsOf(w.stopping)...)
			w.stopping, w.running = "", joinJobs(append(jobsOf(w.running), e.Name))
		case machine.EffectStop:
			if !slices.Contains(jobsOf(w.running), e.Name) {
				continue
			}
			w.running, w.stopping = withoutJob(w.running, e.Name), joinJobs(append(jobsOf(w.stopping), e.Name))
		}
	}
	return w, left
}

// states returns the states among facts, without Idle, in the order of the table's rows.
func (c *completion) states(role machine.Role, all map[machine.State]*facts, wanted func(machine.State) bool) []machine.State {
	var states []machine.State
	see := func(s machine.State) {
		if s != "" && s != machine.Idle && all[s] != nil && wanted(s) && !slices.Contains(states, s) {
			states = append(states, s)
		}
	}
	for _, r := range c.table.Rows {
		if r.Role == role {
			for _, from := range r.From {
				see(from)
			}
			see(r.To)
		}
	}
	return states
}

// commandsOfJobs returns the commands of jobs: those before the last one, and the last ones.
func (c *completion) commandsOfJobs(role machine.Role, jobs []string) (says, ends []machine.Symbol) {
	commands := func(of func(machine.Job) []string) (all []machine.Symbol) {
		for _, j := range c.table.Jobs {
			for _, name := range of(j) {
				on := machine.Commanded(name)
				if j.Role == role && slices.Contains(jobs, j.Name) && !slices.Contains(ends, on) && !slices.Contains(all, on) {
					all = append(all, on)
				}
			}
		}
		return all
	}
	ends = commands(func(j machine.Job) []string { return j.Ends })
	return commands(func(j machine.Job) []string { return j.Says }), ends
}

// agentCommands returns the commands that rows of those states take from the agent, not from a
// job.
func (c *completion) agentCommands(role machine.Role, in []machine.State) []machine.Symbol {
	found := map[machine.Symbol]bool{}
	for at := range maps.Keys(c.rows) {
		if at.role == role && at.on.Kind == machine.KindCommand && slices.Contains(in, at.state) && len(c.issuersFor(role, at.on)) == 0 {
			found[at.on] = true
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b machine.Symbol) int { return strings.Compare(a.Name, b.Name) })
}
