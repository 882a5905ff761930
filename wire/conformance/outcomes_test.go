package conformance

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ribosome-agents/ribosome/internal/account"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// outcomes checks every way in which a session ends during concurrent sends. Each accepted message
// is written or returned exactly once, no call follows Closed, and the counts match.
func outcomes(t *testing.T, tr transport) {
	for name, end := range map[string]func(near, far *wire.Session, conn wire.Conn){
		"this end stops":       func(near, _ *wire.Session, _ wire.Conn) { _ = near.Stop(context.Background()) },
		"this end cuts it off": func(near, _ *wire.Session, _ wire.Conn) { _ = near.Stop(ended()) },
		"this end dismisses":   func(near, _ *wire.Session, _ wire.Conn) { near.Dismiss(nil) },
		"the peer stops":       func(_, far *wire.Session, _ wire.Conn) { _ = far.Stop(context.Background()) },
		"the peer cuts it off": func(_, far *wire.Session, _ wire.Conn) { _ = far.Stop(ended()) },
		"the peer dismisses": func(_, far *wire.Session, _ wire.Conn) {
			far.Dismiss(&performatives.Refusal{Code: performatives.CodeForbidden})
		},
		"the connection breaks": func(_, _ *wire.Session, conn wire.Conn) { _ = conn.Close() },
		"both stop": func(near, far *wire.Session, _ wire.Conn) {
			far.Dismiss(nil)
			_ = near.Stop(context.Background())
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range wiretest.Many(20) {
				oneOutcome(t, tr, end)
			}
		})
	}
}

// ended returns a context that has ended.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func oneOutcome(t *testing.T, tr transport, end func(near, far *wire.Session, conn wire.Conn)) {
	near := &outcomeRecorder{}
	h := serve(t, tr, func(o *wire.Options) {
		o.Handler, o.Limits.Outbox, o.Limits.CloseTime = near, 64, patience.Time
	})
	far := &wiretest.Recorder{}
	conn := dial(t, tr, h.addr, wire.Limits{})
	peer, err := wire.Connect(conn, wire.Options{Handler: far, Dialects: []wire.Dialect{wiretest.Dialect{}}, Limits: wire.Limits{CloseTime: patience.Time}})
	if err != nil {
		t.Fatal(err)
	}
	send(t, peer, wiretest.Message(t, "a", "b", "hello"))
	near.Await(t, 1)
	session := near.Session(t, 0)
	var sending sync.WaitGroup
	for i := range 3 {
		sending.Go(func() { near.send(t, session, i) })
	}
	far.Await(t, 5)
	end(session, peer, conn)
	<-session.Done()
	<-peer.Done()
	sending.Wait()
	h.stop(t)
	arrived := near.check(t, h.Counts(), far.Received())
	if written := h.Counts().Sent; session.Err() == nil && peer.Err() == nil && uint64(arrived) != written {
		t.Errorf("both ends ended in order, but of %d written messages %d arrived", written, arrived)
	}
}

// outcomeRecorder is a handler that records the outcome of each message it has sent.
type outcomeRecorder struct {
	wiretest.Recorder
	outcomes account.Messages[performatives.MessageID]
	ended    atomic.Bool
	late     atomic.Bool
}

// Receive records the message.
func (l *outcomeRecorder) Receive(s *wire.Session, m *performatives.Message) error {
	l.late.CompareAndSwap(false, l.ended.Load())
	return l.Recorder.Receive(s, m)
}

// Undelivered records the message.
func (l *outcomeRecorder) Undelivered(s *wire.Session, m *performatives.Message, why *performatives.Refusal) {
	l.late.CompareAndSwap(false, l.ended.Load())
	l.Recorder.Undelivered(s, m, why)
}

// Closed records the end.
func (l *outcomeRecorder) Closed(s *wire.Session, err error) {
	l.late.CompareAndSwap(false, l.ended.Swap(true))
	l.Recorder.Closed(s, err)
}

// send sends messages of several bands until the session has ended.
func (l *outcomeRecorder) send(t testing.TB, s *wire.Session, n int) {
	for i := 0; ; i++ {
		m := wiretest.Of(t, performatives.Envelope{
			Sender: "b", Receiver: "a", Performative: performatives.ActInform, Payload: wiretest.Raw(fmt.Sprint(n, i)),
			Priority: performatives.Priority(i % 3),
		})
		switch err := s.Send(m); {
		case err == nil:
			l.outcomes.Count(m.ID(), account.Accepted)
		case errors.Is(err, performatives.CodeStopped):
			return
		default:
			goruntime.Gosched() // the outbox is full
		}
	}
}

// check checks that each accepted message has one outcome, and returns the number of messages
// that arrived.
func (l *outcomeRecorder) check(t *testing.T, c wire.Counts, got []*performatives.Message) int {
	t.Helper()
	if l.late.Load() || len(l.Ends()) != 1 {
		t.Errorf("the handler was called after Closed, or Closed was called %d times", len(l.Ends()))
	}
	for _, m := range l.Undeliverable() {
		l.outcomes.Count(m.ID(), account.Refused)
	}
	for _, m := range got {
		l.outcomes.Count(m.ID(), account.Handled)
	}
	for _, line := range l.outcomes.Wrong(func(_ performatives.MessageID, o account.Counts) bool {
		return o[account.Accepted] == 1 && o[account.Refused] <= 1 && o[account.Handled] <= 1
	}) {
		t.Errorf("message %s", line)
	}
	total := l.outcomes.Totals()
	if c.Sent+c.Undelivered != uint64(total[account.Accepted]) || c.Undelivered != uint64(total[account.Refused]) {
		t.Errorf("%d were written and %d returned of the messages: %s", c.Sent, c.Undelivered, total)
	}
	if c.Open != 0 || c.Received != uint64(len(l.Received())) || c.Refused != 0 {
		t.Errorf("%+v; the handler received %d", c, len(l.Received()))
	}
	return total[account.Handled]
}
