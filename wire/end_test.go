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

// badDialectConn is a connection with a fixed dialect that fails to open.
type badDialectConn struct {
	wire.Conn
	opening func()
}

// Dialect returns a dialect whose Open fails.
func (m badDialectConn) Dialect() wire.Dialect { return failingDialect{opening: m.opening} }

type failingDialect struct {
	wiretest.Dialect
	opening func()
}

// Open fails.
func (b failingDialect) Open(wire.CodecOptions) (wire.Codec, error) {
	b.opening()
	return nil, errors.New("no")
}

// Stop does not wait for a session whose dialect failed to open.
func TestStopWhileADialectFailsToOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, _ := open(t, wire.Options{})
		opening, stopping := make(chan struct{}), make(chan struct{})
		_, far := wiretest.Pipe()
		served := make(chan error, 1)
		go func() {
			served <- s.Serve(badDialectConn{far, func() { close(opening); <-stopping }}, nil)
		}()
		<-opening
		stopped := make(chan error, 1)
		go func() { stopped <- s.Stop(t.Context()) }()
		synctest.Wait()
		close(stopping)
		if err := <-served; err == nil {
			t.Error("Serve accepted a connection whose dialect failed to open")
		}
		if err := <-stopped; err != nil {
			t.Errorf("Stop: %v", err)
		}
	})
}

// panickingHandler is a handler that panics in one of its methods.
type panickingHandler struct {
	wiretest.Recorder
	in    string
	ended atomic.Int32
}

func (p *panickingHandler) at(method string) {
	if p.in == method {
		panic("no")
	}
}

// Opened records the session and panics if it is the selected method.
func (p *panickingHandler) Opened(s *wire.Session) { p.Recorder.Opened(s); p.at("Opened") }

// Receive panics if it is the selected method.
func (p *panickingHandler) Receive(s *wire.Session, m *performatives.Message) error {
	p.at("Receive")
	return p.Recorder.Receive(s, m)
}

// Undelivered records the message and panics if it is the selected method.
func (p *panickingHandler) Undelivered(s *wire.Session, m *performatives.Message, why *performatives.Refusal) {
	p.Recorder.Undelivered(s, m, why)
	p.at("Undelivered")
}

// Closed counts the call and panics if it is the selected method.
func (p *panickingHandler) Closed(s *wire.Session, err error) {
	p.ended.Add(1)
	p.at("Closed")
}

// A panic in any handler method ends only the session: it ends once, and unsent messages are
// returned.
func TestHandlerPanicEndsTheSession(t *testing.T) {
	for _, method := range []string{"Opened", "Receive", "Undelivered", "Closed"} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &panickingHandler{in: method}
				server, _, far := open(t, wire.Options{Handler: h})
				session := h.Session(t, 0)
				sent := 0
				for range 3 {
					if session.Send(wiretest.Message(t, "b", "a", "x")) == nil {
						sent++
					}
				}
				_ = far.Write([]wire.Frame{{Kind: wire.KindData, Data: []byte(hello)}}) // fails when Opened panicked
				synctest.Wait()
				_ = far.Close()
				<-session.Done()
				if n := len(h.Undeliverable()); n != sent {
					t.Errorf("%d of %d messages were returned", n, sent)
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

// panickingConn is a connection whose Write panics.
type panickingConn struct{ wire.Conn }

// Write panics.
func (panickingConn) Write([]wire.Frame) error { panic("no") }

func TestTransportPanicReturnsMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, far := wiretest.Pipe()
		r := &wiretest.Recorder{}
		s, err := wire.Connect(panickingConn{far}, wire.Options{Handler: r, Dialects: []wire.Dialect{wiretest.Dialect{}}})
		if err != nil {
			t.Fatal(err)
		}
		sent := 0
		for range 3 {
			if s.Send(wiretest.Message(t, "b", "a", "x")) == nil { // the first write may have ended the session
				sent++
			}
		}
		<-s.Done()
		if n := len(r.Undeliverable()); n != sent {
			t.Errorf("%d of %d messages were returned", n, sent)
		}
	})
}

// No message is written after the CLOSE frame. The messages are queued because the dialect is
// unknown until the peer's first frame, which arrives after CLOSE.
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
		far.send(hello)
		if text, ok := <-heard; ok {
			t.Errorf("after %v: %s", kinds, text)
		}
		if err := r.AwaitEnd(t, 1)[0]; err != nil {
			t.Errorf("ended with %v", err)
		}
		if n := len(r.Undeliverable()); n != 1 {
			t.Errorf("%d messages were returned, want 1", n)
		}
	})
}

