package codons

import (
	"context"
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Subscribing is who wants to be informed, and of what.
type Subscribing struct {
	Subscription
	Message *performatives.Message // who asks, until when, in which ontology
	Agent   actors.Self            // the handle of the agent that was asked
}

// newsroom is the answering side of one agent in a codon of the stream family.
type newsroom struct {
	places
	times    Times
	self     actors.Self
	machine  *machine.Machine
	consider func(ctx context.Context, s Subscribing) (Feed, error)
}

func newNewsroom(self actors.Self, agent actors.Agent, m *machine.Machine, t Times, consider func(context.Context, Subscribing) (Feed, error)) *newsroom {
	return &newsroom{
		places: places{limit: limitOf(agent)}, times: t.withDefaults(), self: self, machine: m, consider: consider,
	}
}

// Open begins the conversation of a subscriber. This is the agent's own actor, so the
// decision needs no way round.
func (n *newsroom) Open(m *performatives.Message) actors.Conversation {
	s := &publishScript{room: n}
	if m.Performative() != performatives.ActCancel {
		s.subscription, s.feed, s.place, s.err = n.decide(m)
	}
	c := newAnswering(n.self, n.machine, m, s)
	c.stands = true
	return c
}

// decide asks the agent about a subscriber. One that is taken on has its place.
func (n *newsroom) decide(m *performatives.Message) (sub Subscription, f Feed, p *place, err error) {
	if sub, err = performatives.PayloadAs[Subscription](m); err != nil {
		return sub, f, nil, err
	}
	if m.Expired(time.Now()) {
		return sub, f, nil, &performatives.Refusal{Code: performatives.CodeExpired}
	}
	if p = n.take(); p == nil {
		return sub, f, nil, &performatives.Refusal{Code: performatives.CodeBusy, Text: fmt.Sprintf("there are %d subscriptions, which is the limit", n.limit)}
	}
	defer func() { // also when the agent panics
		if f.board == nil {
			p.giveBack()
		}
	}()
	f, err = n.consider(considering(n.times.deadline(m), m), Subscribing{Subscription: sub, Message: m, Agent: n.self})
	switch {
	case err != nil:
		f = Feed{}
	case f.board == nil:
		err = &performatives.Refusal{Code: performatives.CodeIncapable}
	}
	return sub, f, p, err
}

// An event for which the subscriber's agent has no room is sent again, after a time that
// grows from the one to the other.
const (
	crowdedRetry    = 10 * time.Millisecond
	crowdedRetryMax = time.Second
)

// burst is how many events are sent in a row before the conversation looks at what
// else has come.
const burst = 64

// publishScript is the responder of one subscriber.
type publishScript struct {
	room         *newsroom
	subscription Subscription
	feed         Feed
	place        *place
	err          error // why the subscriber is turned down

	outlet  *outlet // nil before the AGREE
	agreed  Agreed
	sent           // so far
	before  sent   // the latest event
	event   entry  // the latest
	lost    uint64 // before it
	crowded bool   // the subscriber's agent had no room for it
	turned  int    // how often that was so in a row
	row     int    // sent in a row
}

// sent is how far a subscriber has been informed.
type sent struct {
	number    uint64 // of the latest event
	confirmed uint64 // of the latest that has come, and what was lost here since
	asked     uint64 // of the latest of which that was to be said
	held      bool   // no more is sent before something is confirmed
}

// run gives the decision, and lets the subscriber in.
func (s *publishScript) run(c *conversation, _ string) {
	err := s.err
	if err == nil {
		o := &outlet{tell: c.tell, panicked: c.panicked}
		if s.agreed, err = s.feed.attach(o, s.subscription.Since, string(c.self.Stamp().ID)); err == nil {
			s.outlet = o
		}
	}
	if err != nil {
		name, data := turndown(err)
		c.happen(happening{on: machine.Command(name), data: data})
		return
	}
	c.happen(happening{on: machine.Command(commandAgree), data: s.agreed})
	s.goOn(c)
}

// goOn sends what waits.
func (s *publishScript) goOn(c *conversation) {
	if s.outlet.release() {
		c.happen(happening{on: machine.Command(commandPublish)})
	}
}

func (s *publishScript) payload(c *conversation, e machine.Effect, data any) any {
	switch {
	case e.Name == tagReceipt:
		s.leave() // before the subscriber learns of it
		return receipt
	case e.Act == performatives.ActInform:
		return s.next()
	case e.Act == performatives.ActFailure:
		s.leave()
		if data == nil {
			return s.failure(c)
		}
	}
	return data
}

// next is the oldest event that waits.
func (s *publishScript) next() Published {
	window := s.subscription.window()
	e, lost := s.outlet.take()
	s.before, s.event, s.lost = s.sent, e, lost
	s.number += lost + 1
	s.confirmed, s.asked = s.confirmed+lost, s.asked+lost // what was never sent is not under way
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

// follow sees to what comes after an event.
func (s *publishScript) follow(c *conversation) {
	s.row++
	switch why := s.outlet.closed(); {
	case s.crowded:
		s.crowded, s.row = false, 0
		s.turned++
		wait := Retry{First: crowdedRetry, Max: crowdedRetryMax}.wait(c.request.ID(), s.turned)
		c.self.System().AfterFunc(wait, func() { c.tell(commandPublish, nil) })
		return
	case why != nil:
		c.happen(happening{on: machine.Command(commandClose), data: *why})
	case s.held:
		s.row = 0
	case !s.outlet.release():
		s.row = 0
	case s.row < burst:
		c.happen(happening{on: machine.Command(commandPublish)})
	default:
		s.row = 0
		c.tell(commandPublish, nil) // behind what else has come
	}
	s.turned = 0
}

// failure is what the table reports of its own accord.
func (s *publishScript) failure(c *conversation) performatives.Failure {
	f := c.failure()
	if c.state.State == stateLost {
		f.ErrorCode, f.ErrorText = performatives.CodeTimeout, "nothing was heard of the subscriber any more"
	}
	return f
}

// report is told that the subscriber has room for more, or that it asks whether the
// publisher lives. What was under way then has perhaps been lost, so one event more
// may go, to find out.
func (s *publishScript) report(c *conversation, what string, m *performatives.Message) {
	switch {
	case what == reportSent:
		s.follow(c)
		return
	case what == reportConfirmed:
		p, err := performatives.PayloadAs[Confirmed](m)
		if err != nil || p.Number > s.number {
			c.drop(m, dropUnexpected)
			return
		}
		s.confirmed = max(s.confirmed, p.Number)
	case s.held:
		s.confirmed = max(s.confirmed, s.number+1-s.subscription.window())
	}
	if s.held && s.number-s.confirmed < s.subscription.window() {
		s.held = false
		s.goOn(c)
	}
}

// undelivered has an event for which there is no room wait, and ends the subscription of
// an agent that is not there any more.
func (s *publishScript) undelivered(c *conversation, m *performatives.Message, r *performatives.Refusal) {
	if r.Code == performatives.CodeBusy && m.Performative() == performatives.ActInform {
		s.outlet.putBack(s.event, s.lost)
		s.sent, s.crowded = s.before, true
		return
	}
	if s.outlet != nil && (r.Code == performatives.CodeUnknownAgent || r.Code == performatives.CodeStopped) {
		c.happen(happening{on: machine.Command(commandClose), data: performatives.Failure{ErrorCode: r.Code, ErrorText: r.Text}})
	}
}

// timer knows the lease, which has its time only for a subscriber with a heartbeat.
func (s *publishScript) timer(c *conversation, name string) time.Duration {
	switch by := c.request.ReplyBy(); {
	case name == timerLease && s.subscription.HeartbeatMillis > 0:
		return 4 * s.subscription.heartbeat()
	case name == timerDeadline && !by.IsZero():
		return time.Until(by)
	}
	return never
}

func (s *publishScript) stop(*conversation, string) {}

func (s *publishScript) tag(*performatives.Message) string { return "" }

func (s *publishScript) ended(*conversation, *performatives.Message) { s.leave() }

func (s *publishScript) abandoned(*conversation, error) { s.leave() }

// leave gives back what the subscriber had. Doing it again does nothing.
func (s *publishScript) leave() {
	if s.outlet != nil {
		s.feed.board.detach(s.outlet)
	}
	s.place.giveBack()
}
