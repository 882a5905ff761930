package verify

import (
	"cmp"
	"fmt"
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

	// Deadlines are the pairs of states in which only a deadline ends a side. Its peer has lost its
	// memory of the conversation, such as "amnesia of the initiator: gone, awaiting", or is an
	// initiator that has stopped and whose CANCEL was lost: see [ForgetfulRuns].
	Deadlines []string
	// UnusedPairs are pairs of Agree in which no conversation ends after the loss of replies,
	// although they name it.
	UnusedPairs []machine.Pair
}

// String returns the numbers in one line.
func (r FairResult) String() string {
	return fmt.Sprintf("%d runs, %d states, %d transitions", r.Runs, r.States, r.Transitions)
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
	result := FairResult{Runs: 1, States: len(x.nodes), Transitions: x.transitions, Deadlines: x.deadlines}
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
	former bitset.Set // messages of the responder from before it lost its memory, and those that no row has sent
	known  bitset.Set // messages of the initiator that the node of a responder without memory remembers

	cut         bool // the connection is lost
	undelivered bool // a side has learned that no copy of a message can have arrived
}

// fair is one walk. Of the embedded explorer it uses the numbers of messages and the steps.
type fair struct {
	*explorer
	visits[fairJoint, Move]
	run         Run
	obliged     []edge         // transitions that must happen
	answered    []edge         // of jobs that were not asked to stop; they must happen unless slow
	late        []edge         // deadlines that must pass where a side has lost its memory
	slow        bool           // see Run.Slow
	stopped     map[uint8]bool // the ends of the initiator by the stop of its agent
	deadlines   []string       // see FairResult
	transitions int
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
	x := &fair{explorer: newExplorer(m, Network{Once: true}.withDefaults()), run: r}
	x.verdicts, x.rounds = true, cmp.Or(r.Rounds, x.net.Repeat)
	x.stopped = map[uint8]bool{}
	for t := range m.Transitions() {
		if t.Role == machine.Initiator && t.On == machine.Commanded(commandStop) && !m.Terminal(t.From) && m.Terminal(t.To) {
			x.stopped[x.index[t.To]] = true
		}
	}
	return x
}

// walk visits every joint state, in breadth-first order.
func (x *fair) walk() error {
	x.visit(fairJoint{}, -1, Move{})
	for at := int32(0); int(at) < len(x.nodes); at++ {
		for s := range x.steps(x.nodes[at].at) {
			if x.problem != nil {
				return x.violation(at, x.problem.Problem, x.problem.Detail, s.Move)
			}
			to := x.visit(x.withoutPast(s.to), at, s.Move)
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
		if len(x.nodes) > x.net.MaxStates {
			return fmt.Errorf("verify: %s: %s: more than %d joint states", x.Name(), x.run.Name, x.net.MaxStates)
		}
	}
	return nil
}

// checkEnds finds a joint state from which no moves that must happen lead to an end.
func (x *fair) checkEnds() error {
	must := x.obliged
	if !x.slow {
		must = slices.Concat(x.obliged, x.answered)
	}
	settled := func(at int32) bool { return x.settled(x.nodes[at].at) }
	ends := canReach(len(x.nodes), must, settled)
	if x.run.Amnesia != [2]bool{} || x.run.Forgets {
		x.deadlines = x.awaits(ends)
		ends = canReach(len(x.nodes), slices.Concat(must, x.late), settled)
	}
	at := slices.Index(ends, false)
	if at < 0 {
		return nil
	}
	p := x.pair(x.nodes[at].at.joint)
	if x.over(x.nodes[at].at) {
		return x.violation(int32(at), Disagreement, fmt.Sprintf(
			"the initiator ends %s and the responder %s, which the table does not allow here", p.Initiator, p.Responder))
	}
	return x.violation(int32(at), Stuck, fmt.Sprintf(
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
	for _, r := range machine.Roles() {
		if x.slow && x.waits(j, r) || x.spent(j, r) {
			return true
		}
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
		t := x.Find(r, state, machine.Commanded(command))
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
		return x.run.Clocks != [2]bool{} || j.undelivered || x.leftToDeadlines(j)
	case c.On.Kind == machine.KindUndeliverable:
		return x.run.Losses > 0
	case c.On.Kind == machine.KindUndelivered:
		return j.undelivered
	case c.On.Kind == machine.KindPeerLost:
		return j.cut
	case c.On.Kind == machine.KindCommand && commandStop != c.On.Name:
		return x.run.Misread
	}
	return x.run.Stops
}

// waits reports whether a job of a role runs that was not asked to stop, and the peer neither
// has ended nor withdraws the request.
func (x *fair) waits(j fairJoint, r machine.Role) bool {
	peer := j.joint[r.Other()]
	if x.Table().Has(machine.Responder) && x.Terminal(x.states[peer.state]) || x.withdrawn(j.joint) {
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
	return x.latest(j[machine.Initiator].sent, machine.Initiator, performatives.ActCancel) >= 0
}

// job returns the declaration of a job.
func (x *explorer) job(r machine.Role, name string) machine.Job {
	jobs := x.Table().Jobs
	return jobs[slices.IndexFunc(jobs, func(j machine.Job) bool { return j.Role == r && j.Name == name })]
}

// do takes one step and emits it.
func (x *fair) do(j fairJoint, r machine.Role, on machine.Symbol, msg *message, must duty, emit func(step)) {
	before := j.joint[r].out
	x.handed = -1
	x.take(j.joint, r, on, msg, func(to joint, via Move) {
		next := j
		next.joint = to
		if x.handed >= 0 && before.Has(x.handed) {
			next.twice[r] = next.twice[r].With(x.handed)
		}
		if next.cut {
			next = next.afterCut()
		}
		emit(step{Move: via, to: next, duty: must})
	})
}

// violation returns a counterexample with the path to a joint state, and with one more move
// where that move is the violation.
func (x *fair) violation(at int32, p Problem, detail string, last ...Move) error {
	run := x.run.Name
	if x.slow {
		run += ", slow jobs"
	}
	return &Counterexample{Table: x.Name(), Problem: p, Detail: run + ": " + detail, Moves: append(x.path(at), last...)}
}
