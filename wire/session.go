package wire

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Session is one connection to a peer: a transport that moves frames, a dialect that converts
// them to messages, and the rules for both. Its methods are safe for concurrent use.
type Session struct {
	id            string
	conn          Conn
	peer          Peer
	core          *core
	initiator     bool
	out           *outbox
	language      atomic.Pointer[language] // nil until a frame has decided it
	reading       *language                // of the current frame; of the reader
	recognized    bool                     // reading has recognized the current frame; of the reader, until language is decided
	identity      atomic.Pointer[Identity] // nil until the peer has authenticated
	gate          gate                     // of the reader
	long          bool                     // the current frame has longFrame bytes or more; of the reader
	unanswered    rate.Sometimes           // limits the log of refusals that the peer does not hear; of the reader
	readStopped   atomic.Bool              // further frames of the peer are discarded
	busy          atomic.Bool              // the reader handles a frame
	unsent        []*performatives.Message // of the writer, then of finish
	offering      atomic.Bool              // the writer waits for offerAnswered
	offerAnswered chan struct{}            // signals the answer to an offer, closed when none can arrive; nil unless this end opened the connection

	mu        sync.Mutex
	lifecycle lifecycle
	timer     *time.Timer

	ctx    context.Context         //nolint:containedctx // ends with the session
	cancel context.CancelCauseFunc // ends ctx
	done   chan struct{}           // closed after the last goroutine and handler call
	err    error                   // valid after done is closed
	value  atomic.Value            // set by the handler
}

// language is the dialect of a session with its codec.
type language struct {
	dialect Dialect
	codec   Codec
}

// newSession returns a session that is not running yet.
func newSession(c *core, conn Conn, id *Identity, initiator bool) *Session {
	now := time.Now()
	s := &Session{
		id: fmt.Sprintf("%s-%d", conn.Peer().Transport, c.sessions.Add(1)), conn: conn, peer: conn.Peer(), core: c,
		initiator: initiator, out: newOutbox(c.opts.Limits), done: make(chan struct{}),
		unanswered: rate.Sometimes{First: 3, Interval: time.Minute},
	}
	if initiator {
		s.offerAnswered = make(chan struct{}, 1)
	}
	s.gate.init(c.opts, id)
	s.lifecycle = lifecycle{state: stateOpening, keep: c.opts.KeepAlive, closeTime: c.opts.Limits.CloseTime, lastReceived: now}
	s.ctx, s.cancel = context.WithCancelCause(context.Background()) //nolint:forbidigo // a session outlives the call that started it
	switch {
	case id != nil:
		s.identity.Store(id)
		s.lifecycle.state = stateOpen
	case initiator || c.opts.Anonymous:
		s.lifecycle.state = stateOpen
	default:
		s.lifecycle.authDeadline = now.Add(c.opts.AuthTime)
	}
	if s.lifecycle.state == stateOpen {
		conn.SetLimit(c.opts.Limits.Frame)
	} else {
		conn.SetLimit(c.opts.Limits.Unauthenticated)
	}
	return s
}

// ID returns the session's name in logs. It is unique within the server.
func (s *Session) ID() string { return s.id }

// Peer returns the transport's description of the peer.
func (s *Session) Peer() Peer { return s.peer }

// Identity returns the identity that the connection or the peer's last token proved, and
// whether there is one.
func (s *Session) Identity() (Identity, bool) {
	if id := s.identity.Load(); id != nil {
		return *id, true
	}
	return Identity{}, false
}

// SenderIsLabel reports whether the dialect of the session is [LabelDialect], and the sender of a
// message from the peer is a label.
func (s *Session) SenderIsLabel(m *performatives.Message) bool {
	if l := s.language.Load(); l != nil {
		d, ok := l.dialect.(LabelDialect)
		return ok && d.SenderIsLabel(m)
	}
	return false
}

// Services returns the names of services in the dialects of the server or client: see
// [ServiceNamer].
func (s *Session) Services() (all []performatives.AgentID) {
	for _, d := range s.core.opts.Dialects {
		if n, ok := d.(ServiceNamer); ok {
			all = append(all, n.Services()...)
		}
	}
	return all
}

// Requests returns the requests of an agent of the peer that have no answer yet, for
// [Session.Adopt] of another session, also of one of another node. It returns nil if the dialect
// needs none to write the answers.
func (s *Session) Requests(agent performatives.AgentID) []byte {
	l := s.language.Load()
	if l == nil {
		return nil
	}
	c, ok := l.codec.(HandoverCodec)
	if !ok {
		return nil
	}
	requests, err := c.Requests(agent)
	if err != nil {
		s.logger().Warn("the answers to an agent do not follow it to another connection", "agent", agent, "err", err)
	}
	return requests
}

