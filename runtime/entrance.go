package runtime

import (
	"sync"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// entrance is the router of the messages of this process's agents on a node with middleware.
type entrance struct {
	node *Node
	next actors.Router

	mu      sync.Mutex
	waiting map[waitingKey]*waiting // only senders that have something waiting
}

// waitingKey is a sender and a priority, which have an order.
type waitingKey struct {
	sender   performatives.AgentID // folded
	priority performatives.Priority
}

// waiting are the messages that wait for the chain. A goroutine passes them on, one after another.
type waiting struct {
	messages []*performatives.Message // the one that is passed on is not among them
}

func newEntrance(n *Node, next actors.Router) *entrance {
	return &entrance{node: n, next: next, waiting: make(map[waitingKey]*waiting)}
}

// Route passes m through the chain and on: at once, or behind other messages of its sender if a
// middleware may wait.
func (e *entrance) Route(m *performatives.Message) error {
	if !e.node.chain.waits {
		return e.enter(m)
	}
	key := waitingKey{m.Sender().Fold(), m.Priority()}
	e.mu.Lock()
	defer e.mu.Unlock()
	w := e.waiting[key]
	switch {
	case w == nil:
		w = &waiting{messages: []*performatives.Message{m}}
		e.waiting[key] = w
		e.node.system.Work(func() { e.enterAll(key, w) })
	case len(w.messages) >= WaitingCapacity:
		return refusedCopy(m, performatives.CodeBusy, "too many messages of the sender wait for middleware")
	default:
		w.messages = append(w.messages, m)
	}
	return nil
}

// enterAll passes on the messages of one sender and priority until none waits.
func (e *entrance) enterAll(key waitingKey, w *waiting) {
	for {
		e.mu.Lock()
		if len(w.messages) == 0 {
			delete(e.waiting, key)
			e.mu.Unlock()
			return
		}
		m := w.messages[0]
		w.messages[0] = nil
		w.messages = w.messages[1:]
		e.mu.Unlock()
		if err := e.enter(m); err != nil {
			r := asRefusal(err)
			from := r.From
			if from == "" {
				from = m.Receiver()
			}
			e.node.system.RefuseCopy(from, m, r)
		}
	}
}

func (e *entrance) enter(m *performatives.Message) error {
	in, err := e.node.chain.run(OriginLocal, m)
	if err != nil {
		return err
	}
	return e.node.onward(in, e.next)
}

// onward routes a message of an agent of this process that has passed the chain. A routed request,
// its later messages and their replies pass the records. The records know the worker by both of its
// names.
func (n *Node) onward(in entered, next actors.Router) error {
	m := in.message
	as, worker := m.Receiver(), n.workerOf(m.Sender(), in)
	switch {
	case worker != "":
		n.routed.Store(true)
		p := passage{message: m.Readdressed(m.Sender(), worker), from: n.partyOf(m.Sender()), to: n.partyOf(worker), as: as}
		if err := n.pass(p, next.Route); err != nil {
			r := *asRefusal(err)
			r.From = as
			return &r
		}
		return nil
	case n.routed.Load() && m.Receiver() != "":
		if to := n.partyOf(m.Receiver()); to.via == nil && n.records.voiced(m) { // else the link renames it
			return n.pass(passage{message: m, from: party{id: m.Sender()}, to: to}, next.Route)
		}
	}
	return next.Route(m)
}

// workerOf returns the agent that a message was routed to, or that an earlier message of its
// conversation was. It is empty for any other.
func (n *Node) workerOf(asker performatives.AgentID, in entered) performatives.AgentID {
	if !n.routed.Load() && in.to == "" {
		return ""
	}
	if worker, ok := n.records.aliased(asker, in.message); ok {
		return worker
	}
	return in.to
}
