package wiretest

import (
	"sync"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// Recorder is a [wire.Handler] that records its calls. The zero value is ready to use. Its
// methods are safe for concurrent use.
type Recorder struct {
	// Answer, if not nil, is called for each message. Receive returns its error.
	Answer func(s *wire.Session, m *performatives.Message) error

	mu          sync.Mutex
	changed     chan struct{}
	opened      []*wire.Session
	received    []*performatives.Message
	undelivered []*performatives.Message
	closed      []error
}

var _ wire.Handler = (*Recorder)(nil)

// Opened records the session.
func (r *Recorder) Opened(s *wire.Session) {
	r.note(func() { r.opened = append(r.opened, s) })
}

// Receive records the message and calls Answer.
func (r *Recorder) Receive(s *wire.Session, m *performatives.Message) error {
	r.note(func() { r.received = append(r.received, m) })
	if r.Answer != nil {
		return r.Answer(s, m)
	}
	return nil
}

// Undelivered records the message.
func (r *Recorder) Undelivered(_ *wire.Session, m *performatives.Message, _ *performatives.Refusal) {
	r.note(func() { r.undelivered = append(r.undelivered, m) })
}

// Closed records the error.
func (r *Recorder) Closed(_ *wire.Session, err error) {
	r.note(func() { r.closed = append(r.closed, err) })
}

func (r *Recorder) note(fn func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fn()
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// wait blocks until ok returns true. ok is called with the lock held.
func (r *Recorder) wait(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience.Time)
	defer deadline.Stop()
	for {
		r.mu.Lock()
		if ok() {
			r.mu.Unlock()
			return
		}
		if r.changed == nil {
			r.changed = make(chan struct{})
		}
		changed := r.changed
		r.mu.Unlock()
		select {
		case <-changed:
		case <-deadline.C:
			t.Fatalf("timed out waiting for %s: received %d, undelivered %d, closed %v", what, len(r.Received()), len(r.Undeliverable()), r.Ends())
		}
	}
}

// Session blocks until session n has been opened, counted from 0, and returns it.
func (r *Recorder) Session(t testing.TB, n int) *wire.Session {
	t.Helper()
	r.wait(t, "a session", func() bool { return len(r.opened) > n })
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.opened[n]
}

// Await blocks until n messages in total have been received, and returns them.
func (r *Recorder) Await(t testing.TB, n int) []*performatives.Message {
	t.Helper()
	r.wait(t, "messages", func() bool { return len(r.received) >= n })
	return r.Received()
}

// AwaitEnd blocks until n sessions in total have ended, and returns their errors.
func (r *Recorder) AwaitEnd(t testing.TB, n int) []error {
	t.Helper()
	r.wait(t, "the end of a session", func() bool { return len(r.closed) >= n })
	return r.Ends()
}

// AwaitUndelivered blocks until n messages in total have been returned.
func (r *Recorder) AwaitUndelivered(t testing.TB, n int) {
	t.Helper()
	r.wait(t, "a message to be returned", func() bool { return len(r.undelivered) >= n })
}

// Received returns the messages received so far.
func (r *Recorder) Received() []*performatives.Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*performatives.Message(nil), r.received...)
}

// Undeliverable returns the messages passed to Undelivered so far.
func (r *Recorder) Undeliverable() []*performatives.Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*performatives.Message(nil), r.undelivered...)
}

// Ends returns the errors of the sessions that have ended so far.
func (r *Recorder) Ends() []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]error(nil), r.closed...)
}
