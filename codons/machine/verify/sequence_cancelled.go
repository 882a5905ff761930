package verify

import "github.com/ribosome-agents/ribosome/codons/machine"

// cancelled returns a conversation over a calm network that the initiator cancels when
// the responder has sent as many messages as [Network].Repeat allows. Each message
// arrives before the next command is given.
func cancelled(m *machine.Machine) []Move {
	x := newExplorer(m, Calm().withDefaults())
	x.visit(joint{}, -1, Move{})
	x.spread(0, func(via Move) bool { return via.On != machine.Commanded(commandCancel) })
	at := x.mostSent()
	first := int32(len(x.nodes))
	if at < 0 {
		return nil
	}
	for to, via := range x.moves(x.nodes[at].at) {
		if via.On == machine.Commanded(commandCancel) && via.Role == machine.Initiator {
			x.visit(to, at, via)
			break
		}
	}
	x.spread(first, func(Move) bool { return true })
	for i := first; int(i) < len(x.nodes) && x.problem == nil; i++ {
		if j := x.nodes[i].at; x.ended(j) && delivered(j) {
			return x.path(i)
		}
	}
	return nil
}

// spread visits the joint states that follow the nodes from at on, by deliveries and by
// the moves that allowed permits. A command waits until every message has arrived.
func (x *explorer) spread(at int32, allowed func(Move) bool) {
	for ; int(at) < len(x.nodes) && len(x.nodes) <= x.net.MaxStates; at++ {
		from := x.nodes[at].at
		for to, via := range x.moves(from) {
			if via.Message != "" || delivered(from) && allowed(via) {
				x.visit(to, at, via)
			}
		}
	}
}

// mostSent returns the first node with the most messages of the responder in which all
// messages have arrived and neither side has ended, or -1 without such a node.
func (x *explorer) mostSent() int32 {
	best, most := int32(-1), 0
	for i, n := range x.nodes {
		p, sent := x.pair(n.at), n.at[machine.Responder].sent.Len()
		if sent > most && delivered(n.at) && !x.Terminal(p.Initiator) && !x.Terminal(p.Responder) {
			best, most = int32(i), sent
		}
	}
	return best
}

// delivered reports whether the network has no message left to deliver.
func delivered(j joint) bool { return j[machine.Initiator].out|j[machine.Responder].out == 0 }
