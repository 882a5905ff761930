package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/codons/machine"
)

// GroupCounterexample is a violation by a group, with a short path to it.
type GroupCounterexample struct {
	Coordination string
	Members      int
	Problem      Problem
	Detail       string
	Moves        []GroupMove
}

// GroupMove is a move of one member, or a decision.
type GroupMove struct {
	Member   int // from 1; 0 for a decision
	Move     Move
	Rule     string   // of a decision
	Commands []string // of a decision: the command of each member, empty for none
}

// Error lists the moves, one a line.
func (c *GroupCounterexample) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "verify: %s with %d members: %s: %s", c.Coordination, c.Members, c.Problem, c.Detail)
	for i, m := range c.Moves {
		fmt.Fprintf(&b, "\n%4d  %s", i+1, m)
	}
	return b.String()
}

// String returns a line such as
//
//	member 2  initiator  receive PROPOSE    called → proposed
//	rule award: member 1 award, member 2 decline
func (m GroupMove) String() string {
	if m.Member > 0 {
		return fmt.Sprintf("member %d  %s", m.Member, m.Move)
	}
	var words []string
	for i, command := range m.Commands {
		if command != "" {
			words = append(words, fmt.Sprintf("member %d %s", i+1, command))
		}
	}
	return "rule " + m.Rule + ": " + strings.Join(words, ", ")
}

func (g *group) counterexample(p Problem, at int32, detail string) error {
	moves, _ := g.replay(at)
	return &GroupCounterexample{Coordination: g.coordination.Name, Members: g.n, Problem: p, Detail: detail, Moves: moves}
}

// unhandled returns the violation that a member's pending command has no row.
func (g *group) unhandled(at int32, i int) error {
	moves, order := g.replay(at)
	m := g.nodes[at].members[i]
	detail := fmt.Sprintf("no row of the initiator in %s for command %s, which is on its way to member %d",
		g.stateOf(m.class, machine.Initiator), g.commands[m.pending-1], order[i]+1)
	return &GroupCounterexample{Coordination: g.coordination.Name, Members: g.n, Problem: Unhandled, Detail: detail, Moves: moves}
}

// numbered is a member of a replay. It keeps its number when the members are sorted.
type numbered struct {
	member
	number int
	at     int32 // its joint state
}

// replay returns the moves to a state, and the number of each of its members.
func (g *group) replay(at int32) ([]GroupMove, []int) {
	var turns []turn
	for ; g.nodes[at].from >= 0; at = g.nodes[at].from {
		turns = append(turns, g.nodes[at].via)
	}
	slices.Reverse(turns)
	all := make([]numbered, g.n)
	for i := range all {
		all[i] = numbered{member: member{class: g.class[0]}, number: i}
	}
	var moves []GroupMove
	for _, t := range turns {
		moves = append(moves, g.perform(t, all)...)
		slices.SortStableFunc(all, func(a, b numbered) int { return compareMembers(a.member, b.member) })
	}
	order := make([]int, g.n)
	for i, m := range all {
		order[i] = m.number
	}
	return moves, order
}

// perform replays one transition of the group.
func (g *group) perform(t turn, all []numbered) []GroupMove {
	if t.at < 0 {
		decision := GroupMove{Rule: t.rule.Name, Commands: make([]string, g.n)}
		for i := range all {
			all[i].pending = t.assign[i]
			if t.assign[i] != noAction {
				decision.Commands[all[i].number] = g.commands[t.assign[i]-1]
			}
		}
		return []GroupMove{decision}
	}
	m := &all[t.at]
	m.class = t.arc.to
	if t.deliver {
		m.pending = noAction
	}
	var moves []GroupMove
	for _, move := range g.expand(&m.at, t.arc) {
		moves = append(moves, GroupMove{Member: m.number + 1, Move: move})
	}
	return moves
}

// expand returns the fewest moves of a pair that make up an arc of its class, and
// advances the joint state by them. All but the last stay within the class.
func (p *pairs) expand(at *int32, a arc) []Move {
	type visit struct {
		at   int32
		from int
		via  Move
	}
	home, seen := p.class[*at], map[int32]bool{*at: true}
	visits := []visit{{at: *at, from: -1}}
	for i := 0; i < len(visits); i++ {
		for to, via := range p.moves(p.nodes[visits[i].at].joint) {
			next := p.ids[to]
			if p.class[next] == a.to && slices.Contains(p.actions(via), a.action) && (a.action != noAction || p.class[next] != home) {
				moves := []Move{via}
				for ; visits[i].from >= 0; i = visits[i].from {
					moves = append(moves, visits[i].via)
				}
				slices.Reverse(moves)
				*at = next
				return moves
			}
			if p.class[next] == home && !seen[next] && slices.Contains(p.actions(via), noAction) {
				seen[next], visits = true, append(visits, visit{next, i, via})
			}
		}
	}
	panic(fmt.Sprintf("verify: %s: class %d lacks an arc to %d", p.Name(), home, a.to))
}
