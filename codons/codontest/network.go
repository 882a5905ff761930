package codontest

import (
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/internal/systemtest"
	"github.com/ribosome-agents/ribosome/performatives"
)

// The longest time for which the network holds a message back: mostly shortWay, sometimes
// longWay, by which it passes several others.
const (
	shortWay = 50 * time.Millisecond
	longWay  = 30 * time.Second
)

// network is the fault of a system's network. It loses, duplicates, delays and refuses messages as
// the seed chooses.
type network struct {
	dice   dice
	codons map[string]*codons.Codon // by name

	garbles bool // a message may arrive garbled

	mu         sync.Mutex
	routed     map[performatives.MessageID]int
	unreadable map[performatives.MessageID]bool // those of which a copy was garbled
}

// disturb delivers m now, later, twice or never.
func (n *network) disturb(net *systemtest.Network, m *performatives.Message) error {
	chance := n.dice.of("message", string(m.ID()), strconv.Itoa(n.count(m.ID())))
	switch k := chance.IntN(20); {
	case k < 2:
		return nil
	case k < 4:
		net.Later(m, upTo(chance, longWay))
	case k < 6:
		net.Later(m, upTo(chance, longWay))
		return nil
	case k < 12:
		net.Later(m, upTo(chance, shortWay))
		return nil
	case k == 12 && n.refusable(m):
		return &performatives.Refusal{Code: performatives.CodeBusy, About: m.ID()}
	case k == 13 && n.garbles:
		m = n.garble(m)
	}
	return net.Deliver(m)
}

// garbled is the message type of a message that its receiver cannot read.
const garbled = "GARBLED"

// garble returns a message as a peer with another version of the codon would send it: with an
// unknown message type where the codon has types, else with an act that no row has. It returns m if
// that is a refusal, a CANCEL, or of no conversation.
func (n *network) garble(m *performatives.Message) *performatives.Message {
	c := n.codons[m.Protocol()]
	if c == nil || m.AsRefusal() != nil || c.Machine().Opens(m.Performative()) || m.Performative() == performatives.ActCancel {
		return m
	}
	act := strange(c)
	g, err := m.With(func(e *performatives.Envelope) {
		if e.MessageType != "" || act == 0 {
			e.MessageType = garbled
		} else {
			e.Performative, e.Payload = act, performatives.Raw("{}")
		}
	})
	if err != nil {
		return m
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.unreadable == nil {
		n.unreadable = map[performatives.MessageID]bool{}
	}
	n.unreadable[m.ID()] = true
	return g
}

// strange returns an act without a request that no row of the codon has, or 0.
func strange(c *codons.Codon) performatives.Performative {
	for _, act := range []performatives.Performative{performatives.ActDisconfirm, performatives.ActConfirm, performatives.ActInformRef} {
		if !slices.ContainsFunc(c.Table.Rows, func(r machine.Row) bool {
			return slices.ContainsFunc(r.On, func(on machine.Symbol) bool { return on.Act == act })
		}) {
			return act
		}
	}
	return 0
}

// count returns how often a message was routed before.
func (n *network) count(id performatives.MessageID) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.routed == nil {
		n.routed = map[performatives.MessageID]int{}
	}
	n.routed[id]++
	return n.routed[id] - 1
}

// refusable reports whether the sender of m learns of its refusal by the runtime.
func (n *network) refusable(m *performatives.Message) bool {
	c := n.codons[m.Protocol()]
	return c != nil && (m.Performative().ExpectsReply() || c.Machine().Opens(m.Performative()))
}
