package collector

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
	"github.com/ribosome-agents/ribosome/wire/tcp"
)

// peer is an agent with a connection to a node. It answers nothing by itself, and counts what it
// gets repeatedly.
type peer struct {
	t        *testing.T
	id       performatives.AgentID
	session  *wire.Session
	received chan *performatives.Message
	seen     map[performatives.MessageID]bool
	repeated uint64 // messages with the id of an earlier one
}

// maxReceived is how many messages of a peer may wait for the test.
const maxReceived = 1000

// connect connects a peer that knows some topics.
func (n *node) connect(id performatives.AgentID, topics ...string) *peer {
	n.t.Helper()
	p := &peer{t: n.t, id: id, received: make(chan *performatives.Message, maxReceived), seen: map[performatives.MessageID]bool{}}
	conn, err := tcp.Dial(n.t.Context(), n.at, tcp.DialOptions{})
	if err != nil {
		n.t.Fatal(err)
	}
	if p.session, err = wire.Connect(conn, wire.Options{Handler: p, Dialects: []wire.Dialect{acl.Dialect{}}}); err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(p.leave)
	p.send("system", performatives.QueryCapabilities{Type: performatives.QuerySummary, Capabilities: &performatives.Capabilities{Topics: topics}})
	p.next(performatives.ActInformCapabilities, "system")
	return p
}

// leave ends the connection.
func (p *peer) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), patience.Time)
	defer cancel()
	_ = p.session.Stop(ctx) // the node may have ended it
}

// Opened implements [wire.Handler].
func (p *peer) Opened(*wire.Session) {}

// Receive implements [wire.Handler].
func (p *peer) Receive(_ *wire.Session, m *performatives.Message) error {
	select {
	case p.received <- m:
		return nil
	default:
		return &performatives.Refusal{Code: performatives.CodeBusy}
	}
}

// Undelivered implements [wire.Handler].
func (p *peer) Undelivered(_ *wire.Session, m *performatives.Message, why *performatives.Refusal) {
	p.t.Errorf("%s does not reach the node: %v", m.Performative(), why)
}

// Closed implements [wire.Handler].
func (p *peer) Closed(*wire.Session, error) {}

// envelope returns one of a message from the peer.
func (p *peer) envelope(to performatives.AgentID, payload any) performatives.Envelope {
	return performatives.Envelope{ID: performatives.NewID(), Sender: p.id, Receiver: to, Timestamp: time.Now(), Payload: payload}
}

// send sends a message, which it returns.
func (p *peer) send(to performatives.AgentID, payload any) *performatives.Message {
	p.t.Helper()
	return p.sendAs(p.envelope(to, payload))
}

func (p *peer) sendAs(e performatives.Envelope) *performatives.Message {
	p.t.Helper()
	m, err := performatives.New(e)
	if err != nil {
		p.t.Fatal(err)
	}
	p.pass(m)
	return m
}

// answer answers a message.
func (p *peer) answer(m *performatives.Message, payload any) {
	p.t.Helper()
	answer, err := m.Reply(performatives.Stamp{ID: performatives.NewID(), Time: time.Now()}, payload)
	if err != nil {
		p.t.Fatal(err)
	}
	p.pass(answer)
}

// pass sends a message as it is.
func (p *peer) pass(m *performatives.Message) {
	p.t.Helper()
	if err := p.session.Send(m); err != nil {
		p.t.Fatal(err)
	}
}

// next waits for a message of an act and a sender. Others are dropped.
func (p *peer) next(act performatives.Performative, from performatives.AgentID) *performatives.Message {
	p.t.Helper()
	var others []string
	for late := time.After(patience.Time); ; {
		select {
		case m := <-p.received:
			if p.seen[m.ID()] {
				p.repeated++
			}
			p.seen[m.ID()] = true
			if m.Performative() == act && m.Sender().Is(from) {
				return m
			}
			others = append(others, fmt.Sprintf("%s of %s: %v", m.Performative(), m.Sender(), m.Payload()))
		case <-late:
			p.t.Fatalf("%s gets no %s from %s, but %q", p.id, act, from, others)
		}
	}
}