// A session on a connection that has already ended ends, and returns its messages.
func TestConnectOnClosedConnection(t *testing.T) {
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
			t.Errorf("%d of %d messages were returned", n, sent)
		}
		if err := s.Stop(context.Background()); err != nil {
			t.Errorf("Stop after the end: %v", err)
		}
	})
}

// A peer over its rate is read slowly and not considered dead, because the silence is caused
// by this end. Its pings are still answered before the peer considers this end dead.
func TestRateLimitedPeerIsNotDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTestServer(t, wire.Options{Anonymous: true, ConnectionRate: wire.Rate{Messages: 1, Window: time.Hour}},
			func(o *wire.Options) { o.KeepAlive = wire.KeepAlive{} })
		v := e.connect(nil)
		const n = 200
		batch := make([]string, n)
		for i := range batch {
			batch[i] = message("a", "")
		}
		begun := time.Now()
		if err := v.conn.Write([]wire.Frame{{Kind: wire.KindData, Data: []byte(strings.Join(batch, "\n"))}}); err != nil {
			t.Fatal(err)
		}
		for refused := 0; refused < n-1; refused += strings.Count(v.answers(), "RATE_LIMIT") {
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
			t.Errorf("the keep-alive timeout did not start after the frame was handled: %v", err)
		}
	})
}

// failingWriteConn is a connection whose Write fails and whose Read continues.
type failingWriteConn struct{ wire.Conn }

// Write fails.
func (failingWriteConn) Write([]wire.Frame) error { return errors.New("no") }

// refusalRecorder is a handler that records the codes of Undelivered.
type refusalRecorder struct {
	wiretest.Recorder
	why []performatives.Code // read after the session has ended
}

// Undelivered records the code.
func (r *refusalRecorder) Undelivered(s *wire.Session, m *performatives.Message, why *performatives.Refusal) {
	r.why = append(r.why, why.Code)
	r.Recorder.Undelivered(s, m, why)
}

// A message whose write failed may have arrived, and its reply may still be unread:
// Undelivered is called after the last Receive.
func TestUndeliveredComesAfterTheLastReceive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := wiretest.Pipe()
		answering := make(chan struct{})
		r := &refusalRecorder{}
		r.Answer = func(*wire.Session, *performatives.Message) error {
			<-answering
			if n := len(r.Undeliverable()); n != 0 {
				t.Errorf("%d messages were returned while a reply was being handled", n)
			}
			return nil
		}
		s, err := wire.Connect(failingWriteConn{near}, wire.Options{Handler: r, Dialects: []wire.Dialect{wiretest.Dialect{}}})
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
			t.Errorf("%d messages were returned, want 1", n)
		}
		if !slices.Equal(r.why, []performatives.Code{performatives.CodeDisconnected}) {
			t.Errorf("returned with %v, want disconnected because the message may have arrived", r.why)
		}
	})
}

// Frames that the peer sent before it closed the connection are read after a write failed:
// replies are delivered, and the peer's error becomes the session's.
func TestFramesAreReadAfterAFailedWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := wiretest.Pipe()
		r := &wiretest.Recorder{}
		s, err := wire.Connect(failingWriteConn{near}, wire.Options{Handler: r, Dialects: []wire.Dialect{wiretest.Dialect{}}})
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
		full := &performatives.Refusal{Code: performatives.CodeBusy, Text: "too many connections"}
		if err := far.Write([]wire.Frame{{Kind: wire.KindData, Data: []byte(hello)}, {Kind: wire.KindError, Err: full}}); err != nil {
			t.Fatal(err)
		}
		<-s.Done()
		if n := len(r.Received()); n != 1 {
			t.Errorf("%d answers were read, want 1", n)
		}
		if n := len(r.Undeliverable()); n != 1 {
			t.Errorf("%d messages were returned, want 1", n)
		}
		if err := s.Err(); !errors.Is(err, performatives.CodeBusy) {
			t.Errorf("ended with %v", err)
		}
	})
}

// After the authentication timeout, messages are discarded, also while the error frame is not
// yet written.
func TestMessagesAfterAuthTimeoutAreDiscarded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, r, far := open(t, wire.Options{Auth: knownTokens(t), AuthTime: time.Second})
		time.Sleep(2 * time.Second)
		synctest.Wait() // the error frame is being written
		far.send(message("crm", tokenCRM))
		synctest.Wait()
		if n := len(r.Received()); n != 0 {
			t.Errorf("%d messages were received", n)
		}
		_ = far.Close()
		if err := r.AwaitEnd(t, 1)[0]; err == nil {
			t.Error("ended in order")
		}
	})
}
