package overload

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
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
	sent    atomic.Int64
	open    sync.Map // the functions of [asker], by the ids of the requests
}

// dial connects a program. The caller must stop it.
func dial(ctx context.Context, url string, name p.AgentID) *program {
	c := &program{name: name}
	c.session = must(wire.Connect(must(tcp.Dial(ctx, url, tcp.DialOptions{})), wire.Options{
		Handler: c, Dialects: []wire.Dialect{acl.Dialect{}}, Limits: wire.Limits{Outbox: 1 << 10}, // messages beyond it are held
	}))
	return c
}

func (c *program) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	_ = c.session.Stop(ctx) // its node may be gone
}

func (c *program) ask(r request, told func(error)) {
	id := string(c.name) + strconv.FormatInt(c.sent.Add(1), 10)
	c.open.Store(id, told)
	m := must(p.New(p.Envelope{
		ID: p.MessageID(id), Sender: c.name, Receiver: r.to, Priority: r.priority, ReplyBy: r.at.Add(r.patience), Timestamp: time.Now(),
		Payload: p.TaskRequest{TaskType: r.task},
	}))
	err := c.session.Send(m)
	for outcomeOf(err) == busy && time.Since(r.at) < r.patience { // as a program that writes to a socket
		<-time.After(pause)
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
	if told, open := c.open.LoadAndDelete(id); open {
		told.(func(error))(err) //nolint:forcetypeassert // see open
	}
}

// Receive ends the request that a message answers at last.
func (c *program) Receive(_ *wire.Session, m *p.Message) error {
	if refusal := m.AsRefusal(); refusal != nil {
		c.end(m.InReplyTo(), refusal)
	} else if m.Performative() == p.ActInformResult {
		c.end(m.InReplyTo(), nil)
	}
	return nil
}

// Undelivered ends a request that was not sent.
func (c *program) Undelivered(_ *wire.Session, m *p.Message, why *p.Refusal) {
	c.end(string(m.ID()), why)
}

// Opened does nothing.
func (*program) Opened(*wire.Session) {}

// Closed leaves the open requests without an answer.
func (*program) Closed(*wire.Session, error) {}
