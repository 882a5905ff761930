package wire_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// FuzzSession applies operations to a session in any order: frames of all kinds, Send, every
// kind of end, handlers and transports that panic, slow and failing writes. Each message that
// Send accepted is written or returned, exactly once. Closed is called once and last. No
// goroutine is left, or the synctest bubble would not end.
func FuzzSession(f *testing.F) {
	f.Add([]byte{0, 0, 5, 1, 5, 2, 8, 0}, uint8(0))
	f.Add([]byte{0, 0, 11, 0, 5, 1, 5, 2, 5, 3, 12, 0, 5, 1}, uint8(0))
	f.Add([]byte{5, 0, 8, 0, 0, 0, 13, 9, 3, 1}, uint8(1))
	f.Add([]byte{0, 0, 11, 0, 5, 0, 5, 0, 5, 0, 5, 0, 5, 0, 9, 0, 5, 0}, uint8(2))
	f.Add([]byte{0, 0, 6, 0, 5, 0, 7, 0, 5, 3, 10, 0}, uint8(4))
	f.Add([]byte{1, 9, 0, 0, 14, 0, 5, 0, 13, 200}, uint8(8))
	f.Add([]byte{11, 0, 5, 0, 5, 1, 5, 2, 5, 3, 0, 0, 5, 0, 12, 2}, uint8(16))
	f.Add([]byte{11, 0, 5, 0, 5, 1, 5, 2, 5, 3, 0, 0, 5, 0, 12, 3}, uint8(16))
	f.Add([]byte{0, 0, 11, 0, 15, 255, 15, 255, 15, 255, 8, 0, 12, 0}, uint8(0))
	f.Add([]byte{0, 0, 2, 0, 0x85, 0, 0x85, 0}, uint8(0))
	f.Add([]byte{4, 1, 4, 1, 4, 1, 4, 0, 2, 2, 2, 3, 5, 0}, uint8(1))
	f.Fuzz(func(t *testing.T, script []byte, mode uint8) {
		synctest.Test(t, func(t *testing.T) {
			p := newSessionScript(t, mode)
			defer p.check()
			for i := 0; i+1 < len(script) && i < 400; i += 2 {
				p.act(script[i], script[i+1])
				if script[i]&0x80 == 0 {
					synctest.Wait()
				}
			}
		})
	})
}

// sessionScript is a session under test with the record of its messages.
type sessionScript struct {
	t        *testing.T
	server   *wire.Server
	session  *wire.Session
	conn     *scriptedConn
	accepted []performatives.MessageID // accepted by Send
	served   chan struct{}

	mu       sync.Mutex
	returned map[performatives.MessageID]int
	opened   int
	closed   int
}

// The modes of a sessionScript.
const (
	modeAuth         = 1 << iota // authentication is on
	modeTight                    // small outbox
	modeFixedDialect             // the transport fixes the dialect
	modeLimited                  // the connection has a rate limit
	modeSmall                    // each message is one write
)

func newSessionScript(t *testing.T, mode uint8) *sessionScript {
	p := &sessionScript{t: t, conn: newScriptedConn(), served: make(chan struct{}), returned: make(map[performatives.MessageID]int)}
	o := wire.Options{Handler: p, Dialects: []wire.Dialect{wiretest.Dialect{}}, Anonymous: true}
	if mode&modeAuth != 0 {
		o.Auth, o.Anonymous = knownTokens(t), false
	}
	if mode&modeTight != 0 {
		o.Limits.Outbox = 4
	}
	if mode&modeLimited != 0 {
		o.ConnectionRate = wire.Rate{Messages: 2, Window: time.Minute}
	}
	if mode&modeSmall != 0 {
		o.Limits.OutboxBytes = 1
	}
	var err error
	if p.server, err = wire.NewServer(o); err != nil {
		t.Fatal(err)
	}
	var conn wire.Conn = p.conn
	if mode&modeFixedDialect != 0 {
		conn = speakingConn{p.conn}
	}
	go func() {
		defer close(p.served)
		_ = p.server.Serve(conn, nil)
	}()
	synctest.Wait()
	p.session = p.server.Sessions()[0]
	return p
}

var priorities = []performatives.Priority{performatives.Low, performatives.Normal, performatives.High, performatives.Urgent}

