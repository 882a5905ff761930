package codontest

import (
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
)

// The longest time for which the network holds a message back: mostly shortWay, sometimes
// longWay, by which it passes several others.
const (
	shortWay = 50 * time.Millisecond
	longWay  = 30 * time.Second
)

// network is the router of a system. It loses, duplicates, delays and refuses messages as
// the seed chooses.
type network struct {
	dice   dice
	codons map[string]*codons.Codon // by name
	system *actors.System

	mu     sync.Mutex
	routed map[performatives.MessageID]int
}

// Route delivers m now, later, twice or never.
func (n *network) Route(m *performatives.Message) error {
	chance := n.dice.of("message", string(m.ID()), strconv.Itoa(n.count(m.ID())))
	switch k := chance.IntN(20); {
	case k < 2:
		return nil
	case k < 4:
		n.later(m, upTo(chance, longWay))
	case k < 6:
		n.later(m, upTo(chance, longWay))
		return nil
	case k < 12:
		n.later(m, upTo(chance, shortWay))
		return nil
	case k == 12 && n.refusable(m):
		return &performatives.Refusal{Code: performatives.CodeBusy, About: m.ID()}
	}
	return n.system.Deliver(m.Receiver(), m)
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

// later delivers m after d. What fails then is refused by a message, because Route has
// returned.
func (n *network) later(m *performatives.Message, d time.Duration) {
	n.system.AfterFunc(d, func() {
		var r *performatives.Refusal
		if err := n.system.Deliver(m.Receiver(), m); errors.As(err, &r) {
			n.system.RefuseCopy(m.Receiver(), m, r.Code, r.Text)
		}
	})
}
