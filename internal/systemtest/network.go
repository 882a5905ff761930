package systemtest

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Fault is what a network does to the messages that it meets. The zero value of From, To, Act and
// If stands for all.
type Fault struct {
	Name     string // of one that has to meet messages, as many as Left says if that is more than zero
	From, To performatives.AgentID
	Act      performatives.Performative
	If       func(*performatives.Message) bool // must not send messages
	Left     int                               // messages that it may still meet; less than zero means all
	Do       Effect

	met   int
	ended bool // it was taken away
}

// Effect is what becomes of a message. It may call [Network.Deliver] and [Network.Later].
type Effect func(n *Network, m *performatives.Message) error

// Lost loses the messages.
func Lost(*Network, *performatives.Message) error { return nil }

// Duplicated delivers the messages twice.
func Duplicated(n *Network, m *performatives.Message) error {
	if err := n.Deliver(m); err != nil {
		return err
	}
	n.Later(m, 0)
	return nil
}

// Delayed delivers the messages after d.
func Delayed(d time.Duration) Effect {
	return func(n *Network, m *performatives.Message) error {
		n.Later(m, d)
		return nil
	}
}

// Refused has the runtime refuse the messages.
func Refused(code performatives.Code) Effect {
	return func(_ *Network, m *performatives.Message) error {
		return &performatives.Refusal{Code: code, About: m.ID(), From: m.Receiver()}
	}
}

func (f *Fault) meets(m *performatives.Message) bool {
	return f.Left != 0 && !f.ended && (f.Act == 0 || f.Act == m.Performative()) &&
		(f.From == "" || m.Sender().Is(f.From)) && (f.To == "" || m.Receiver().Is(f.To)) && (f.If == nil || f.If(m))
}

// Network is the router of a world. It delivers messages, save for what its faults do to them.
type Network struct {
	system *actors.System
	Next   actors.Router // nil delivers to the agents of the system

	mu     sync.Mutex // guards the faults, and is held while a fault looks at a message
	faults []*Fault
}

// Set sets a fault. Of several that meet a message, the first counts. end takes the fault away.
func (n *Network) Set(f Fault) (end func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.faults = append(n.faults, &f)
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		f.ended = true
	}
}

// Intercept loses the messages for which f reports true, in place of what the faults so far did.
// A nil f takes all faults away.
func (n *Network) Intercept(f func(*performatives.Message) bool) {
	n.mu.Lock()
	n.faults = nil
	n.mu.Unlock()
	if f != nil {
		n.Set(Fault{If: f, Left: -1, Do: Lost})
	}
}

// Lose loses the first messages of an act, that many times, in place of what the faults so far did.
// It has to meet all of them.
func (n *Network) Lose(act performatives.Performative, times int) {
	n.Intercept(nil)
	n.Set(Fault{Name: "Lose(" + act.String() + ")", Act: act, Left: times, Do: Lost})
}

// Route delivers m, or does to it what the first fault says that meets it.
func (n *Network) Route(m *performatives.Message) error {
	if f := n.find(m); f != nil {
		return f.Do(n, m)
	}
	return n.Deliver(m)
}

// find returns the fault that meets m, and counts it.
func (n *Network) find(m *performatives.Message) *Fault {
	n.mu.Lock()
	defer n.mu.Unlock()
	i := slices.IndexFunc(n.faults, func(f *Fault) bool { return f.meets(m) })
	if i < 0 {
		return nil
	}
	f := n.faults[i]
	f.met++
	f.Left = max(f.Left-1, -1)
	return f
}

// unmet returns the names of the faults that have met too few messages.
func (n *Network) unmet() (names []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, f := range n.faults {
		if f.Name != "" && (f.met == 0 || f.Left > 0) {
			names = append(names, f.Name)
		}
	}
	return names
}

// Deliver delivers m, whatever the faults say.
func (n *Network) Deliver(m *performatives.Message) error {
	if n.Next != nil {
		return n.Next.Route(m)
	}
	return n.system.Deliver(m.Receiver(), m)
}

// Later delivers m after d. What fails then is refused by a message.
func (n *Network) Later(m *performatives.Message, d time.Duration) {
	n.system.AfterFunc(d, func() {
		var r *performatives.Refusal
		if err := n.Deliver(m); errors.As(err, &r) {
			n.system.RefuseCopy(m.Receiver(), m, r)
		}
	})
}
