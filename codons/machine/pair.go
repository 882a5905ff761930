package machine

import "slices"

// unbidden is the action of an initiator's command that the agent may say, but
// that no group may depend on. Lower numbers are those of the rules' commands.
const unbidden uint8 = maxCommands + 1

// pairs is what one pair of a coordination can do, explored once and reduced to
// what a group can tell.
type pairs struct {
	*explorer
	unbidden []string
	commands []string // of the rules; action i+1 is command i
	class    []int32  // of each joint state
	*graph            // of the classes
}

// newPairs explores one pair.
func newPairs(c Coordination, net Network) (*pairs, error) {
	p := &pairs{explorer: newExplorer(c.Machine, net), unbidden: c.Unbidden, commands: c.commands()}
	if err := p.walk(); err != nil {
		return nil, err
	}
	if err := p.checkEnds(); err != nil {
		return nil, err
	}
	full := &graph{looks: make([]uint64, len(p.nodes)), arcs: make([][]arc, len(p.nodes))}
	for i := range p.nodes {
		j := p.nodes[i].joint
		full.looks[i] = p.look(j)
		for to, via := range p.moves(j) {
			for _, action := range p.actions(via) {
				full.add(int32(i), arc{action, p.ids[to]})
			}
		}
	}
	p.graph, p.class = full.quotient()
	return p, nil
}

// look is what a group can see of a joint state: both states, and which commands
// of the rules would go beyond the bound of the exploration.
func (p *pairs) look(j joint) uint64 {
	look := uint64(j[Initiator].state) | uint64(j[Responder].state)<<8
	for i, name := range p.commands {
		s := p.find(Initiator, p.states[j[Initiator].state], Command(name))
		if s != nil && p.exhausted(j, Initiator, s) {
			look |= 1 << (16 + i)
		}
	}
	return look
}

// actions returns what a move of a pair is in a group: a command of the rules is
// one when it comes from them, and another when it comes unbidden.
func (p *pairs) actions(m Move) []uint8 {
	if m.Role != Initiator || m.On.Kind != KindCommand {
		return []uint8{noAction}
	}
	var actions []uint8
	if i := slices.Index(p.commands, m.On.Name); i >= 0 {
		actions = append(actions, uint8(i+1))
	}
	switch {
	case slices.Contains(p.unbidden, m.On.Name) && p.net.calm(): // no end may depend on it
		return append(actions, unbidden)
	case slices.Contains(p.unbidden, m.On.Name) || actions == nil:
		return append(actions, noAction)
	}
	return actions
}

// state returns where a role stands in a class.
func (p *pairs) state(class int32, r Role) State { return p.states[uint8(p.looks[class]>>(8*r))] }

// beyond reports whether a command would go beyond the bound of the exploration.
func (p *pairs) beyond(class int32, action uint8) bool {
	return p.looks[class]&(1<<(15+action)) != 0
}

// over reports whether a pair of a class is over for good.
func (p *pairs) over(class int32) bool {
	initiator, responder := p.state(class, Initiator), p.state(class, Responder)
	return p.terminal[initiator] && (p.terminal[responder] || responder == Idle && !p.net.Reliable)
}