// act performs one operation.
func (p *sessionScript) act(what, how byte) {
	switch what & 0x7f % 16 {
	case 0:
		p.conn.feed(wire.KindData, hello)
	case 1:
		p.conn.feed(wire.KindData, strings.Repeat("x", int(how)))
	case 2:
		p.conn.feed(wire.KindData, strings.Replace(hello, "hello", []string{"panic", "refuse", "answer", "dismiss"}[how%4], 1))
	case 3:
		p.conn.feed([]wire.Kind{wire.KindPing, wire.KindPong, wire.KindError, wire.KindClose}[how%4], "x")
	case 4:
		p.conn.feed(wire.KindData, message("crm", []string{tokenCRM, tokenWrong}[how%2]))
	case 5:
		p.send(performatives.Envelope{Priority: priorities[how%4], Payload: wiretest.Raw(wiretest.Long(int(how)))})
	case 6:
		p.send(performatives.Envelope{Ontology: "unwritable", Payload: wiretest.Raw("")})
	case 7:
		p.send(performatives.Envelope{Payload: performatives.QueryIf{Condition: performatives.ContentOf(panickingPayload{})}})
	case 8:
		p.session.Dismiss(nil)
	case 9:
		ctx, cancel := context.WithTimeout(p.t.Context(), time.Duration(how)*time.Second)
		_ = p.session.Stop(ctx) // its error is that of the timeout
		cancel()
	case 10:
		p.conn.endInput([]error{io.EOF, io.ErrUnexpectedEOF, &performatives.Refusal{Code: performatives.CodeParsingError}}[how%3])
	case 11:
		p.conn.blockWrites()
	case 12:
		p.conn.releaseWrites(int(how % 4))
	case 13:
		time.Sleep(time.Duration(how) * time.Second)
	case 14:
		p.session.Dismiss(&performatives.Refusal{Code: performatives.CodeStopped, Text: "why not"})
	case 15:
		for range how {
			p.send(performatives.Envelope{Payload: wiretest.Raw("one of many")})
		}
	}
}

func (p *sessionScript) send(e performatives.Envelope) {
	e.Sender, e.Receiver = "b", "a"
	if _, ok := e.Payload.(performatives.Raw); ok {
		e.Performative = performatives.ActInform
	}
	m := wiretest.Of(p.t, e)
	err := p.session.Send(m)
	if err == nil {
		p.accepted = append(p.accepted, m.ID())
	}
	if err != nil && !errors.Is(err, performatives.CodeBusy) && !errors.Is(err, performatives.CodeStopped) {
		p.t.Errorf("Send: %v", err)
	}
}

// Opened counts the call.
func (p *sessionScript) Opened(*wire.Session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.opened++
}

// Receive performs the action that the message's text names.
func (p *sessionScript) Receive(s *wire.Session, m *performatives.Message) error {
	p.checkOrder()
	switch wiretest.Text(m) {
	case "panic":
		panic("test panic in Receive")
	case "refuse":
		return errors.New("no")
	case "answer":
		_ = s.Send(wiretest.Of(p.t, performatives.Envelope{ID: "answer", Sender: "b", Receiver: "a", Performative: performatives.ActInform, Payload: wiretest.Raw("")}))
	case "dismiss":
		s.Dismiss(&performatives.Refusal{Code: performatives.CodeStopped})
	}
	return nil
}

// Undelivered records the message.
func (p *sessionScript) Undelivered(_ *wire.Session, m *performatives.Message, _ *performatives.Refusal) {
	p.checkOrder()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.returned[m.ID()]++
}

// Closed counts the call.
func (p *sessionScript) Closed(*wire.Session, error) {
	p.checkOrder()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed++
}

// checkOrder checks that the call comes after Opened and before Closed.
func (p *sessionScript) checkOrder() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.opened != 1 || p.closed != 0 {
		p.t.Errorf("opened %d times, closed %d times", p.opened, p.closed)
	}
}

// check stops the server and checks that each accepted message has one outcome.
func (p *sessionScript) check() {
	p.conn.releaseWrites(0)
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	if err := p.server.Stop(ctx); err != nil {
		p.t.Errorf("the server does not stop: %v", err)
	}
	<-p.served
	<-p.session.Done()
	if p.closed != 1 {
		p.t.Errorf("closed %d times", p.closed)
	}
	for _, id := range p.accepted {
		if n := p.returned[id] + p.conn.written[id]; n != 1 {
			p.t.Errorf("%s was returned %d times and written %d times", id, p.returned[id], p.conn.written[id])
		}
	}
	if c := p.conn; c.after > 0 || c.closes > 1 {
		p.t.Errorf("%d CLOSE frames, %d frames after the first", c.closes, c.after)
	}
}
