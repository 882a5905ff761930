package machine

import "fmt"

// Network says what an exploration may do to a conversation. The zero value is
// the worst: messages are lost, duplicated without bound and delivered in any
// order, every armed timer may expire at any moment, and either agent may stop.
type Network struct {
	Reliable   bool // every message arrives: a responder that never heard of the conversation is no end
	Once       bool // no message arrives twice, unless it is sent twice
	NoTimeouts bool // no timer ever expires: everything is fast
	NoStops    bool // no agent stops

	// Stop is the command that an agent's stop becomes. Empty means "stop".
	Stop string

	// Repeat bounds the environment: how many different messages of one act each
	// side may send on command, for instance requests, hence rounds, and progress
	// reports. Zero means 2. Losses, duplicates and retries need no bound.
	Repeat int

	// MaxStates ends an exploration that grows beyond what a test should take.
	// Zero means 4,000,000.
	MaxStates int
}

// Calm is the network on which a conversation must come to its end without the
// help of any timer: it delivers every message once, in any order.
func Calm() Network {
	return Network{Reliable: true, Once: true, NoTimeouts: true, NoStops: true}
}

// calm reports whether nothing can be lost or late.
func (n Network) calm() bool { return n.Reliable && n.NoTimeouts && n.NoStops }

func (n Network) withDefaults() Network {
	if n.Stop == "" {
		n.Stop = "stop"
	}
	if n.Repeat == 0 {
		n.Repeat = 2
	}
	if n.MaxStates == 0 {
		n.MaxStates = 4_000_000
	}
	return n
}

// Result is what an exploration saw.
type Result struct {
	States      int // different joint states
	Transitions int
	Messages    int          // different messages
	Ends        map[Pair]int // joint states per pair of end states; the notes are the table's
	Steps       int          // rows for one state and one symbol, without those of wildcards
	Unexercised []string     // those of them that were never taken, in the order of the table
	UnusedPairs []Pair       // pairs of Agree in which no conversation ended, though the network lets it
}

// String sums it up in a line.
func (r Result) String() string {
	return fmt.Sprintf("%d states, %d transitions, %d messages, %d ends, %d of %d steps exercised",
		r.States, r.Transitions, r.Messages, len(r.Ends), r.Steps-len(r.Unexercised), r.Steps)
}

// Explore walks every joint state that a conversation of m can get into: both
// roles, their timers and jobs, and the messages between them. In each it checks
// that
//
//   - whatever can happen has a row: every delivery, every expiry of an armed
//     timer, every word of a running job;
//   - a side that has begun comes to a terminal state by its own timers alone,
//     should the network fall silent for ever and no job return;
//   - no job is left running, unasked to stop, by a side that has ended, none is
//     started twice, and nothing is sent again that was never sent;
//   - both sides can still come to an end, and when they have, [Table.Agree] has
//     the pair, and not as a rough one where nothing was rough.
//
// A message that was sent stays deliverable, and need never be delivered. So a
// loss is no event of its own, and any number of losses, duplicates and retries
// is covered; what a loss could leave behind is what the second check is about.
// What the runtime says in a peer's stead, such as the refusal of a message that
// a full mailbox turned away, is not part of the exploration.
//
// A violation is a [*Counterexample] with the shortest way there. The same table
// and network give the same result, always. Explore takes time and memory in
// proportion to the number of states, about a kilobyte each; it is for tests.
func Explore(m *Machine, n Network) (Result, error) {
	x := newExplorer(m, n.withDefaults())
	if err := x.walk(); err != nil {
		return x.result(), err
	}
	if err := x.checkEnds(); err != nil {
		return x.result(), err
	}
	return x.result(), nil
}

// explorer is the state of one exploration.
type explorer struct {
	*layout
	net Network

	messages [2][]message
	places   map[message]int

	nodes   []node
	ids     map[joint]int32
	edges   []edge
	taken   map[*step]bool
	ends    map[Pair]int
	silence map[silent]bool

	problem *Counterexample // set by a step that must not happen
}

// node is a joint state and how the walk first came to it.
type node struct {
	joint
	via  Move
	from int32
}

// edge is a transition, kept for the way back from the ends.
type edge struct{ from, to int32 }

func newExplorer(m *Machine, n Network) *explorer {
	return &explorer{
		layout: m.layout, net: n, places: map[message]int{},
		ids: map[joint]int32{}, taken: map[*step]bool{}, ends: map[Pair]int{}, silence: map[silent]bool{},
	}
}

// walk visits every joint state, nearest first.
func (x *explorer) walk() error {
	x.visit(joint{}, -1, Move{})
	for at := int32(0); int(at) < len(x.nodes); at++ {
		if err := x.checkState(at); err != nil {
			return err
		}
		for to, via := range x.moves(x.nodes[at].joint) {
			if x.problem != nil {
				return x.counterexample(x.problem.Problem, at, &via, x.problem.Detail)
			}
			x.edges = append(x.edges, edge{at, x.visit(to, at, via)})
		}
		if x.problem != nil {
			return x.counterexample(x.problem.Problem, at, nil, x.problem.Detail)
		}
		if len(x.nodes) > x.net.MaxStates {
			return fmt.Errorf("machine: %s: more than %d joint states", x.Name(), x.net.MaxStates)
		}
	}
	return nil
}

// visit returns the number of a joint state, a new one if it is.
func (x *explorer) visit(j joint, from int32, via Move) int32 {
	if id, ok := x.ids[j]; ok {
		return id
	}
	id := int32(len(x.nodes))
	x.ids[j] = id
	x.nodes = append(x.nodes, node{joint: j, from: from, via: via})
	return id
}

func (x *explorer) result() Result {
	r := Result{
		States: len(x.nodes), Transitions: len(x.edges), Messages: len(x.messages[0]) + len(x.messages[1]), Ends: x.ends,
	}
	for _, s := range x.order {
		if s.other {
			continue
		}
		r.Steps++
		if !x.taken[s] {
			r.Unexercised = append(r.Unexercised, fmt.Sprintf("%s in %s on %s", s.role, s.state, s.on))
		}
	}
	for _, p := range x.table.Agree {
		if x.ends[p] == 0 && x.admits(p) {
			r.UnusedPairs = append(r.UnusedPairs, p)
		}
	}
	return r
}
