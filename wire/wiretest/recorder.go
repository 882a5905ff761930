package wiretest

import (
	"sync"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// Recorder is a [wire.Handler] that keeps what it is told. The zero value is ready.
type Recorder struct {
	// Answer is called for each message, if it is set, and its error is Receive's.
	Answer func(s *wire.Session, m *performatives.Message) error

	mu          sync.Mutex
	changed     chan struct{}
	opened      []*wire.Session
	received    []*performatives.Message
	undelivered []*performatives.Message
	closed      []error
}

var _ wire.Handler = (*Recorder)(nil)

// Opened notes a session.
func (r *Recorder) Opened(s *wire.Session) {
	r.note(func() { r.opened = append(r.opened, s) })
}

// Receive notes a message, and answers it.
func (r *Recorder) Receive(s *wire.Session, m *performatives.Message) error {
	r.note(func() { r.received = append(r.received, m) })
	if r.Answer != nil {
		return r.Answer(s, m)
	}
	return nil
}

// Undelivered notes a message that came back.
func (r *Recorder) Undelivered(_ *wire.Session, m *performatives.Message, _ *performatives.Refusal) {
	r.note(func() { r.undelivered = append(r.undelivered, m) })
}

// Closed notes the end of a session.
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

// patience is how long a test waits for something that should happen before it fails.
const patience = 20 * time.Second

// wait waits until ok, which is called with the lock held, holds.
func (r *Recorder) wait(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
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
			t.Fatalf("%s: waited in vain; received %d, undelivered %d, closed %v", what, len(r.Received()), len(r.Undeliverable()), r.Ends())
		}
	}
}

// Session waits for the n-th session, counted from 0, and returns it.
func (r *Recorder) Session(t testing.TB, n int) *wire.Session {
	t.Helper()
	r.wait(t, "a session", func() bool { return len(r.opened) > n })
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.opened[n]
}

// Await waits for n messages in all and returns them.
func (r *Recorder) Await(t testing.TB, n int) []*performatives.Message {
	t.Helper()
	r.wait(t, "messages", func() bool { return len(r.received) >= n })
	return r.Received()
}

// AwaitEnd waits for the end of n sessions in all and returns why they ended.
func (r *Recorder) AwaitEnd(t testing.TB, n int) []error {
	t.Helper()
	r.wait(t, "the end of a session", func() bool { return len(r.closed) >= n })
	return r.Ends()
}

// Received returns the messages so far.
func (r *Recorder) Received() []*performatives.Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*performatives.Message(nil), r.received...)
}

// Undeliverable returns the messages that came back so far.
func (r *Recorder) Undeliverable() []*performatives.Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*performatives.Message(nil), r.undelivered...)
}

// Ends returns why sessions ended so far.
func (r *Recorder) Ends() []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]error(nil), r.closed...)
}
