package agenttest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Fault is what the network does to messages of one sender and act. [Lose], [Duplicate],
// [Delay] and [Refuse] make one; [Node.Fault] sets it.
type Fault struct {
	name     string
	from, to performatives.AgentID
	act      performatives.Performative
	left     int // messages that it may still meet; less than zero means all
	do       func(n *network, m *performatives.Message) error

	met   int  // messages, once it is set
	ended bool // it was taken away
}

// Lose loses the messages of an act that an agent sends. An empty id stands for all
// agents, and a zero act for all acts, as in all faults.
func Lose(from performatives.AgentID, act performatives.Performative) Fault {
	return fault("Lose", from, act, func(*network, *performatives.Message) error { return nil })
}

// Duplicate delivers the messages twice.
func Duplicate(from performatives.AgentID, act performatives.Performative) Fault {
	return fault("Duplicate", from, act, func(n *network, m *performatives.Message) error {
		if err := n.next.Route(m); err != nil {
			return err
		}
		n.later(m, 0)
		return nil
	})
}

// Delay delivers the messages after d.
func Delay(from performatives.AgentID, act performatives.Performative, d time.Duration) Fault {
	return fault("Delay", from, act, func(n *network, m *performatives.Message) error {
		n.later(m, d)
		return nil
	})
}

// Refuse has the runtime refuse the messages, as with [performatives.CodeBusy] those for
// a full mailbox.
func Refuse(from performatives.AgentID, act performatives.Performative, code performatives.Code) Fault {
	return fault("Refuse", from, act, func(_ *network, m *performatives.Message) error {
		return &performatives.Refusal{Code: code, About: m.ID(), From: m.Receiver()}
	})
}

func fault(name string, from performatives.AgentID, act performatives.Performative, do func(*network, *performatives.Message) error) Fault {
	return Fault{name: name, from: from, act: act, left: -1, do: do}
}

// To limits the fault to messages for an agent.
func (f Fault) To(id performatives.AgentID) Fault {
	f.to = id
	return f
}

// Once limits the fault to one message.
func (f Fault) Once() Fault { return f.Times(1) }

// Times limits the fault to the next n messages. The test fails when fewer come.
func (f Fault) Times(n int) Fault {
	f.left = n
	return f
}

// String returns the fault as the test has written it.
func (f Fault) String() string {
	act := "0"
	if f.act != 0 {
		act = f.act.String()
	}
	return fmt.Sprintf("%s(%q, %s)", f.name, f.from, act)
}

func (f *Fault) meets(m *performatives.Message) bool {
	return f.left != 0 && !f.ended && (f.act == 0 || f.act == m.Performative()) &&
		(f.from == "" || m.Sender().Is(f.from)) && (f.to == "" || m.Receiver().Is(f.to))
}

// Fault sets a fault of the network. Of several that meet a message, the first counts.
// end takes the fault away. The test fails when the fault has met no message.
func (n *Node) Fault(f Fault) (end func()) { return n.network.set(f) }

// network is the router of a node, with faults.
type network struct {
	next   actors.Router
	system *actors.System

	mu     sync.Mutex
	faults []*Fault
}

func (n *network) set(f Fault) (end func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.faults = append(n.faults, &f)
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		f.ended = true
	}
}

// Route routes m, or does to it what the first fault says that meets it.
func (n *network) Route(m *performatives.Message) error {
	if f := n.find(m); f != nil {
		return f.do(n, m)
	}
	return n.next.Route(m)
}

// find returns the fault that meets m, and counts it.
func (n *network) find(m *performatives.Message) *Fault {
	n.mu.Lock()
	defer n.mu.Unlock()
	i := slices.IndexFunc(n.faults, func(f *Fault) bool { return f.meets(m) })
	if i < 0 {
		return nil
	}
	f := n.faults[i]
	f.met++
	f.left = max(f.left-1, -1)
	return f
}

// later routes m after d. What fails then is refused by a message.
func (n *network) later(m *performatives.Message, d time.Duration) {
	n.system.AfterFunc(d, func() {
		var r *performatives.Refusal
		if err := n.next.Route(m); errors.As(err, &r) {
			n.system.RefuseCopy(m.Receiver(), m, r)
		}
	})
}

// unmet returns the faults that have met too few messages.
func (n *network) unmet() (all []Fault) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, f := range n.faults {
		if f.met == 0 || f.left > 0 {
			all = append(all, *f)
		}
	}
	return all
}
