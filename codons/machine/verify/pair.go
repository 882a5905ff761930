package verify

import (
	"slices"

	"github.com/ribosome-agents/ribosome/codons/machine"
)

// unbidden is the action of a command that the initiator's agent can give without a rule. The end
// of a group must not depend on it. Lower actions are the commands of the rules.
const unbidden uint8 = maxCommands + 1

// pairs is the graph of one pair of a coordination: explored once, and reduced to the
// distinctions that a group can make.
type pairs struct {
	*explorer
	unbidden []string
	commands []string // of the rules; action i+1 is command i
	class    []int32  // of each joint state
	*graph            // of the classes
}

// newPairs explores one pair.
func newPairs(c machine.Coordination, net Network) (*pairs, error) {
	p := &pairs{explorer: newExplorer(c.Machine, net), unbidden: c.Unbidden, commands: c.Commands()}
	if err := p.walk(); err != nil {
		return nil, err
	}
	if err := p.checkEnds(); err != nil {
		return nil, err
	}
	full := &graph{labels: make([]uint64, len(p.nodes)), arcs: make([][]arc, len(p.nodes))}
	for i := range p.nodes {
		j := p.nodes[i].at
		full.labels[i] = p.label(j)
		for to, via := range p.moves(j) {
			for _, action := range p.actions(via) {
				full.add(int32(i), arc{action, p.ids[to]})
			}
		}
	}
	p.graph, p.class = full.quotient()
	return p, nil
}

// label returns the properties of a joint state that a group can see: both states, and
// the commands of the rules that would go beyond Network.Repeat.
func (p *pairs) label(j joint) uint64 {
	label := uint64(j[machine.Initiator].state) | uint64(j[machine.Responder].state)<<8
	for i, name := range p.commands {
		t := p.Find(machine.Initiator, p.state(j, machine.Initiator), machine.Commanded(name))
		if t != nil && p.exhausted(j, machine.Initiator, t) {
			label |= 1 << (16 + i)
		}
	}
	return label
}

// actions returns the actions of a group that can be a move of a pair. A command of the
// rules is one action when it comes from a rule, and another one when it comes unbidden.
func (p *pairs) actions(m Move) []uint8 {
	if m.Role != machine.Initiator || m.On.Kind != machine.KindCommand {
		return []uint8{noAction}
	}
	var actions []uint8
	if i := slices.Index(p.commands, m.On.Name); i >= 0 {
		actions = append(actions, uint8(i+1))
	}
	switch {
	case slices.Contains(p.unbidden, m.On.Name) && p.net.calm(): // the end of the group must not depend on it
		return append(actions, unbidden)
	case slices.Contains(p.unbidden, m.On.Name) || actions == nil:
		return append(actions, noAction)
	}
	return actions
}

// stateOf returns the state of a role in a class.
func (p *pairs) stateOf(class int32, r machine.Role) machine.State {
	return p.states[uint8(p.labels[class]>>(8*r))]
}

// beyond reports whether a command would go beyond Network.Repeat.
func (p *pairs) beyond(class int32, action uint8) bool {
	return p.labels[class]&(1<<(15+action)) != 0
}

// over reports whether both sides of a pair have ended.
func (p *pairs) over(class int32) bool {
	initiator, responder := p.stateOf(class, machine.Initiator), p.stateOf(class, machine.Responder)
	return p.Terminal(initiator) && (p.Terminal(responder) || responder == machine.Idle && !p.net.Reliable)
}
