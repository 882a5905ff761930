package subscribe

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// newStream begins a stream of one of the two codons.
func newStream[T any](ctx context.Context, p codons.Party, c *codons.Codon, act performatives.Performative, to performatives.AgentID, sub Subscription, opts []codons.Option) (*Stream[T], error) {
	self, err := codons.SelfOf(p)
	if err != nil {
		return nil, err
	}
	o := newStreamOptions(opts)
	sub.HeartbeatMillis = max(o.heartbeat, 0).Milliseconds()
	window := min(o.buffer, max(1, self.System().Capacity()/2)) // an event that finds the conversation's mailbox full is lost
	if sub.Window = window; o.heartbeat < 0 || to.Is(self.ID()) {
		sub.Window = 0 // without a heartbeat a lost CONFIRM would stop the stream; a CONFIRM to itself would reach this side
	}
	if o.options.Budget() == nil {
		o.options.Apply(codons.WithBudget(emptyBudget(ctx)))
	}
	s := &Stream[T]{
		party: self, codon: c, to: to, act: act, options: o, backlog: newBacklog[T](o.buffer, window),
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

// emptyBudget returns a budget of nothing, if ctx belongs to work with a budget. A stream runs
// beside that work and uses nothing: without this, all of the work's budget would be leased to
// the stream.
func emptyBudget(ctx context.Context) codons.Budget {
	none := codons.BudgetLeft(ctx)
	for r := range none {
		none[r] = 0
	}
	delete(none, codons.Depth)
	return none
}

// awaited waits for the first answer of the publisher. If there was none, it returns the error.
func (s *Stream[T]) awaited() (*Stream[T], error) {
	codons.AwaitEnd(s.party, s.first)
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
		s.options.options.Apply(codons.WithConversation("")) // a new id: the publisher may still have the conversation that broke
	}
	s.mu.Unlock()
	f := &subscriberSide[T]{stream: s}
	return f.Start(s.ctx, s.party, codons.Opening{
		Codon: s.codon, To: s.to, Act: s.act, Payload: sub, Options: s.options.options, LongLived: true,
	}, f)
}

// subscriberSide is the initiator's side of one conversation of a stream.
type subscriberSide[T any] struct {
	codons.InitiatorSide
	stream *Stream[T]
	beats  int  // number of heartbeats so far
	heard  bool // the publisher has agreed
}

// subscriberData is what the subscriber's side keeps.
type subscriberData struct {
	Asked any `json:"asked"`
	Beats int `json:"beats"`
}

// Data returns what Reduce keeps.
func (f *subscriberSide[T]) Data() any { return subscriberData{f.InitiatorSide.Data(), f.beats} }

// Reduce counts the heartbeats.
func (f *subscriberSide[T]) Reduce(v *codons.Value, e *codons.Input) {
	f.InitiatorSide.Reduce(v, e)
	if e.Arms(machine.TimerRetry) && v.State() == stateSubscribed {
		f.beats++
	}
}

// Report handles the AGREE and each event.
func (f *subscriberSide[T]) Report(c *codons.Conversation, what string, m *performatives.Message) {
	if !f.heard {
		f.heard = true
		if f.stream.heard() && what == standard.ReportAgreed {
			f.Options().Agreed()
		}
	}
	if what == standard.ReportAgreed {
		if a, err := performatives.PayloadAs[Agreed](m); err == nil && a.Stream != "" {
			f.stream.agreed(a)
		}
		return
	}
	f.event(c, m)
}

// event handles one event. An unreadable event is dropped and counted as lost.
func (f *subscriberSide[T]) event(c *codons.Conversation, m *performatives.Message) {
	p, err := performatives.PayloadAs[Published](m)
	if err != nil || p.Stream == "" { // a peer that sends the event itself, without Published
		v, err := performatives.PayloadAs[T](m)
		if err != nil {
			f.unreadable(c, m, err)
			return
		}
		f.stream.bare(v)
		return
	}
	var gone func() // sends the CONFIRM that the publisher asks for
	if p.Confirm {
		gone = func() { c.Tell(codons.Command{Name: commandConfirm, Data: Confirmed{Number: p.Number}}) }
	}
	v, err := performatives.Decode[T](p.Value)
	switch {
	case err != nil:
		f.unreadable(c, m, err)
	case f.stream.arrived(p, v, gone):
		return
	default:
		c.Drop(m, machine.DropStale)
	}
	if gone != nil {
		gone()
	}
}

func (f *subscriberSide[T]) unreadable(c *codons.Conversation, m *performatives.Message, err error) {
	c.Agent().Logger().Error("event is not readable", "conversation", string(c.ID()), "err", err)
	c.Drop(m, string(performatives.CodeInvalidPayload))
}

// Timer returns the period of the heartbeat, the silence that breaks a stream, and the deadline, if
// there is one.
func (f *subscriberSide[T]) Timer(v *codons.Value, name string, now time.Time) time.Duration {
	beat := DefaultHeartbeat
	if f.stream != nil {
		beat = f.stream.options.heartbeat
	}
	switch {
	case name == machine.TimerDeadline && v.First().ReplyBy().IsZero():
		return codons.Never
	case name == timerSilence && beat > 0:
		return 3 * beat
	case name == timerSilence && v.State() == stateSubscribing:
		return codons.DefaultDeadline
	case name == timerSilence, name == machine.TimerRetry && v.State() == stateSubscribed && beat < 0:
		return codons.Never
	case name == machine.TimerRetry && v.State() == stateSubscribed:
		return codons.Retry{First: beat, Max: beat}.Wait(v.First().ID(), f.beats)
	case name == machine.TimerRetry && v.State() == stateSubscribing && beat > 0: // each repetition gets a sign of life, before the silence is too long
		if wait := f.InitiatorSide.Timer(v, name, now); wait != codons.Never {
			return min(wait, beat)
		}
		return codons.Never
	}
	return f.InitiatorSide.Timer(v, name, now)
}

// Ended ends the stream or, after a break, subscribes again.
func (f *subscriberSide[T]) Ended(c *codons.Conversation, last *performatives.Message) {
	err := c.EndError(last)
	var end *codons.EndError
	if errors.As(err, &end) && end.State == stateLost {
		end.Refusal = performatives.Refusal{Code: performatives.CodeTimeout, Text: "no answer of the publisher came in time", From: c.Peer()}
	}
	if f.resumes(c, end) {
		f.stream.broke(err)
	} else {
		f.stream.finish(err)
	}
	f.Close(err)
}

// resumes reports whether the stream subscribes again. It does not if the caller has left, the
// lease has ended, or the publisher's refusal is final.
func (f *subscriberSide[T]) resumes(c *codons.Conversation, end *codons.EndError) bool {
	final := []machine.State{standard.StateAbandoned, standard.StateCancelled, standard.StateNotUnderstood}
	if c.Withdrawn() || f.Request().Expired(time.Now()) || slices.Contains(final, c.State()) {
		return false
	}
	code := end.Refusal.Code
	return code.Traits().Retry || code == performatives.CodeUnknownAgent
}

// Abandoned ends the stream.
func (f *subscriberSide[T]) Abandoned(c *codons.Conversation, cause error) {
	f.InitiatorSide.Abandoned(c, cause)
	f.stream.finish(f.Err())
}
