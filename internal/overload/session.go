package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
	"github.com/ribosome-agents/ribosome/wire/tcp"
)

// program asks over a TCP connection of its own, in acl. It is the handler of its session.
type program struct {
	name    p.AgentID
	session *wire.Session
	closed  context.CancelFunc

	mu   sync.Mutex
	sent int
	open map[string]func(error) // by the id of the request
}

// dial connects a program. It is stopped by stop.
func dial(ctx context.Context, url string, name p.AgentID) (*program, error) {
	conn, err := tcp.Dial(ctx, url, tcp.DialOptions{})
	if err != nil {
		return nil, err
	}
	c := &program{name: name, open: make(map[string]func(error))}
	limits := wire.Limits{Outbox: 1 << 10} // what does not fit is held
	c.session, err = wire.Connect(conn, wire.Options{Handler: c, Dialects: []wire.Dialect{acl.Dialect{}}, Limits: limits})
	return c, err
}

func (c *program) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	_ = c.session.Stop(ctx) // its node may be gone
}

func (c *program) ask(r request, told func(error)) {
	c.mu.Lock()
	c.sent++
	id := fmt.Sprint(c.name, "-", c.sent)
	c.open[id] = told
	c.mu.Unlock()
	m, err := p.New(p.Envelope{
		ID: p.MessageID(id), Sender: c.name, Receiver: r.to, Priority: r.priority, ReplyBy: r.deadline, Timestamp: time.Now(),
		Payload: p.TaskRequest{TaskType: r.task},
	})
	if err == nil {
		if err = c.session.Send(m); outcomeOf(err) == busy {
			err = errHeld
		}
	}
	if err != nil {
		c.end(id, err)
	}
}

// end ends a request. A further answer has no effect.
func (c *program) end(id string, err error) {
	c.mu.Lock()
	told := c.open[id]
	delete(c.open, id)
	c.mu.Unlock()
	if told != nil {
		told(err)
	}
}

// Opened does nothing.
func (*program) Opened(*wire.Session) {}

// Receive ends the request that a message answers at last.
func (c *program) Receive(_ *wire.Session, m *p.Message) error {
	switch refusal := m.AsRefusal(); {
	case refusal != nil:
		c.end(m.InReplyTo(), refusal)
	case m.Performative() == p.ActInformResult:
		c.end(m.InReplyTo(), nil)
	}
	return nil
}

// Undelivered ends a request that was not sent.
func (c *program) Undelivered(_ *wire.Session, m *p.Message, why *p.Refusal) {
	c.end(string(m.ID()), why)
}

// Closed leaves the open requests without an answer.
func (*program) Closed(*wire.Session, error) {}
