package wire_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// mute is a connection whose language cannot be spoken.
type mute struct {
	wire.Conn
	opening func()
}

// Dialect returns one that does not open.
func (m mute) Dialect() wire.Dialect { return broken{opening: m.opening} }

type broken struct {
	wiretest.Dialect
	opening func()
}

// Open fails.
func (b broken) Open(wire.CodecOptions) (wire.Codec, error) {
	b.opening()
	return nil, errors.New("no")
}

// A server does not wait for the end of a session that has never begun.
func TestStopWhileAConnectionFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, _ := open(t, wire.Options{})
		opening, stopping := make(chan struct{}), make(chan struct{})
		_, far := wiretest.Pipe()
		served := make(chan error, 1)
		go func() {
			served <- s.Serve(mute{far, func() { close(opening); <-stopping }}, nil)
		}()
		<-opening
		stopped := make(chan error, 1)
		go func() { stopped <- s.Stop(t.Context()) }()
		synctest.Wait()
		close(stopping)
		if err := <-served; err == nil {
			t.Error("a connection without a language is served")
		}
		if err := <-stopped; err != nil {
			t.Errorf("stopped with %v", err)
		}
	})
}

// panicking is a handler that panics in one of its methods.
type panicking struct {
	wiretest.Recorder
	in    string
	ended atomic.Int32
}

func (p *panicking) at(method string) {
	if p.in == method {
		panic("no")
	}
}

// Opened panics, or notes.
func (p *panicking) Opened(s *wire.Session) { p.Recorder.Opened(s); p.at("Opened") }

// Receive panics, or notes.
func (p *panicking) Receive(s *wire.Session, m *performatives.Message) error {
	p.at("Receive")
	return p.Recorder.Receive(s, m)
}

// Undelivered notes, and panics.
func (p *panicking) Undelivered(s *wire.Session, m *performatives.Message, why *performatives.Refusal) {
	p.Recorder.Undelivered(s, m, why)
	p.at("Undelivered")
}

// Closed notes, and panics.
func (p *panicking) Closed(s *wire.Session, err error) {
	p.ended.Add(1)
	p.at("Closed")
}

// Whichever of its methods a handler panics in, the process goes on, the session ends once
// and what was sent comes back.
func TestHandlerPanics(t *testing.T) {
	for _, method := range []string{"Opened", "Receive", "Undelivered", "Closed"} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &panicking{in: method}
				server, _, far := open(t, wire.Options{Handler: h})
				session := h.Session(t, 0)
				sent := 0
				for range 3 {
					if session.Send(wiretest.Message(t, "b", "a", "x")) == nil {
						sent++
					}
				}
				_ = far.Write([]wire.Frame{{Kind: wire.KindData, Data: []byte(hello)}}) // in vain after Opened
				synctest.Wait()
				_ = far.Close()
				<-session.Done()
				if n := len(h.Undeliverable()); n != sent {
					t.Errorf("%d messages came back of %d", n, sent)
				}
				if n := h.ended.Load(); n != 1 {
					t.Errorf("ended %d times", n)
				}
				synctest.Wait()
				if n := len(server.Sessions()); n != 0 {
					t.Errorf("%d sessions are left", n)
				}
			})
		})
	}
}

// faulty is a connection whose Write panics.
type faulty struct{ wire.Conn }

// Write panics.
func (faulty) Write([]wire.Frame) error { panic("no") }

func TestTransportPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, far := wiretest.Pipe()
		r := &wiretest.Recorder{}
		s, err := wire.Connect(faulty{far}, wire.Options{Handler: r, Dialects: []wire.Dialect{wiretest.Dialect{}}})
		if err != nil {
			t.Fatal(err)
		}
		sent := 0
		for range 3 {
			if s.Send(wiretest.Message(t, "b", "a", "x")) == nil { // the first may be the end
				sent++
			}
		}
		<-s.Done()
		if n := len(r.Undeliverable()); n != sent {
			t.Errorf("%d messages came back of %d", n, sent)
		}
	})
}

