package verify

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/internal/tabletest"
	"github.com/ribosome-agents/ribosome/internal/racetest"
)

// plain explores a group without any of the reductions: with joint states instead of
// classes, and with members in a fixed order.
type plain struct {
	c     machine.Coordination
	x     *explorer
	moves map[int32][]plainMove // of each joint state
	ids   map[string]int32
	nodes [][]plainMember
	edges []edge
}

// plainMember is a member with the joint state of its pair.
type plainMember struct {
	member
	at int32
}

// plainMove is a move of a pair.
type plainMove struct {
	to     int32
	ours   bool  // it is a command of the initiator
	action uint8 // of the rules
	name   string
}

// explorePlainly returns the label of each state of a group, with whether all members
// can end from there.
func explorePlainly(c machine.Coordination, n int, net Network) map[string]bool {
	g := &plain{c: c, x: newExplorer(c.Machine, net.withDefaults()), moves: map[int32][]plainMove{}, ids: map[string]int32{}}
	first := g.x.visit(joint{}, -1, Move{})
	g.visit(slices.Repeat([]plainMember{{at: first}}, n))
	for at := int32(0); int(at) < len(g.nodes); at++ {
		g.expand(at)
	}
	free := canReach(len(g.nodes), g.edges, g.over)
	seen := map[string]bool{}
	for at, members := range g.nodes {
		seen[g.label(members)+fmt.Sprint(free[at])] = true
	}
	return seen
}

func (g *plain) visit(members []plainMember) int32 {
	var key []byte
	for _, m := range members {
		key = append(binary.LittleEndian.AppendUint32(key, uint32(m.at)), m.pending)
	}
	id, known := g.ids[string(key)]
	if !known {
		id = int32(len(g.nodes))
		g.ids[string(key)], g.nodes = id, append(g.nodes, members)
	}
	return id
}

// movesOf lists the moves of a joint state once.
func (g *plain) movesOf(at int32) []plainMove {
	if _, done := g.moves[at]; !done {
		g.moves[at] = nil
		for to, via := range g.x.moves(g.x.nodes[at].at) {
			g.moves[at] = append(g.moves[at], plainMove{
				to: g.x.visit(to, at, via), ours: via.Role == machine.Initiator && via.On.Kind == machine.KindCommand,
				action: uint8(slices.Index(g.c.Commands(), via.On.Name) + 1), name: via.On.Name,
			})
		}
	}
	return g.moves[at]
}

func (g *plain) expand(at int32) {
	now, calm := g.nodes[at], g.x.net.calm()
	for i, me := range now {
		for _, move := range g.movesOf(me.at) {
			next := slices.Clone(now)
			next[i].at = move.to
			unasked := move.ours && slices.Contains(g.c.Unbidden, move.name)
			switch {
			case unasked && calm:
				g.visit(next)
			case unasked || !move.ours || move.action == noAction:
				g.edges = append(g.edges, edge{at, g.visit(next)})
			}
			if move.ours && move.action != noAction && me.pending == move.action {
				next = slices.Clone(next)
				next[i].pending = noAction
				g.edges = append(g.edges, edge{at, g.visit(next)})
			}
		}
	}
	g.decide(at)
}

func (g *plain) decide(at int32) {
	now := g.nodes[at]
	states := make([]machine.State, len(now))
	for i, m := range now {
		if m.pending != noAction {
			return
		}
		states[i] = g.x.pair(g.x.nodes[m.at].at).Initiator
	}
	rule, due := g.c.Due(states)
	if !due {
		return
	}
	names := append([]string{""}, g.c.Commands()...)
	for code := range pow(len(names), len(now)) {
		next, commands := slices.Clone(now), make([]string, len(now))
		for i := range next {
			next[i].pending = uint8(code % len(names))
			commands[i], code = names[next[i].pending], code/len(names)
		}
		if rule.Check(states, commands) == nil {
			g.edges = append(g.edges, edge{at, g.visit(next)})
		}
	}
}

func pow(base, n int) int {
	all := 1
	for range n {
		all *= base
	}
	return all
}

func (g *plain) over(at int32) bool {
	return !slices.ContainsFunc(g.nodes[at], func(m plainMember) bool { return m.pending != noAction || !g.x.ended(g.x.nodes[m.at].at) })
}

func (g *plain) label(members []plainMember) string {
	words := make([]string, len(members))
	for i, m := range members {
		words[i] = fmt.Sprint(g.x.pair(g.x.nodes[m.at].at), m.pending)
	}
	slices.Sort(words)
	return strings.Join(words, "; ")
}

// TestReductionsLoseNothing compares ExploreGroup with the plain product, also for a
// group that gets stuck.
func TestReductionsLoseNothing(t *testing.T) {
	racetest.Skip(t)
	stuck := tabletest.AwardOne()
	stuck.Rules[0].When = func(c machine.Census) bool { return c.Count("proposed") == c.Len() }
	for _, c := range []struct {
		name    string
		c       machine.Coordination
		members int
		net     Network
	}{
		{"a contract net of one", tabletest.AwardOne(), 1, Network{}},
		{"a contract net of two, calm", tabletest.AwardOne(), 2, Calm()},
		{"a contract net of two, stuck", stuck, 2, Calm()},
		{"three questions, the first answer counts", firstAnswer(), 3, Network{}},
	} {
		want := explorePlainly(c.c, c.members, c.net)
		p, err := newPairs(c.c, c.net.withDefaults())
		if err != nil {
			t.Fatal(err)
		}
		g := &group{pairs: p, coordination: c.c, n: c.members, decisions: map[string]int{}}
		if err := g.walk(); err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		free := g.free()
		for at, node := range g.nodes {
			words := make([]string, g.n)
			for i, m := range node.at[:g.n] {
				words[i] = fmt.Sprint(machine.Pair{Initiator: g.stateOf(m.class, machine.Initiator), Responder: g.stateOf(m.class, machine.Responder)}, m.pending)
			}
			slices.Sort(words)
			got[strings.Join(words, "; ")+fmt.Sprint(free[at])] = true
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: %d labels, want %d", c.name, len(got), len(want))
		}
		t.Log(c.name, len(got), "labels of", len(g.nodes), "states;", len(want))
	}
}
