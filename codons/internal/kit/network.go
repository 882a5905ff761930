package kit

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// network delivers the messages of a world, except those that its filter takes.
type network struct {
	system *actors.System
	Mu     sync.Mutex
	filter func(*p.Message) (taken bool)
	Busy   atomic.Bool   // every mailbox is full
	Hint   time.Duration // the RetryAfter of a full mailbox; set before anything is sent
	Before func(*p.Message)
	Full   func(*p.Message) bool // the receiver's mailbox is, for that message; set before anything is sent
}

// Intercept sets the filter: a message for which it reports true is lost. Nil removes the filter.
func (n *network) Intercept(f func(*p.Message) bool) {
	n.Mu.Lock()
	defer n.Mu.Unlock()
	n.filter = f
}

// Route delivers a message, loses it or refuses it as busy.
func (n *network) Route(m *p.Message) error {
	if n.Before != nil {
		n.Before(m)
	}
	n.Mu.Lock()
	taken := n.filter != nil && n.filter(m)
	n.Mu.Unlock()
	if taken {
		return nil
	}
	if n.Busy.Load() || n.Full != nil && n.Full(m) {
		return &p.Refusal{Code: p.CodeBusy, About: m.ID(), RetryAfter: n.Hint}
	}
	return n.system.Deliver(m.Receiver(), m)
}

// Lose loses the first messages of an act, that many times.
func (n *network) Lose(act p.Performative, times int) {
	n.Intercept(func(m *p.Message) bool {
		if m.Performative() != act || times == 0 {
			return false
		}
		times--
		return true
	})
}

// RefuseRepeats has the runtime refuse each copy of a message of an act but the first, as busy and
// by a message, and loses all messages of the acts lost.
func (n *network) RefuseRepeats(act p.Performative, lost ...p.Performative) {
	sent := map[p.MessageID]bool{}
	n.Intercept(func(m *p.Message) bool {
		first := !sent[m.ID()]
		sent[m.ID()] = true
		if m.Performative() != act || first {
			return slices.Contains(lost, m.Performative())
		}
		n.system.Work(func() { n.system.RefuseCopy(m.Receiver(), m, &p.Refusal{Code: p.CodeBusy}) })
		return true
	})
}