// Nothing comes after the word that this end says nothing more, although messages wait for
// the peer to show its language and it then does.
func TestNothingAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, r, far := open(t, wire.Options{})
		session := r.Session(t, 0)
		if err := session.Send(wiretest.Message(t, "b", "a", "too late")); err != nil {
			t.Fatal(err)
		}
		session.Dismiss(nil)
		var kinds []wire.Kind
		heard := make(chan string, 1)
		go func() {
			data, err := far.Read(func(f wire.Frame) { kinds = append(kinds, f.Kind) })
			if err == nil {
				heard <- string(data)
			}
			close(heard)
		}()
		synctest.Wait()
		far.say(hello)
		if text, ok := <-heard; ok {
			t.Errorf("after %v: %s", kinds, text)
		}
		if err := r.AwaitEnd(t, 1)[0]; err != nil {
			t.Errorf("ended with %v", err)
		}
		if n := len(r.Undeliverable()); n != 1 {
			t.Errorf("%d messages came back, want 1", n)
		}
	})
}

// A peer that is gone before its session begins has a session that ends.
func TestConnectToOneWhoIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := wiretest.Pipe()
		_ = far.Close()
		r := &wiretest.Recorder{}
		s, err := wire.Connect(near, wire.Options{Handler: r, Dialects: []wire.Dialect{wiretest.Dialect{}}})
		if err != nil {
			t.Fatal(err)
		}
		sent := 0
		if s.Send(wiretest.Message(t, "a", "b", "x")) == nil {
			sent++
		}
		<-s.Done()
		if !errors.Is(s.Err(), wire.ErrHungUp) && sent == 0 {
			t.Errorf("ended with %v", s.Err())
		}
		if n := len(r.Undeliverable()); n != sent {
			t.Errorf("%d messages came back of %d", n, sent)
		}
		if err := s.Stop(context.Background()); err != nil {
			t.Errorf("Stop after the end: %v", err)
		}
	})
}

// A peer that is over its rate is read slowly, for however long, and is not taken for dead:
// it is this end that does not listen. Nor does it seem dead to the peer.
func TestSlowedPeerIsNotDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := enter(t, wire.Options{Anonymous: true, ConnectionRate: wire.Rate{Messages: 1, Window: time.Hour}},
			func(o *wire.Options) { o.KeepAlive = wire.KeepAlive{} })
		v := e.visit(nil)
		const n = 200
		batch := make([]string, n)
		for i := range batch {
			batch[i] = message("a", "")
		}
		begun := time.Now()
		if err := v.conn.Write([]wire.Frame{{Kind: wire.KindData, Data: []byte(strings.Join(batch, "\n"))}}); err != nil {
			t.Fatal(err)
		}
		for refused := 0; refused < n-1; refused += strings.Count(v.hear(), "RATE_LIMIT") {
			if err, over := v.ended(); over {
				t.Fatalf("ended after %v with %v", time.Since(begun), err)
			}
			time.Sleep(time.Second)
			synctest.Wait()
		}
		if took := time.Since(begun); took < time.Minute || took > n*time.Second {
			t.Errorf("read in %v", took)
		}
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if err, over := v.ended(); over {
			t.Errorf("the silence did not begin after the frame: %v", err)
		}
	})
}

// brokenOff is a connection whose Write fails, and whose Read goes on.
type brokenOff struct{ wire.Conn }

// Write fails.
func (brokenOff) Write([]wire.Frame) error { return errors.New("no") }

// reasons is a handler that keeps why messages came back.
type reasons struct {
	wiretest.Recorder
	why []performatives.Code // read once the session has ended
}

// Undelivered notes.
func (r *reasons) Undelivered(s *wire.Session, m *performatives.Message, why *performatives.Refusal) {
	r.why = append(r.why, why.Code)
	r.Recorder.Undelivered(s, m, why)
}