// Adopt lets the session write the answers to requests over another session. The agent of the
// requests has left that session for this one. It has no effect on sessions of two dialects.
func (s *Session) Adopt(dialect string, requests []byte) {
	l := s.language.Load()
	if l == nil || l.dialect.Name() != dialect || requests == nil {
		return
	}
	if c, ok := l.codec.(HandoverCodec); ok {
		if err := c.Adopt(requests); err != nil {
			s.logger().Warn("the answers to an agent do not follow it to another connection", "err", err)
		}
	}
}

// Dialect returns the name of the session's dialect. It is empty until the peer has sent a frame
// that decides it: one that a dialect recognizes, or a message.
func (s *Session) Dialect() string {
	if l := s.language.Load(); l != nil {
		return l.dialect.Name()
	}
	return ""
}

// SetValue stores a value of the handler with the session. All values must have the same
// type.
func (s *Session) SetValue(v any) { s.value.Store(v) }

// Value returns the value of the last SetValue, or nil.
func (s *Session) Value() any { return s.value.Load() }

// Send queues m for the peer. It does not block. An error is a [*performatives.Refusal]:
// CodeBusy when the outbox is full, CodeStopped when the session has ended or is closing.
// After a nil error, m is written or returned through [Handler].Undelivered, unless the
// dialect cannot express m and drops it (see [Codec].Encode).
func (s *Session) Send(m *performatives.Message) error {
	switch s.out.put(m) {
	case putFull:
		return &performatives.Refusal{Code: performatives.CodeBusy, About: m.ID(), Text: "the connection to the agent is congested"}
	case putSealed:
		return &performatives.Refusal{Code: performatives.CodeStopped, About: m.ID(), Text: "the connection to the agent has closed"}
	case putQueued:
	}
	return nil
}

// Wait returns how long messages wait at present from Send until they are written. It is zero while
// few of them wait.
func (s *Session) Wait() time.Duration { return s.out.wait.Delay() }

// Stop closes the session in order: it writes the queued messages and exchanges close frames.
// It blocks until nothing of the session is running. When ctx ends first, Stop ends the
// session immediately and returns the cause. The handler must not call Stop, because Stop
// waits for the handler: see Dismiss.
func (s *Session) Stop(ctx context.Context) error {
	s.step(event{kind: stopRequested})
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
	}
	if s.ended() { // when both channels are ready, select picks either
		return nil
	}
	s.step(event{kind: connectionLost, err: ErrClosed})
	<-s.done
	return context.Cause(ctx)
}

// Done returns a channel that is closed after the session has ended and its last handler call
// has returned.
func (s *Session) Done() <-chan struct{} { return s.done }

// Err returns why the session ended. It returns nil before Done is closed, and when the
// session ended in order.
func (s *Session) Err() error {
	if s.ended() {
		return s.err
	}
	return nil
}

func (s *Session) ended() bool {
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
		close(s.offerAnswered) // no answer can arrive
	}
	writer.Wait() // the writer returns when the session ends
	s.finish()
}

// guard ends only this session when fn panics. Input from a peer must not end the process,
// and callers that wait for the session's end must not wait forever.
func (s *Session) guard(fn func()) {
	defer func() {
		if v := recover(); v != nil {
			s.logger().Error("session panicked", "err", fmt.Sprint(v), "stack", string(debug.Stack()))
			s.step(event{kind: connectionLost, err: errPanicked})
		}
	}()
	fn()
}

// finish returns the undelivered messages and reports the end to the handler.
func (s *Session) finish() {
	s.mu.Lock()
	if s.timer != nil {
		s.timer.Stop()
	}
	s.err = s.lifecycle.reason
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

// step applies an event to the state machine and performs its effects.
func (s *Session) step(e event) {
	e.at = time.Now()
	s.mu.Lock()
	do := s.lifecycle.step(e)
	if do.stopReading || do.end {
		s.readStopped.Store(true)
	}
	s.mu.Unlock()
	if len(do.send) > 0 {
		s.out.putFrames(do.send...) // pongs are dropped when the outbox has no space
	}
	if do.seal || len(do.last) > 0 {
		s.out.seal(do.last)
	}
	if do.arm {
		s.arm()
	}
	if do.end {
		s.cancel(ErrClosed)
		_ = s.conn.Close() // the session ends regardless of the error
		s.out.seal(nil)
	}
}

// arm sets the timer to the state machine's next deadline.
func (s *Session) arm() {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.lifecycle.next()
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
	s.step(event{kind: timerFired, busy: s.busy.Load()})
	s.arm()
}

// logger returns a logger with the session's id and the peer's address.
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
