package wire

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Session is one connection with a peer: a transport that moves frames, a dialect that
// makes messages of them, and the rules for both. Its methods may be called from any
// goroutine.
type Session struct {
	id        string
	conn      Conn
	peer      Peer
	core      *core
	initiator bool
	out       *outbox
	language  atomic.Pointer[language] // nil until the first frame
	identity  atomic.Pointer[Identity] // nil until the peer has authenticated
	gate      gate                     // of the reader
	long      bool                     // the frame that is read is one; of the reader
	deaf      atomic.Bool              // what else the peer says, nobody reads
	busy      atomic.Bool              // the reader has not come back for more
	unsent    []*performatives.Message // of the writer, and then of finish
	offering  atomic.Bool              // the writer waits for answered
	answered  chan struct{}            // the reader knows the answer to an offer, or that none comes; nil for who opened nothing

	mu    sync.Mutex
	life  life
	timer *time.Timer

	ctx    context.Context         //nolint:containedctx // the session's own: it ends with it
	cancel context.CancelCauseFunc // ends ctx
	done   chan struct{}           // closed when nothing of the session runs
	err    error                   // valid once done is closed
	value  atomic.Value            // of the handler
}

// language is how a session writes and reads messages.
type language struct {
	dialect Dialect
	codec   Codec
}

// newSession is a session that does not run yet.
func newSession(c *core, conn Conn, id *Identity, initiator bool) *Session {
	now := time.Now()
	s := &Session{
		id: fmt.Sprintf("%s-%d", conn.Peer().Transport, c.sessions.Add(1)), conn: conn, peer: conn.Peer(), core: c,
		initiator: initiator, out: newOutbox(c.opts.Limits), done: make(chan struct{}),
	}
	if initiator {
		s.answered = make(chan struct{}, 1)
	}
	s.gate.init(c.opts, id)
	s.life = life{state: stateOpening, keep: c.opts.KeepAlive, closes: c.opts.Limits.CloseTime, heard: now}
	s.ctx, s.cancel = context.WithCancelCause(context.Background()) //nolint:forbidigo // a session outlives whoever began it
	switch {
	case id != nil:
		s.identity.Store(id)
		s.life.state = stateOpen
	case initiator || c.opts.Anonymous:
		s.life.state = stateOpen
	default:
		s.life.authBy = now.Add(c.opts.AuthTime)
	}
	if s.life.state == stateOpen {
		conn.SetLimit(c.opts.Limits.Frame)
	} else {
		conn.SetLimit(c.opts.Limits.Unauthenticated)
	}
	return s
}

// ID names the session in logs: unique among those of its server.
func (s *Session) ID() string { return s.id }

// Peer returns what the transport knows of the peer.
func (s *Session) Peer() Peer { return s.peer }

// Identity returns who the peer has proved to be by its connection, or by its last
// token, and whether it has.
func (s *Session) Identity() (Identity, bool) {
	if id := s.identity.Load(); id != nil {
		return *id, true
	}
	return Identity{}, false
}

// Dialect returns the name of the language that the peer speaks, or nothing before its
// first frame.
func (s *Session) Dialect() string {
	if l := s.language.Load(); l != nil {
		return l.dialect.Name()
	}
	return ""
}

// SetValue keeps a value of the handler's with the session; all have to be of one type.
func (s *Session) SetValue(v any) { s.value.Store(v) }

// Value returns what SetValue kept, or nil.
func (s *Session) Value() any { return s.value.Load() }

// Send queues m for the peer. It does not block. An error is a
// [*performatives.Refusal]: the outbox is full (CodeBusy), or the session has ended or
// is about to (CodeStopped). After a nil error, m is written, or the handler gets it back
// by Undelivered, unless the dialect has no words for it ([Codec].Encode).
func (s *Session) Send(m *performatives.Message) error {
	switch s.out.put(m) {
	case putFull:
		if s.core.opts.Full == FullDisconnect {
			s.step(event{what: overflown})
		}
		return &performatives.Refusal{Code: performatives.CodeBusy, About: m.ID(), Text: "the connection to the agent is congested"}
	case putSealed:
		return &performatives.Refusal{Code: performatives.CodeStopped, About: m.ID(), Text: "the connection to the agent has closed"}
	case putQueued:
	}
	return nil
}

