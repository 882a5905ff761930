package verify

import (
	"fmt"
	"iter"
	"slices"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/internal/bitset"
	"github.com/ribosome-agents/ribosome/performatives"
)

// ExploreFair walks the joint states of a conversation over a network with a bound: a copy of
// a message that is lost never arrives, and of each message at most two copies are under way.
// From every joint state the conversation has to come to its end, or to a declared pair of
// rest, by moves that must happen sooner or later:
//
//   - the delivery of a message that is under way;
//   - the expiry of a timer that [machine.Timer.Ticks], when nothing is under way;
//   - a command that the agent owes, or that opens the conversation;
//   - the last command of a job.
//
// The loss of a message, a withdrawal, a stop and a deadline can happen and need not, so no
// end counts that only the user or a deadline brings. The walk is repeated for several [Run]s,
// each of which allows some of these. A pair of Agree counts as an end
// in the runs that have one of its causes.
//
// A violation is a [*Counterexample] whose detail names the run. Without runs ExploreFair
// walks all of [Runs]. A repeated request that starts a job is a violation in all of them.
func ExploreFair(m *machine.Machine, runs ...Run) (FairResult, error) {
	if runs == nil {
		runs = Runs(m)
	}
	var all FairResult
	for _, r := range runs {
		result, err := r.explore(m)
		all.Runs++
		all.States += result.States
		all.Transitions += result.Transitions
		all.Deadlines = append(all.Deadlines, result.Deadlines...)
		all.UnusedPairs = append(all.UnusedPairs, result.UnusedPairs...)
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// FairResult is the summary of [ExploreFair].
type FairResult struct {
	Runs, States, Transitions int

	// Deadlines are the pairs of states in which only a deadline ends the side that remembers a conversation
	// after the other has lost its memory, such as "amnesia of the initiator: gone, awaiting".
	Deadlines []string
	// UnusedPairs are pairs of Agree in which no conversation ends after the loss of replies, although they
	// name it.
	UnusedPairs []machine.Pair
}

// String returns the numbers in one line.
func (r FairResult) String() string {
	return fmt.Sprintf("%d runs, %d states, %d transitions", r.Runs, r.States, r.Transitions)
}

// Run is one walk of [ExploreFair]: what can happen besides the moves that must.
type Run struct {
	Name    string
	Losses  int     // the largest number of copies that are lost
	Stops   bool    // an agent may stop
	Misread bool    // a side may be unable to read a message, see [machine.CommandMisreads]
	Clocks  [2]bool // of each role: its deadlines may expire at any moment, and then those of the other role must
	Forgets bool    // a side that has ended may forget the replies that it would send again
	Amnesia [2]bool // of each role: it may lose its state
	Crash   bool    // with its state, the ids of the requests that it has taken on are lost, too
	Cut     bool    // the connection may be lost, and then each side that has begun and not ended loses its peer
	Slow    bool    // the ends are checked a second time, with jobs that need not end until they are asked to stop

	// Refusals says that the runtime refuses the copies that are lost. Once all copies of a
	// message were refused, rough ends count, and the deadlines of a side must expire when the
	// other has ended.
	Refusals bool
}

// Runs returns the walks of [ExploreFair], those with the fewest states first.
func Runs(m *machine.Machine) []Run {
	if !m.Table().Has(machine.Responder) {
		return []Run{{Name: "no loss"}, {Name: "stops", Stops: true, Slow: true}, {Name: "deadlines", Clocks: [2]bool{true, true}}}
	}
	return []Run{
		{Name: "no loss"},
		{Name: "refusals", Losses: 1, Refusals: true},
		{Name: "one loss", Losses: 1},
		{Name: "stops", Stops: true, Slow: true},
		{Name: "a lost connection", Cut: true, Slow: true},
		{Name: "misread messages", Misread: true, Slow: true},
		{Name: "deadlines of the responder", Clocks: [2]bool{machine.Responder: true}},
		{Name: "deadlines of the initiator", Clocks: [2]bool{machine.Initiator: true}},
		{Name: "replies forgotten", Losses: 1, Forgets: true},
		{Name: "two losses", Losses: 2},
	}
}

// AmnesiaRuns returns the walks in which a side loses its state at any moment: its conversation, its tombstone,
// its jobs. An initiator is gone then, and messages to it meet nobody. A responder begins anew. Its node answers
// the requests that it remembers by FAILURE, see [performatives.CodeConversationEnded], and none of them starts a
// job again; after a crash it remembers none. Each side has to come to an end of its own, also by its deadline:
// see FairResult.Deadlines. Their pair is not compared with Agree.
//
// They have more states than those of [Runs], up to a million for a table with several rounds.
func AmnesiaRuns(m *machine.Machine) []Run {
	if !m.Table().Has(machine.Responder) {
		return nil
	}
	return []Run{
		{Name: "amnesia of the initiator", Amnesia: [2]bool{machine.Initiator: true}},
		{Name: "amnesia of the responder", Amnesia: [2]bool{machine.Responder: true}},
		{Name: "crash of the responder", Amnesia: [2]bool{machine.Responder: true}, Crash: true},
	}
}

// explore walks one run.
func (r Run) explore(m *machine.Machine) (FairResult, error) {
	x := newFair(m, r)
	err := x.walk()
	if err == nil {
		err = x.checkEnds()
	}
	if err == nil && r.Slow {
		x.slow = true
		err = x.checkEnds()
	}
	result := FairResult{Runs: 1, States: len(x.states), Transitions: x.transitions, Deadlines: x.deadlines}
	if err == nil {
		result.UnusedPairs = x.unusedPairs()
	}
	return result, err
}

// fairJoint is a joint state of a [Run]. In joint, out has the messages of which a copy is
// under way.
type fairJoint struct {
	joint
	twice  [2]bitset.Set // the messages of which two copies are under way
	lost   uint8         // copies so far
	wrong  uint8         // messages that arrived garbled so far
	memory [2]memory
	former bitset.Set // messages of the responder from before it lost its memory
	known  bitset.Set // messages of the initiator that the node of a responder without memory remembers

	cut         bool // the connection is lost
	undelivered bool // a side has learned that no copy of a message can have arrived
}

// fair is one walk. Of the embedded explorer it uses the numbers of messages and the steps.
type fair struct {
	*explorer
	run         Run
	states      []fairNode
	at          map[fairJoint]int32
	obliged     []edge   // transitions that must happen
	answered    []edge   // of jobs that were not asked to stop; they must happen unless slow
	late        []edge   // deadlines that must pass where a side has lost its memory
	slow        bool     // see Run.Slow
	deadlines   []string // see FairResult
	transitions int
}

// fairNode is a joint state, and the move by which the walk first came to it.
type fairNode struct {
	fairJoint
	via  Move
	from int32
}

// step is a move of a walk.
type step struct {
	Move
	to   fairJoint
	duty duty
}

// duty says whether a move must happen.
type duty uint8

const (
	free   duty = iota // it can happen
	late               // a deadline that must pass because a side has lost its memory
	answer             // the last command of a job that was not asked to stop
	due                // it must happen
)

func dueIf(must bool) duty {
	if must {
		return due
	}
	return free
}

func newFair(m *machine.Machine, r Run) *fair {
	x := &fair{explorer: newExplorer(m, Network{Once: true}.withDefaults()), run: r, at: map[fairJoint]int32{}}
	x.verdicts = true
	return x
}

// walk visits every joint state, in breadth-first order.
func (x *fair) walk() error {
	x.see(fairJoint{}, -1, Move{})
	for at := int32(0); int(at) < len(x.states); at++ {
		for s := range x.steps(x.states[at].fairJoint) {
			if x.problem != nil {
				return x.violation(at, &s.Move, x.problem.Problem, x.problem.Detail)
			}
			to := x.see(s.to, at, s.Move)
			x.transitions++
			switch s.duty {
			case due:
				x.obliged = append(x.obliged, edge{at, to})
			case answer:
				x.answered = append(x.answered, edge{at, to})
			case late:
				x.late = append(x.late, edge{at, to})
			case free:
			}
		}
		if len(x.states) > x.net.MaxStates {
			return fmt.Errorf("verify: %s: %s: more than %d joint states", x.Name(), x.run.Name, x.net.MaxStates)
		}
	}
	return nil
}

// see returns the number of a joint state. It assigns one to a new state.
func (x *fair) see(j fairJoint, from int32, via Move) int32 {
	if id, ok := x.at[j]; ok {
		return id
	}
	id := int32(len(x.states))
	x.at[j] = id
	x.states = append(x.states, fairNode{j, via, from})
	return id
}

// checkEnds finds a joint state from which no moves that must happen lead to an end.
func (x *fair) checkEnds() error {
	must := x.obliged
	if !x.slow {
		must = slices.Concat(x.obliged, x.answered)
	}
	settled := func(at int32) bool { return x.settled(x.states[at].fairJoint) }
	ends := canReach(len(x.states), must, settled, nil)
	if x.run.Amnesia != [2]bool{} {
		x.deadlines = x.awaits(ends)
		ends = canReach(len(x.states), slices.Concat(must, x.late), settled, nil)
	}
	at := slices.Index(ends, false)
	if at < 0 {
		return nil
	}
	p := x.pair(x.states[at].joint)
	if x.over(x.states[at].fairJoint) {
		return x.violation(int32(at), nil, Disagreement, fmt.Sprintf(
			"the initiator ends %s and the responder %s, which the table does not allow here", p.Initiator, p.Responder))
	}
	return x.violation(int32(at), nil, Stuck, fmt.Sprintf(
		"nothing that must happen ends it: the initiator is %s and the responder %s", p.Initiator, p.Responder))
}

// settled reports whether a conversation need not go on.
func (x *fair) settled(j fairJoint) bool {
	p := x.pair(j.joint)
	for _, r := range x.Table().Rest {
		if r.Has(p.Initiator, p.Responder, j.lost > 0) {
			return true
		}
	}
	if x.slow && (x.waits(j, machine.Initiator) || x.waits(j, machine.Responder)) {
		return true
	}
	if x.spent(j, machine.Initiator) || x.spent(j, machine.Responder) {
		return true
	}
	if j.forgotten() {
		return x.endedApart(j)
	}
	return x.over(j) && slices.ContainsFunc(x.Table().Agree, func(a machine.Pair) bool {
		return a.Initiator == p.Initiator && a.Responder == p.Responder && (!a.Rough() || slices.ContainsFunc(a.After, func(c machine.Cause) bool { return x.mayHaveOccurred(j, c) }))
	})
}

// spent reports whether a running job of a role, or its agent, could only go on by a message beyond
// the bound of the walk.
func (x *fair) spent(j fairJoint, r machine.Role) bool {
	state := x.state(j.joint, r)
	beyond := func(command string) bool {
		t := x.Find(r, state, machine.Command(command))
		return t != nil && x.exhausted(j.joint, r, t)
	}
	for name := range x.Jobs(j.joint[r].activity, r) {
		if !slices.ContainsFunc(x.job(r, name).Ends, func(end string) bool { return !beyond(end) }) {
			return true
		}
	}
	owed, open := false, false
	for _, c := range x.Table().Commands {
		if c.Role == r && c.Kind == machine.CommandOwed && slices.Contains(c.In, state) {
			owed, open = true, open || !beyond(c.Name)
		}
	}
	return owed && !open
}

// over reports whether both sides have ended, and no message is on its way to a responder that
// has not begun.
func (x *fair) over(j fairJoint) bool {
	return x.ended(j.joint) && (x.state(j.joint, machine.Responder) != machine.Idle || j.joint[machine.Initiator].out == 0)
}

// mayHaveOccurred reports whether the run has a cause of rough ends.
func (x *fair) mayHaveOccurred(j fairJoint, c machine.Cause) bool {
	switch {
	case c.Kind == machine.CauseLoss:
		return j.lost > 0
	case c.Kind == machine.CauseForgotten:
		return j.memory[c.Role] == replyless
	case c.On.Kind == machine.KindTimeout:
		return x.run.Clocks != [2]bool{} || j.undelivered
	case c.On.Kind == machine.KindUndeliverable:
		return x.run.Losses > 0
	case c.On.Kind == machine.KindUndelivered:
		return j.undelivered
	case c.On.Kind == machine.KindPeerLost:
		return j.cut
	case c.On.Kind == machine.KindCommand && x.net.Stop != c.On.Name:
		return x.run.Misread
	}
	return x.run.Stops
}

// waits reports whether a job of a role runs that was not asked to stop, and the peer neither
// has ended nor withdraws the request.
func (x *fair) waits(j fairJoint, r machine.Role) bool {
	peer := j.joint[r.Other()]
	if x.Table().Has(machine.Responder) && x.Terminal(x.explorer.states[peer.state]) || x.withdrawn(j.joint) {
		return false
	}
	for name, stopping := range x.Jobs(j.joint[r].activity, r) {
		if !stopping && !x.job(r, name).Swift {
			return true
		}
	}
	return false
}

// withdrawn reports whether the initiator has sent CANCEL.
func (x *explorer) withdrawn(j joint) bool {
	for i := range j[machine.Initiator].sent.All {
		if x.messages[machine.Initiator][i].act == performatives.ActCancel {
			return true
		}
	}
	return false
}

// job returns the declaration of a job.
func (x *explorer) job(r machine.Role, name string) machine.Job {
	jobs := x.Table().Jobs
	return jobs[slices.IndexFunc(jobs, func(j machine.Job) bool { return j.Role == r && j.Name == name })]
}

// steps yields every move from a joint state. It stops at the first violation.
func (x *fair) steps(j fairJoint) iter.Seq[step] {
	return func(yield func(step) bool) {
		x.former = j.former
		if !x.cuts(j, yield) {
			return
		}
		for _, r := range machine.Roles() {
			if !x.expiries(j, r, yield) || !x.orders(j, r, yield) || !x.arrivals(j, r, yield) || !x.gone(j, r, yield) || !x.forgets(j, r, yield) {
				return
			}
		}
	}
}

// expiries yields the expiry of the armed timers of a role.
func (x *fair) expiries(j fairJoint, r machine.Role, yield func(step) bool) bool {
	quiet := j.joint[machine.Initiator].out|j.joint[machine.Responder].out == 0
	for on, activity := range x.Timeouts(j.joint[r].activity, r) {
		ticks := x.ticks(r, on.Name)
		follows := !ticks && quiet && (x.run.Clocks[r.Other()] || j.undelivered) && x.Terminal(x.state(j.joint, r.Other())) // both keep the same deadline
		lapses := !ticks && quiet && j.forgotten()
		if ticks && !quiet || !ticks && !follows && !lapses && !x.run.Clocks[r] {
			continue
		}
		must := dueIf(ticks || follows)
		if lapses {
			must = late
		}
		next := j
		next.joint[r].activity = activity
		if !x.do(next, r, on, nil, must, yield) {
			return false
		}
	}
	return true
}

func (x *explorer) ticks(r machine.Role, timer string) bool {
	return slices.ContainsFunc(x.Table().Timers, func(t machine.Timer) bool { return t.Role == r && t.Name == timer && t.Ticks })
}

// orders yields the commands of a role's agent and of its running jobs.
func (x *fair) orders(j fairJoint, r machine.Role, yield func(step) bool) bool {
	state := x.state(j.joint, r)
	if j.memory[r] == amnesiac && state == machine.Idle {
		return true
	}
	for on, activity := range x.Commands(j.joint[r].activity, r, state) {
		next := j
		next.joint[r].activity = activity
		must := free
		switch job, ends := x.issuer(j.joint[r].activity, activity, r, on.Name); {
		case ends:
			must = due
			if !job.Swift && !x.stopping(j.joint[r].activity, r, job.Name) {
				must = answer
			}
		case job.Name != "": // a command before the last one
			if t := x.Find(r, state, on); t != nil && t.To == t.From && x.sentBefore(j.joint, t) {
				continue // one report shows all that can happen to it
			}
		default:
			kind := x.CommandKind(r, state, on.Name)
			if kind == machine.CommandStops && !x.run.Stops || kind == machine.CommandMisreads && (!x.run.Misread || !x.mayMisread(j.joint, r)) {
				continue
			}
			must = dueIf(kind == machine.CommandOwed || kind == machine.CommandOpens)
		}
		if !x.do(next, r, on, nil, must, yield) {
			return false
		}
	}
	return true
}

// sentBefore reports whether a side has sent an act before that a row sends.
func (x *fair) sentBefore(j joint, t *machine.Transition) bool {
	return slices.ContainsFunc(t.Do, func(e machine.Effect) bool {
		return (e.Kind == machine.EffectSend || e.Kind == machine.EffectResend) && x.count(j, t.Role, e.Act) > 0
	})
}

// issuer returns the running job that gives a command, given the activities before and after
// it, and whether the job ends with it. It returns no job for a command of the agent.
func (x *fair) issuer(before, after machine.Activity, r machine.Role, command string) (job machine.Job, ends bool) {
	for name := range x.Jobs(before, r) {
		j := x.job(r, name)
		switch {
		case before != after && !x.runs(after, r, name):
			return j, true
		case before == after && slices.Contains(j.Says, command):
			return j, false
		}
	}
	return machine.Job{}, false
}

// stopping reports whether a running job was asked to stop.
func (x *fair) stopping(a machine.Activity, r machine.Role, name string) bool {
	for job, stopping := range x.Jobs(a, r) {
		if job == name {
			return stopping
		}
	}
	return false
}

// arrivals yields, of each message on its way to a role, the delivery, the loss and the refusal
// of a copy.
func (x *fair) arrivals(j fairJoint, r machine.Role, yield func(step) bool) bool {
	from := r.Other()
	for i := range j.joint[from].out.All {
		msg, next := &x.messages[from][i], x.withoutCopy(j, from, i)
		if x.mayFail(j) && !x.loses(next, from, i, yield) {
			return false
		}
		on := x.classify(j.joint, r, i, msg)
		next.joint[r] = next.joint[r].receive(i)
		if !x.receives(j, next, r, i, on, yield) || !x.garbles(j, next, r, on, msg, yield) {
			return false
		}
	}
	return true
}

// garbles yields the delivery of a message whose content arrives as another one, where the table
// declares that. It counts as a loss.
func (x *fair) garbles(j, next fairJoint, r machine.Role, on machine.Symbol, msg *message, yield func(step) bool) bool {
	for _, g := range x.Table().Garbled {
		if g.Role != r || on.Kind != machine.KindReceive || on.Act != g.On.Act || !x.mayFail(j) {
			continue
		}
		next.wrong++
		if !x.do(next, r, g.On, msg, free, yield) {
			return false
		}
	}
	return true
}

// mayFail reports whether the network may lose or garble another message.
func (x *fair) mayFail(j fairJoint) bool { return int(j.lost+j.wrong) < x.run.Losses }

// withoutCopy returns the joint state without one copy of a message.
func (x *fair) withoutCopy(j fairJoint, from machine.Role, i int) fairJoint {
	if j.twice[from].Has(i) {
		j.twice[from] = j.twice[from].Without(i)
	} else {
		j.joint[from].out = j.joint[from].out.Without(i)
	}
	return j
}

// loses yields the loss of the copy of message i that next has no more, or its refusal by the
// runtime.
func (x *fair) loses(next fairJoint, from machine.Role, i int, yield func(step) bool) bool {
	next.lost++
	if x.run.Refusals {
		return x.refuses(next, from, i, yield)
	}
	at := x.state(next.joint, from)
	return yield(step{Move: Move{Role: from, From: at, To: at, Message: "the network loses " + x.messages[from][i].String()}, to: next})
}

// cuts yields the loss of the connection between the two sides. What is under way then is lost, and so is
// what they send later.
func (x *fair) cuts(j fairJoint, yield func(step) bool) bool {
	if !x.run.Cut || j.cut || !x.losesPeers || x.state(j.joint, machine.Initiator) == machine.Idle {
		return true
	}
	at := x.state(j.joint, machine.Initiator)
	next := j
	next.cut = true
	return yield(step{Move: Move{From: at, To: at, Message: "the connection between them is lost"}, to: next.afterCut()})
}

// afterCut returns the joint state without the messages that the lost connection does not carry.
func (j fairJoint) afterCut() fairJoint {
	for r := range j.joint {
		if j.joint[r].out != 0 {
			j.lost = max(j.lost, 1)
		}
		j.joint[r].out, j.twice[r] = 0, 0
	}
	return j
}

// gone yields the loss of a role's peer after the connection was lost.
func (x *fair) gone(j fairJoint, r machine.Role, yield func(step) bool) bool {
	if s := x.state(j.joint, r); !j.cut || s == machine.Idle || x.Terminal(s) {
		return true
	}
	return x.do(j, r, machine.PeerLost(), nil, due, yield)
}

// do takes one step and yields it. It reports whether to go on.
func (x *fair) do(j fairJoint, r machine.Role, on machine.Symbol, msg *message, must duty, yield func(step) bool) bool {
	before := j.joint[r].out
	more := true
	x.latest = -1
	x.take(j.joint, r, on, msg, func(to joint, via Move) bool {
		next := j
		next.joint = to
		if x.latest >= 0 && before.Has(x.latest) {
			next.twice[r] = next.twice[r].With(x.latest)
		}
		if next.cut {
			next = next.afterCut()
		}
		more = yield(step{Move: via, to: next, duty: must})
		return more
	})
	return more && x.problem == nil
}

// violation returns a counterexample with the path to a joint state, and with one more move
// where that move is the violation.
func (x *fair) violation(at int32, last *Move, p Problem, detail string) error {
	c := &Counterexample{Table: x.Name(), Problem: p, Detail: x.run.Name + x.jobs() + ": " + detail}
	for i := at; x.states[i].from >= 0; i = x.states[i].from {
		c.Moves = append(c.Moves, x.states[i].via)
	}
	slices.Reverse(c.Moves)
	if last != nil {
		c.Moves = append(c.Moves, *last)
	}
	return c
}

func (x *fair) jobs() string {
	if x.slow {
		return ", slow jobs"
	}
	return ""
}
