package codons

import (
	"context"
	"errors"
	"time"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// follow begins a stream of a codon.
func follow[T any](ctx context.Context, p Party, m *machine.Machine, act performatives.Performative, to performatives.AgentID, sub Subscription, opts []StreamOption) (*Stream[T], error) {
	o := newStreamOptions(opts)
	sub.HeartbeatMillis = max(o.heartbeat, 0).Milliseconds()
	if sub.Window = o.buffer; o.heartbeat < 0 || to.Is(p.Self().ID()) {
		sub.Window = 0 // nothing would get it going again; or the CONFIRM would come to this side
	}
	if o.budget == nil {
		o.budget = nothingOf(ctx)
	}
	s := &Stream[T]{
		party: p.Self(), machine: m, to: to, act: act, options: o, backlog: newBacklog[T](o.buffer),
		first: make(chan struct{}), done: make(chan struct{}),
		subscription: sub, status: StreamStatus{State: StreamSubscribing},
	}
	if sub.Since != nil {
		s.last = *sub.Since
	}
	s.ctx, s.leave = context.WithCancel(ctx)
	if err := s.begin(); err != nil {
		s.leave()
		return nil, err
	}
	return s, nil
}

// nothingOf is no part of the budget of the work to which ctx belongs, if it has one: a
// stream goes on beside that work, which must not find all of it leased. What informs is
// no work for it.
func nothingOf(ctx context.Context) Budget {
	none := Left(ctx)
	for r := range none {
		none[r] = 0
	}
	delete(none, Depth)
	return none
}

// awaited waits for the publisher's first word. A stream that ended before is none.
func (s *Stream[T]) awaited() (*Stream[T], error) {
	awaitEnd(s.party, s.first)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.answered {
		return nil, s.status.Cause
	}
	return s, nil
}

// begin opens the next conversation of the stream.
func (s *Stream[T]) begin() error {
	s.mu.Lock()
	sub := s.subscription
	if s.last != (Position{}) {
		since := s.last
		sub.Since = &since
	}
	s.run, s.number = "", 0
	if s.status.Breaks > 0 {
		s.options.conversation = "" // of that name the publisher may still have the one that broke
	}
	s.mu.Unlock()
	f := &followScript[T]{stream: s, asker: asker{options: s.options.options, endless: true}}
	if err := f.prepare(s.ctx, s.party, s.machine, s.to, s.act, sub); err != nil {
		return err
	}
	return f.begin(s.ctx, s.party, s.machine, f)
}

// followScript is one conversation of a stream.
type followScript[T any] struct {
	asker
	stream *Stream[T]
	heard  bool // the publisher has agreed
}

// report is told of the AGREE, and of each event.
func (f *followScript[T]) report(c *conversation, what string, m *performatives.Message) {
	if !f.heard {
		f.heard = true
		if f.stream.heard() && what == reportAgreed && f.options.agreed != nil {
			f.options.agreed()
		}
	}
	if what == reportAgreed {
		if a, err := performatives.PayloadAs[Agreed](m); err == nil && a.Stream != "" {
			f.stream.agreed(a)
		}
		return
	}
	f.event(c, m)
}

// event takes one event in. One that makes no sense is as good as lost.
func (f *followScript[T]) event(c *conversation, m *performatives.Message) {
	p, err := performatives.PayloadAs[Published](m)
	if err != nil || p.Stream == "" { // of a peer that sends the bare event
		v, err := performatives.PayloadAs[T](m)
		if err != nil {
			f.unreadable(c, m, err)
			return
		}
		f.stream.bare(v)
		return
	}
	var gone func() // what the publisher waits for
	if p.Confirm {
		gone = func() { c.tell(commandConfirm, Confirmed{Number: p.Number}) }
	}
	v, err := performatives.Decode[T](p.Value)
	switch {
	case err != nil:
		f.unreadable(c, m, err)
	case f.stream.arrived(p, v, gone):
		return
	default:
		c.drop(m, dropStale)
	}
	if gone != nil {
		gone()
	}
}

func (f *followScript[T]) unreadable(c *conversation, m *performatives.Message, err error) {
	c.self.Logger().Error("event not understood", "conversation", string(c.key.ID), "err", err)
	c.drop(m, string(performatives.CodeInvalidPayload))
}

// timer knows the heartbeat and the silence that breaks a stream. A deadline runs
// only if there is one.
func (f *followScript[T]) timer(c *conversation, name string) time.Duration {
	beat := f.stream.options.heartbeat
	switch {
	case name == timerDeadline && f.request.ReplyBy().IsZero():
		return never
	case name == timerSilence && beat > 0:
		return 3 * beat
	case name == timerSilence && c.state.State == stateSubscribing:
		return DefaultDeadline
	case name == timerSilence:
		return never
	case name == timerRetry && c.state.State == stateSubscribed && beat < 0:
		return never
	case name == timerRetry && c.state.State == stateSubscribed:
		f.retries++
		return Retry{First: beat, Max: beat}.wait(f.request.ID(), f.retries)
	}
	return f.asker.timer(c, name)
}

func (f *followScript[T]) tag(m *performatives.Message) string {
	return receiptTag(f.conversation, m)
}

// ended ends the stream, or has it go on.
func (f *followScript[T]) ended(c *conversation, last *performatives.Message) {
	err := c.endError(last)
	var end *EndError
	if errors.As(err, &end) && end.State == stateLost {
		end.Refusal = performatives.Refusal{Code: performatives.CodeTimeout, Text: "nothing was heard of the publisher any more", From: c.peer}
	}
	switch {
	case f.mends(c, end):
		f.stream.broke(err)
	default:
		f.stream.finish(err)
	}
	close(f.done)
}

// mends reports whether to ask again makes sense: not when nobody listens any more,
// the lease is over, or the publisher has said no for good.
func (f *followScript[T]) mends(c *conversation, end *EndError) bool {
	switch {
	case c.left.Load() != nil, f.request.Expired(time.Now()):
		return false
	case c.state.State == stateAbandoned, c.state.State == stateCancelled:
		return false
	case c.state.State == stateNotUnderstood:
		return false
	}
	code := end.Refusal.Code
	return code.Traits().Retry || code == performatives.CodeUnknownAgent
}

func (f *followScript[T]) abandoned(c *conversation, cause error) {
	f.asker.abandoned(c, cause)
	f.stream.finish(f.err)
}
