package runtime_test

import (
	"errors"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// simNetwork is a network between the agents that loses, duplicates and delays messages.
type simNetwork struct {
	swarm    *simSwarm
	next     actors.Router
	lossless bool
	burst    time.Time // until then all messages are lost
	cutOff   p.AgentID // all messages of this agent are lost
}

func (n *simNetwork) between(next actors.Router) actors.Router {
	n.next = next
	return n
}

// Route delivers m now, later, twice or never.
func (n *simNetwork) Route(m *p.Message) error {
	s := n.swarm
	switch {
	case n.lossless || m.Receiver() == "":
		return n.deliver(m)
	case m.Sender().Is(n.cutOff) || time.Now().Before(n.burst):
		s.note("lost     %s", m.ID())
		return nil
	}
	switch s.dice.n(40) {
	case 0:
		s.deeds.count("lose")
		s.note("lost     %s", m.ID())
		return nil
	case 1:
		s.deeds.count("repeat")
		n.deliverIn(s.dice.upTo(2*time.Second), m)
	case 2:
		s.deeds.count("delay")
		n.deliverIn(s.dice.upTo(2*time.Second), m)
		return nil
	case 3:
		m = n.garbled(m)
	case 4, 5, 6, 7, 8, 9:
		n.deliverIn(s.dice.upTo(20*time.Millisecond), m)
		return nil
	}
	return n.deliver(m)
}

// garbled returns a message of a conversation, other than its opening, a refusal or a CANCEL, with
// an act that its table has not, as of a peer with another version of the codon. It returns any
// other message, and mostly this one, as it is.
func (n *simNetwork) garbled(m *p.Message) *p.Message {
	table, ok := simTables[m.Protocol()]
	if !ok || isOpening(table, m.Performative()) || m.AsRefusal() != nil || m.Performative() == p.ActCancel || n.swarm.dice.n(4) > 0 {
		return m
	}
	act := p.ActDisconfirm
	if slices.ContainsFunc(table.Rows, func(r machine.Row) bool { return slices.Contains(r.On, machine.Receive(act)) }) {
		act = p.ActInformRef
	}
	g, err := m.With(func(e *p.Envelope) { e.Performative, e.Payload = act, p.Raw("{}") })
	if err != nil {
		return m
	}
	n.swarm.deeds.count("garble")
	n.swarm.note("garbled  %s", m.ID())
	return g
}

// isOpening reports whether the act opens a conversation.
func isOpening(t machine.Table, act p.Performative) bool {
	return slices.ContainsFunc(t.Rows, func(r machine.Row) bool {
		return r.Role == machine.Responder && slices.Contains(r.From, machine.Idle) && slices.Contains(r.On, machine.Receive(act))
	})
}

func (n *simNetwork) deliver(m *p.Message) error {
	if m.Receiver() != "" { // the number of receivers of a broadcast is unknown
		n.swarm.attempted(m)
	}
	return n.next.Route(m)
}

// deliverIn delivers m after d. If that fails it sends a refusal, because Route has
// returned nil.
func (n *simNetwork) deliverIn(d time.Duration, m *p.Message) {
	s := n.swarm
	system := s.node.System()
	system.AfterFunc(d, func() {
		s.resetHandling()
		var r *p.Refusal
		if err := n.deliver(m); !errors.As(err, &r) {
			return
		}
		system.RefuseWith(m.Receiver(), m, r)
	})
}
