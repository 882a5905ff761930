package verify

import (
	"fmt"
	"slices"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/internal/bitset"
)

// Result is the summary of an exploration.
type Result struct {
	States       int                      // different joint states
	Transitions  int                      // between them
	Messages     int                      // different messages
	Ends         map[[2]machine.State]int // joint states per pair of terminal states, the initiator's first
	Steps        int                      // transitions of the table, without those of wildcards
	Unexercised  []string                 // of these, the transitions that no conversation takes, in the order of the table
	UnusedPairs  []machine.Pair           // pairs of Agree in which no conversation ends, although the network allows it
	UnusedCauses []string                 // causes that pairs of Agree name in vain, such as "failed, idle after loss of a message"
}

// String returns the numbers in one line.
func (r Result) String() string {
	return fmt.Sprintf("%d states, %d transitions, %d messages, %d ends, %d of %d steps exercised",
		r.States, r.Transitions, r.Messages, len(r.Ends), r.Steps-len(r.Unexercised), r.Steps)
}

// Explore walks every joint state of a conversation of m: both sides, their timers
// and jobs, and the messages between them. In each it checks that
//
//   - every event that can occur has a row: each delivery, each expiry of an armed
//     timer, each command of a running job;
//   - a side that has begun reaches a terminal state by its own timers alone, in case
//     no message arrives and no job ends any more;
//   - no side ends with a running job that was not asked to stop, no job is started
//     while it runs, and no message is sent again before it was sent;
//   - both sides can still end, and when they have, the Agree of the table has the
//     pair; a rough pair counts only after one of its causes, and each of its causes is needed
//     to say so.
//
// A sent message can be delivered from then on, and need never be delivered. So a
// loss is not an event of its own, and any number of losses, duplicates and retries
// is covered; the second check covers the silence that a loss leaves behind.
//
// Some events are explored only where the table has rows for them. If it has any for
// [machine.Undeliverable] or [machine.Undelivered], then the runtime may refuse any copy
// of a message that expects a reply or opens the conversation. A message is undelivered
// only before it has arrived, and before a message of the peer has come since it was sent;
// then it never arrives. If a role has a row for
// [machine.PeerLost], then this event can occur in every live state of both.
//
// A violation is a [*Counterexample] with a shortest path to it. A network with more
// than MaxStates states is another error. An exploration keeps about a kilobyte for
// each state.
func Explore(m *machine.Machine, n Network) (Result, error) {
	x := newExplorer(m, n.withDefaults())
	if err := x.walk(); err != nil {
		return x.result(), err
	}
	err := x.checkEnds()
	if err == nil {
		x.unused, err = x.checkCauses()
	}
	return x.result(), err
}

// explorer is one exploration.
type explorer struct {
	*machine.Machine
	net    Network
	rounds int // as Network.Repeat, of acts that expect a reply
	states []machine.State
	index  map[machine.State]uint8

	refusable  [2]refusable // messages of which the runtime can refuse a copy
	losesPeers bool         // a role has a row for PeerLost
	verdicts   bool         // the initiator's answer to a proposal says which one it answers
	anyRefusal bool         // Undelivered can occur although the message arrives

	messages [2][]message
	numbers  map[message]int // the index of each message

	visits[joint, Move]
	edges   []edge
	taken   map[*machine.Transition]bool
	ends    map[[2]machine.State]int
	causes  causes
	unused  []string        // see Result.UnusedCauses
	silence map[silent]bool // positions that end in silence

	former  bitset.Set                  // messages of the responder that no conversation of it has: see fairJoint
	handed  int                         // the number of the message that the latest step handed to the network
	needs   [2]map[machine.State]*needs // of a strict walk
	problem *Counterexample             // the violation of the latest step, without its path
}

// edge is a transition between joint states. The search backwards from the ends uses
// it.
type edge struct{ from, to int32 }

func newExplorer(m *machine.Machine, n Network) *explorer {
	x := &explorer{
		Machine: m, net: n, rounds: n.Repeat, index: map[machine.State]uint8{}, numbers: map[message]int{},
		taken: map[*machine.Transition]bool{}, ends: map[[2]machine.State]int{}, silence: map[silent]bool{},
	}
	t := m.Table()
	for i, s := range slices.Concat([]machine.State{machine.Idle}, t.Live, t.Terminal) {
		x.states, x.index[s] = append(x.states, s), uint8(i)
	}
	for _, r := range machine.Roles() {
		x.refusable[r] = newRefusable(m, r, n.Strict)
	}
	for t := range m.Transitions() {
		x.losesPeers = x.losesPeers || t.On == machine.PeerLost()
	}
	if n.Strict {
		x.needs = x.strictNeeds()
	}
	return x
}

// walk visits every joint state, in breadth-first order.
func (x *explorer) walk() error {
	x.visit(joint{}, -1, Move{})
	for at := int32(0); int(at) < len(x.nodes); at++ {
		if err := x.checkState(at); err != nil {
			return err
		}
		if err := x.checkNeeds(at); err != nil {
			return err
		}
		for to, via := range x.moves(x.nodes[at].at) {
			if x.problem != nil {
				return x.counterexample(x.problem.Problem, at, x.problem.Detail, via)
			}
			x.edges = append(x.edges, edge{at, x.visit(to, at, via)})
			x.causes.record(x.causeOf(via))
		}
		if x.problem != nil {
			return x.counterexample(x.problem.Problem, at, x.problem.Detail)
		}
		if err := x.checkSize(); err != nil {
			return err
		}
	}
	return nil
}

// checkSize returns an error for an exploration with too many states.
func (x *explorer) checkSize() error {
	if len(x.nodes) > x.net.MaxStates {
		return fmt.Errorf("verify: %s: more than %d joint states", x.Name(), x.net.MaxStates)
	}
	return nil
}

func (x *explorer) result() Result {
	r := Result{
		States: len(x.nodes), Transitions: len(x.edges), Messages: len(x.messages[0]) + len(x.messages[1]), Ends: x.ends, UnusedCauses: x.unused,
	}
	for t := range x.Transitions() {
		if t.Wildcard {
			continue
		}
		r.Steps++
		if !x.taken[t] {
			r.Unexercised = append(r.Unexercised, fmt.Sprintf("%s in %s on %s", t.Role, t.From, t.On))
		}
	}
	for _, p := range x.Table().Agree {
		if x.ends[endOf(p)] == 0 && x.admits(p) {
			r.UnusedPairs = append(r.UnusedPairs, p)
		}
	}
	return r
}