// Stop closes the session in order: what is queued is written, each end says that it
// closes. It returns when nothing of the session is left; when ctx ends before, it ends
// the session at once and returns the cause. The handler must not call it, since it waits
// for the handler: that has Dismiss.
func (s *Session) Stop(ctx context.Context) error {
	s.step(event{what: stopping})
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
	}
	if s.over() { // whichever of the two select has looked at
		return nil
	}
	s.step(event{what: lost, err: ErrClosed})
	<-s.done
	return context.Cause(ctx)
}

// Done is closed when the session has ended and nothing of it is left.
func (s *Session) Done() <-chan struct{} { return s.done }

// Err says why the session ended, once Done is closed. Nil means in order.
func (s *Session) Err() error {
	if s.over() {
		return s.err
	}
	return nil
}

func (s *Session) over() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// run runs the session until its end.
func (s *Session) run() {
	s.guard(func() { s.core.opts.Handler.Opened(s) })
	s.arm()
	var writer sync.WaitGroup
	writer.Go(func() { s.guard(s.write) })
	s.guard(s.read)
	if s.initiator {
		close(s.answered) // no answer comes any more
	}
	writer.Wait() // it writes until the session ends
	s.finish()
}

// guard ends the session when fn panics, and nothing else: what a peer says must not be
// able to end the process, and what waits for the session's end must get it.
func (s *Session) guard(fn func()) {
	defer func() {
		if v := recover(); v != nil {
			s.logger().Error("session panicked", "err", fmt.Sprint(v), "stack", string(debug.Stack()))
			s.step(event{what: lost, err: errPanicked})
		}
	}()
	fn()
}

// finish is the last thing that happens to a session.
func (s *Session) finish() {
	s.mu.Lock()
	if s.timer != nil {
		s.timer.Stop()
	}
	s.err = s.life.reason
	s.mu.Unlock()
	for _, m := range s.unsent {
		s.undelivered(m, performatives.CodeDisconnected, "the connection to the agent was lost as the message was written")
	}
	s.unsent = nil
	for _, m := range s.out.drain() {
		s.undelivered(m, performatives.CodeStopped, "the connection to the agent has closed")
	}
	s.logEnd()
	s.guard(func() { s.core.opts.Handler.Closed(s, s.err) })
	close(s.done)
}

func (s *Session) undelivered(m *performatives.Message, code performatives.Code, text string) {
	s.core.totals.undelivered.Add(1)
	why := &performatives.Refusal{Code: code, About: m.ID(), Text: text}
	s.guard(func() { s.core.opts.Handler.Undelivered(s, m, why) })
}

// step has something happen to the session, and does what follows from it.
func (s *Session) step(e event) {
	e.at = time.Now()
	s.mu.Lock()
	do := s.life.step(e)
	if do.deaf || do.end {
		s.deaf.Store(true)
	}
	s.mu.Unlock()
	if len(do.send) > 0 {
		s.out.putFrames(do.send...) // a peer that does not read its pongs does without
	}
	if do.seal || len(do.last) > 0 {
		s.out.seal(do.last)
	}
	if do.arm {
		s.arm()
	}
	if do.end {
		s.cancel(ErrClosed)
		_ = s.conn.Close() // it is over either way
		s.out.seal(nil)
	}
}

// arm sets the timer to when the clock matters next.
func (s *Session) arm() {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.life.next()
	if next.IsZero() {
		return
	}
	d := max(0, time.Until(next))
	if s.timer == nil {
		s.timer = time.AfterFunc(d, s.tick)
		return
	}
	s.timer.Reset(d)
}

func (s *Session) tick() {
	s.step(event{what: ticked, busy: s.busy.Load()})
	s.arm()
}

// logger names the session.
func (s *Session) logger() *slog.Logger {
	return s.core.opts.Logger.With("session", s.id, "peer", s.peer.Addr)
}

func (s *Session) logEnd() {
	logger := s.logger()
	if id, ok := s.Identity(); ok {
		logger = logger.With("as", string(id.Name))
	}
	if s.err == nil {
		logger.Debug("session ended")
		return
	}
	logger.Info("session ended", "err", s.err)
}