// A message whose write fails may have arrived, and the peer's answer to it may be on its
// way: it comes back only after all answers.
func TestUndeliveredComesAfterTheLastAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := wiretest.Pipe()
		answering := make(chan struct{})
		r := &reasons{}
		r.Answer = func(*wire.Session, *performatives.Message) error {
			<-answering
			if n := len(r.Undeliverable()); n != 0 {
				t.Errorf("%d messages came back while an answer was", n)
			}
			return nil
		}
		s, err := wire.Connect(brokenOff{near}, wire.Options{Handler: r, Dialects: []wire.Dialect{wiretest.Dialect{}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := far.Write([]wire.Frame{{Kind: wire.KindData, Data: []byte(hello)}}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := s.Send(wiretest.Ask(t, "b", "a", "x")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		close(answering)
		<-s.Done()
		if n := len(r.Undeliverable()); n != 1 {
			t.Errorf("%d messages came back, want 1", n)
		}
		if !slices.Equal(r.why, []performatives.Code{performatives.CodeDisconnected}) {
			t.Errorf("because of %v: nobody knows whether it has arrived", r.why)
		}
	})
}

// What the peer has said before it left is read, although a write found out first that it
// has: its answers count, and why it gave up.
func TestLastWordsAreReadAfterAFailedWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := wiretest.Pipe()
		r := &wiretest.Recorder{}
		s, err := wire.Connect(brokenOff{near}, wire.Options{Handler: r, Dialects: []wire.Dialect{wiretest.Dialect{}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Send(wiretest.Ask(t, "b", "a", "x")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := s.Send(wiretest.Ask(t, "b", "a", "y")); !errors.Is(err, performatives.CodeStopped) {
			t.Errorf("Send after a failed write: %v", err)
		}
		full := &performatives.Refusal{Code: performatives.CodeBusy, Text: "there are too many connections"}
		if err := far.Write([]wire.Frame{{Kind: wire.KindData, Data: []byte(hello)}, {Kind: wire.KindError, Err: full}}); err != nil {
			t.Fatal(err)
		}
		<-s.Done()
		if n := len(r.Received()); n != 1 {
			t.Errorf("%d answers were read, want 1", n)
		}
		if n := len(r.Undeliverable()); n != 1 {
			t.Errorf("%d messages came back, want 1", n)
		}
		if err := s.Err(); !errors.Is(err, performatives.CodeBusy) {
			t.Errorf("ended with %v", err)
		}
	})
}

// stuck is a connection that nobody reads, and whose end takes its time.
type stuck struct {
	wire.Conn
	closing chan struct{}
}

// Write waits for the end.
func (s stuck) Write([]wire.Frame) error {
	<-s.closing
	return wire.ErrSlow
}

// Close waits until it may.
func (s stuck) Close() error {
	<-s.closing
	return s.Conn.Close()
}

// Who sends more than a peer takes does not wait until it is disconnected.
func TestSendDoesNotWaitForTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, _ := wiretest.Pipe()
		conn := stuck{near, make(chan struct{})}
		r := &wiretest.Recorder{}
		s, err := wire.Connect(conn, wire.Options{
			Handler: r, Dialects: []wire.Dialect{wiretest.Dialect{}}, Limits: wire.Limits{Outbox: 1}, Full: wire.FullDisconnect,
		})
		if err != nil {
			t.Fatal(err)
		}
		refused := make(chan int)
		go func() {
			const n = 10
			taken := 0
			for range n {
				if s.Send(wiretest.Message(t, "a", "b", "x")) == nil {
					taken++
				}
			}
			refused <- n - taken
		}()
		synctest.Wait()
		select {
		case n := <-refused:
			if n == 0 {
				t.Error("the outbox takes everything")
			}
			close(conn.closing)
		default:
			t.Error("Send waits for the connection's Close")
			close(conn.closing)
			<-refused
		}
		<-s.Done()
		if !errors.Is(s.Err(), wire.ErrSlow) {
			t.Errorf("ended with %v", s.Err())
		}
	})
}

// Whoever has not authenticated in time is told so, and what it says after that is not
// taken, although it is slow to read what it was told.
func TestTooLateToAuthenticate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, r, far := open(t, wire.Options{Auth: knownTokens(t), AuthTime: time.Second})
		time.Sleep(2 * time.Second)
		synctest.Wait() // it is being told
		far.say(message("crm", tokenCRM))
		synctest.Wait()
		if n := len(r.Received()); n != 0 {
			t.Errorf("%d messages were taken", n)
		}
		_ = far.Close()
		if err := r.AwaitEnd(t, 1)[0]; err == nil {
			t.Error("ended in order")
		}
	})
}
