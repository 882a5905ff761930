package chain

import (
	"cmp"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// WaitingCapacity is how many messages of one sender and priority wait for middleware with a
// timeout.
const WaitingCapacity = 1024

// waitingKey is a sender and a priority, which have an order.
type waitingKey struct {
	sender   performatives.AgentID // folded
	priority performatives.Priority
}

// Route passes m through the chain and on: at once, or behind other messages of its sender if a
// middleware may wait.
func (c *Chain) Route(m *performatives.Message) error {
	if !c.waits {
		return c.enter(m)
	}
	key := waitingKey{m.Sender().Fold(), m.Priority()}
	c.mu.Lock()
	defer c.mu.Unlock()
	before, busy := c.waiting[key]
	if len(before) >= WaitingCapacity {
		return &performatives.Refusal{Code: performatives.CodeBusy, About: m.ID(), Text: "too many messages of the sender wait for middleware"}
	}
	c.waiting[key] = append(before, m)
	if !busy {
		c.system().Work(func() { c.enterAll(key) })
	}
	return nil
}

// enterAll passes on the messages of one sender and priority, one after another, until none waits.
func (c *Chain) enterAll(key waitingKey) {
	for {
		c.mu.Lock()
		all := c.waiting[key]
		if len(all) == 0 {
			delete(c.waiting, key)
			c.mu.Unlock()
			return
		}
		m := all[0]
		all[0] = nil
		c.waiting[key] = all[1:]
		c.mu.Unlock()
		if err := c.enter(m); err != nil {
			r := wire.AsRefusal(err)
			c.system().RefuseCopy(cmp.Or(r.From, m.Receiver()), m, r)
		}
	}
}

func (c *Chain) enter(m *performatives.Message) error {
	m, to, err := c.Run(Local, m)
	if err != nil {
		return err
	}
	return c.onward(m, to)
}
