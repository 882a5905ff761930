package subscribe

import (
	"context"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Subscribing is a [Subscription] and its circumstances.
type Subscribing struct {
	Subscription
	Message *performatives.Message // the opening act: its Sender subscribes, its ReplyBy is the lease
	Agent   actors.Self            // the handle of the agent that decides
}

// newPublisher returns the responder of an agent in one of the two codons.
func newPublisher(self actors.Self, agent actors.Agent, c *codons.Codon, t codons.Times, consider func(context.Context, Subscribing) (Feed, error)) *codons.Responder {
	return codons.NewResponder(self, agent, codons.ResponderOptions{
		Codon: c, Times: t, LongLived: true,
		Consider: &codons.Consideration{
			Job: standard.JobConsider, Holds: []string{standard.CommandAgree},
			Do: func(codons.Side) func(context.Context, *performatives.Message) codons.Command {
				return func(ctx context.Context, m *performatives.Message) codons.Command {
					return considerSubscription(ctx, self, m, consider)
				}
			},
		},
	})
}

// considerSubscription asks the agent about a subscription. The Data of the command is the feed.
func considerSubscription(ctx context.Context, self actors.Self, m *performatives.Message, consider func(context.Context, Subscribing) (Feed, error)) codons.Command {
	sub, err := performatives.PayloadAs[Subscription](m)
	if err != nil {
		return codons.TurnDown(err)
	}
	f, err := consider(ctx, Subscribing{Subscription: sub, Message: m, Agent: self})
	switch {
	case err != nil:
		return codons.TurnDown(err)
	case f.topic == nil:
		return codons.TurnDown(&performatives.Refusal{Code: performatives.CodeIncapable})
	}
	return codons.Command{Name: standard.CommandAgree, Data: f}
}

// An event that finds the mailbox of the subscriber's agent full is sent again after a time that
// grows from busyRetry to maxBusyRetry.
const (
	busyRetry    = 10 * time.Millisecond
	maxBusyRetry = time.Second
)

// burst is the number of events that are sent in a row before the conversation handles other
// messages.
const burst = 64

// publisherSide is the responder's side of one subscription.
type publisherSide struct {
	*codons.ResponderSide
	subscription Subscription

	// The rest says which event is sent when. It is not recorded: the messages carry the
	// results.
	feed     Feed
	queue    *queue // nil before the AGREE
	agreed   Agreed
	progress                        // including the latest event
	before   progress               // before the latest event
	event    entry                  // the latest event that was sent
	lost     uint64                 // events dropped before this one
	busy     *performatives.Refusal // of the event, by the subscriber's agent whose mailbox was full; nil for none
	refused  int                    // number of such refusals in a row
	row      int                    // number of events sent in a row
}

// Data returns the subscription, which is all that Reduce keeps.
func (s *publisherSide) Data() any { return s.subscription }

// progress says which events were sent and confirmed.
// Invariant: confirmed <= number, asked <= number.
type progress struct {
	number    uint64 // Number of the latest event
	confirmed uint64 // Number of the latest confirmed event, plus events dropped since
	asked     uint64 // Number of the latest event that asked for a CONFIRM, plus events dropped since
	held      bool   // no event is sent before a CONFIRM
}

// Reduce records the subscription.
func (s *publisherSide) Reduce(v *codons.Value, e *codons.Input) {
	if e.Message != nil && e.Message == v.Request() {
		s.subscription, _ = performatives.PayloadAs[Subscription](e.Message) // an invalid one is turned down by considerSubscription
	}
}

// Run applies the decision: a feed is joined and agreed to.
func (s *publisherSide) Run(c *codons.Conversation, _ string) {
	d := s.Decided()
	feed, ok := d.Data.(Feed)
	if !ok {
		c.Happen(d)
		return
	}
	q := &queue{
		wake: func() { c.Do(func() { s.publish(c) }) }, panicked: func(v any, stack []byte) { c.Panicked("", v, stack) },
		end: func(why performatives.Failure) { c.Tell(codons.Command{Name: commandClose, Data: why}) },
	}
	agreed, err := feed.join(q, s.subscription.Since, string(c.Agent().Stamp().ID))
	if err != nil {
		c.Happen(codons.TurnDown(err))
		return
	}
	s.feed, s.queue, s.agreed = feed, q, agreed
	c.Happen(codons.Command{Name: standard.CommandAgree, Data: agreed})
	s.resume(c)
}

// resume sends the next event, if there is one.
func (s *publisherSide) resume(c *codons.Conversation) {
	if s.queue.release() {
		s.publish(c)
	}
}

// publish sends the oldest event. The queue must not be empty.
func (s *publisherSide) publish(c *codons.Conversation) {
	if !c.Over() {
		c.Happen(codons.Command{Name: commandPublish, Data: s.next()})
	}
}

// Compose returns the FAILURE to a silent subscriber, and the sign of life while the agent decides.
func (s *publisherSide) Compose(v *codons.Value, f machine.Effect, e *codons.Input) any {
	if f.Act == performatives.ActStatusUpdate {
		return performatives.StatusUpdate{Description: "the publisher has not decided yet"}
	}
	if f.Act == performatives.ActFailure && e.Data == nil && v.State() == stateLost {
		return performatives.Failure{ErrorCode: performatives.CodeTimeout, ErrorText: "no heartbeat of the subscriber came in time"}
	}
	return s.ResponderSide.Compose(v, f, e)
}

// Send removes the subscriber's queue before the message that ends the conversation is sent.
func (s *publisherSide) Send(c *codons.Conversation, m *performatives.Message) {
	if c.Ended() {
		s.detach()
	}
	s.ResponderSide.Send(c, m)
}

// next takes the oldest event and returns it as a message.
func (s *publisherSide) next() Published {
	window := s.subscription.window()
	e, lost := s.queue.take()
	s.before, s.event, s.lost = s.progress, e, lost
	s.number += lost + 1
	s.confirmed, s.asked = s.confirmed+lost, s.asked+lost // dropped events need no confirmation
	p := Published{
		Position: Position{s.agreed.From.Epoch, e.seq}, Stream: s.agreed.Stream,
		Number: s.number, Lost: lost, Resumed: s.agreed.Resumed, Value: performatives.ContentOf(e.value),
	}
	s.held = window > 0 && s.number-s.confirmed >= window
	if window > 0 && (s.held || s.number-s.asked >= (window+1)/2) {
		p.Confirm, s.asked = true, s.number
	}
	return p
}

// afterSent decides what follows after an event was sent, or was refused as busy.
func (s *publisherSide) afterSent(c *codons.Conversation) {
	s.row++
	switch why := s.queue.closed(); {
	case s.busy != nil:
		wait := codons.Retry{First: busyRetry, Max: maxBusyRetry}.WaitAfter(s.busy, c.Request().ID(), s.refused+1)
		s.busy, s.row = nil, 0
		s.refused++
		c.Agent().System().AfterFunc(wait, func() { c.Do(func() { s.publish(c) }) })
		return
	case why != nil:
		c.Happen(codons.Command{Name: commandClose, Data: *why})
	case s.held, !s.queue.release():
		s.row = 0
	case s.row < burst:
		s.publish(c)
	default:
		s.row = 0
		c.Do(func() { s.publish(c) }) // after messages that wait already
	}
	s.refused = 0
}

// Report handles a CONFIRM and a heartbeat. A CONFIRM may have been lost, so a heartbeat allows
// one more event, which asks for another CONFIRM.
func (s *publisherSide) Report(c *codons.Conversation, what string, m *performatives.Message) {
	switch {
	case what == reportSent:
		s.afterSent(c)
		return
	case what == reportConfirmed:
		p, err := performatives.PayloadAs[Confirmed](m)
		if err != nil || p.Number > s.number {
			c.Drop(m, machine.DropUnexpected)
			return
		}
		s.confirmed = max(s.confirmed, p.Number)
	case s.held:
		s.confirmed = max(s.confirmed, s.number+1-s.subscription.window())
	}
	if s.held && s.number-s.confirmed < s.subscription.window() {
		s.held = false
		s.resume(c)
	}
}

// Undelivered puts an event back that was refused as busy, and ends the subscription of an agent
// that does not exist any more.
func (s *publisherSide) Undelivered(c *codons.Conversation, m *performatives.Message, r *performatives.Refusal) {
	if r.Code == performatives.CodeBusy && m.Performative() == performatives.ActInform {
		s.queue.putBack(s.event, s.lost)
		s.progress, s.busy = s.before, r
		return
	}
	if s.queue != nil && (r.Code == performatives.CodeUnknownAgent || r.Code == performatives.CodeStopped) {
		c.Happen(codons.Command{Name: commandClose, Data: performatives.Failure{ErrorCode: r.Code, ErrorText: r.Text}})
	}
}

// Timer returns the lease, which runs only for a subscriber with a heartbeat, and the deadline.
func (s *publisherSide) Timer(v *codons.Value, name string, now time.Time) time.Duration {
	switch by := v.Request().ReplyBy(); {
	case name == timerLease && s.subscription.HeartbeatMillis > 0:
		return 4 * s.subscription.heartbeat()
	case name == machine.TimerDeadline && !by.IsZero():
		return by.Sub(now)
	}
	return codons.Never
}

// Ended removes the subscriber's queue.
func (s *publisherSide) Ended(c *codons.Conversation, last *performatives.Message) {
	s.detach()
	s.ResponderSide.Ended(c, last)
}

// Abandoned removes the subscriber's queue.
func (s *publisherSide) Abandoned(c *codons.Conversation, cause error) {
	s.detach()
	s.ResponderSide.Abandoned(c, cause)
}

// detach removes the queue from the topic. A second call does nothing.
func (s *publisherSide) detach() {
	if s.queue != nil {
		s.feed.topic.detach(s.queue)
	}
}
