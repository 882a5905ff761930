package machine

import "fmt"

// maxMembers is the largest group that is explored.
const maxMembers = 3

// GroupResult is what an exploration of a group saw.
type GroupResult struct {
	Members     int
	PairStates  int            // joint states of one pair
	Classes     int            // of them, those that a group can tell apart
	States      int            // states of the group; members are not told apart by their number
	Transitions int            // between them
	Decisions   map[string]int // ways in which each rule was carried out
	Unused      []string       // rules that were never due, in their order
}

// String sums it up in a line.
func (r GroupResult) String() string {
	decisions := 0
	for _, n := range r.Decisions {
		decisions += n
	}
	return fmt.Sprintf("%d members: %d pair states in %d classes, %d group states, %d transitions, %d decisions, %d of %d rules used",
		r.Members, r.PairStates, r.Classes, r.States, r.Transitions, decisions,
		len(r.Decisions), len(r.Decisions)+len(r.Unused))
}

// ExploreGroup walks every state that a group of n members can get into, n from 1
// to 3. Each member is a pair as [Explore] walks it, over the same network, with
// everything that can happen to it at any moment; the commands of the rules come
// only from the rules. A rule that is due is decided at any moment or never, in
// every way that it allows. From then on each member's command is on its way, and
// arrives at any later moment, whatever has happened to the member meanwhile; the
// next decision waits until all have arrived. It checks that
//
//   - the pair by itself passes [Explore];
//   - whatever command arrives has a row;
//   - a rule that is due has a decision that it allows;
//   - no condition of Never comes about;
//   - all members can still come to an end, on a calm network without commands
//     that come unbidden: then the rules and the responders suffice.
//
// Which members there are does not change during a walk: one that never began is
// a group of fewer. That every side ends by its own timers, should no rule ever be
// decided because the agent has stopped, is a check of the pair.
//
// The walk is exhaustive and exact. It is made feasible by three reductions that
// lose nothing: one pair is explored once; its joint states are merged where no
// group could tell them apart (they are branching bisimilar, see [GroupResult]'s
// Classes); and members are interchangeable. Commands beyond the Repeat of the
// network are not decided on, and a group that has come there counts as ended.
//
// A violation is a [*GroupCounterexample], or the pair's [*Counterexample]. The
// same arguments give the same result, always. It is for tests.
func ExploreGroup(c Coordination, n int, net Network) (GroupResult, error) {
	g, err := newGroup(c, n, net)
	if err != nil {
		return GroupResult{}, err
	}
	if err := g.walk(); err != nil {
		return g.result(), err
	}
	return g.result(), g.checkEnds()
}

// group is the state of one exploration.
type group struct {
	*pairs
	coordination Coordination
	n            int

	nodes       []groupNode
	ids         map[members]int32
	edges       []edge  // those that an end may depend on
	excused     []int32 // nodes from which something goes beyond the bound
	transitions int
	decisions   map[string]int
}

// member is one member: its class, and the action of the command that is on its
// way to it, noAction for none.
type member struct {
	class   int32
	pending uint8
}

// members are those of a group, sorted: which is which makes no difference.
type members [maxMembers]member

// groupNode is a state of a group and how the walk first came to it.
type groupNode struct {
	members
	from int32
	via  turn
}

// turn is what leads from one state of a group to the next: one member's arc, or
// a decision.
type turn struct {
	at      int8  // whose arc, as an index into the members before it; -1 for a decision
	arc     arc   // its arc
	deliver bool  // the arc is that of its pending command
	rule    *Rule // what was decided
	say     [maxMembers]uint8
}

// newGroup explores the pair of a group.
func newGroup(c Coordination, n int, net Network) (*group, error) {
	if n < 1 || n > maxMembers {
		return nil, fmt.Errorf("machine: %s: a group of %d is not explored, only 1 to %d", c.Name, n, maxMembers)
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	p, err := newPairs(c, net.withDefaults())
	if err != nil {
		return nil, err
	}
	return &group{pairs: p, coordination: c, n: n, ids: map[members]int32{}, decisions: map[string]int{}}, nil
}

func (g *group) result() GroupResult {
	r := GroupResult{
		Members: g.n, PairStates: len(g.pairs.nodes), Classes: len(g.looks),
		States: len(g.nodes), Transitions: g.transitions, Decisions: g.decisions,
	}
	for _, rule := range g.coordination.Rules {
		if g.decisions[rule.Name] == 0 {
			r.Unused = append(r.Unused, rule.Name)
		}
	}
	return r
}
