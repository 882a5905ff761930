package machine

import (
	"fmt"
	"slices"
)

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
	beyond      []int32 // nodes from which something goes beyond the bound
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

// walk visits every state, nearest first.
func (g *group) walk() error {
	g.visit(g.start(), -1, turn{})
	for at := int32(0); int(at) < len(g.nodes); at++ {
		if err := g.checkState(at); err != nil {
			return err
		}
		for i := range g.n {
			if err := g.advance(at, i); err != nil {
				return err
			}
		}
		if err := g.decide(at); err != nil {
			return err
		}
		if len(g.nodes) > g.net.MaxStates {
			return fmt.Errorf("machine: %s: more than %d states of a group of %d", g.coordination.Name, g.net.MaxStates, g.n)
		}
	}
	return nil
}

// start returns the members before anything has happened.
func (g *group) start() members {
	var m members
	for i := range g.n {
		m[i].class = g.class[0]
	}
	return m
}

// visit returns the number of a state, a new one if it is.
func (g *group) visit(m members, from int32, via turn) int32 {
	slices.SortFunc(m[:g.n], compareMembers)
	if id, ok := g.ids[m]; ok {
		return id
	}
	id := int32(len(g.nodes))
	g.ids[m] = id
	g.nodes = append(g.nodes, groupNode{members: m, from: from, via: via})
	return id
}

func compareMembers(a, b member) int {
	if a.class != b.class {
		return int(a.class - b.class)
	}
	return int(a.pending) - int(b.pending)
}

// turn notes a transition.
func (g *group) turn(at int32, to members, via turn) {
	id := g.visit(to, at, via)
	g.transitions++
	if via.deliver || via.arc.action != unbidden {
		g.edges = append(g.edges, edge{at, id})
	}
}

// advance lets one member do all that it can.
func (g *group) advance(at int32, i int) error {
	now := g.nodes[at].members
	if i > 0 && now[i] == now[i-1] {
		return nil // its twin did the same
	}
	me, delivered := now[i], false
	for _, a := range g.arcs[me.class] {
		next := now
		next[i].class = a.to
		if a.action == noAction || a.action == unbidden {
			g.turn(at, next, turn{at: int8(i), arc: a})
		}
		if a.action != noAction && a.action == me.pending {
			delivered = true
			next[i].pending = noAction
			g.turn(at, next, turn{at: int8(i), arc: a, deliver: true})
		}
	}
	switch {
	case me.pending == noAction || delivered:
	case g.pairs.beyond(me.class, me.pending):
		g.beyond = append(g.beyond, at)
	default:
		return g.unhandled(at, i)
	}
	return nil
}

// decide carries out the rule that is due, in every way that it allows.
func (g *group) decide(at int32) error {
	now := g.nodes[at].members
	if slices.ContainsFunc(now[:g.n], func(m member) bool { return m.pending != noAction }) {
		return nil
	}
	states := g.states(now, Initiator)
	rule, due := g.coordination.Due(states)
	if !due {
		return nil
	}
	allowed, bounded := g.assign(at, rule, states)
	switch {
	case !allowed:
		return g.counterexample(Undecidable, at, fmt.Sprintf("rule %s is due, and allows no decision about %s", rule.Name, join(states)))
	case bounded:
		g.beyond = append(g.beyond, at)
	}
	return nil
}

// assign tries every way to give the members their commands. It reports whether
// some is allowed, and whether some goes beyond the bound.
func (g *group) assign(at int32, rule *Rule, states []State) (allowed, bounded bool) {
	about := rule.About(states)
	commands := make([]string, len(states))
	var give func(k int)
	give = func(k int) {
		if k < len(about) {
			for _, c := range rule.Say {
				commands[about[k]] = c.Command
				give(k + 1)
			}
			return
		}
		if rule.Check(states, commands) != nil {
			return
		}
		allowed = true
		if !g.send(at, rule, commands) {
			bounded = true
		}
	}
	give(0)
	return allowed, bounded
}

// send puts the commands of a decision on their way. It reports false where one
// goes beyond the bound.
func (g *group) send(at int32, rule *Rule, commands []string) bool {
	next := g.nodes[at].members
	via := turn{at: -1, rule: rule}
	for i, name := range commands {
		action := uint8(slices.Index(g.commands, name) + 1)
		if action != noAction && g.pairs.beyond(next[i].class, action) {
			return false
		}
		next[i].pending, via.say[i] = action, action
	}
	g.decisions[rule.Name]++
	g.turn(at, next, via)
	return true
}

// states returns where a role stands in every member.
func (g *group) states(m members, r Role) []State {
	states := make([]State, g.n)
	for i := range states {
		states[i] = g.state(m[i].class, r)
	}
	return states
}

// checkState checks a state by itself, before its turns.
func (g *group) checkState(at int32) error {
	m := g.nodes[at].members
	initiator, responder := Census{g.states(m, Initiator)}, Census{g.states(m, Responder)}
	for _, never := range g.coordination.Never {
		if never.When(initiator, responder) {
			return g.counterexample(Forbidden, at, fmt.Sprintf(
				"%s: the initiator's members are %s, the responders %s", never.Name, join(initiator.states), join(responder.states)))
		}
	}
	return nil
}

// checkEnds finds states from which some member cannot come to an end.
func (g *group) checkEnds() error {
	if at := slices.Index(g.free(), false); at >= 0 {
		return g.counterexample(Stuck, int32(at), "nothing that is sure to happen from here ends all members")
	}
	return nil
}

// free returns from which states all members can come to an end.
func (g *group) free() []bool {
	return canReach(len(g.nodes), g.edges, func(at int32) bool {
		return !slices.ContainsFunc(g.nodes[at].members[:g.n], func(m member) bool { return !g.over(m.class) })
	}, g.beyond)
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
