package codons

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// bidScript is the bidder's side of one conversation.
type bidScript struct {
	counter   *counter
	call      Call
	proposals []Proposal            // of all rounds
	handler   *handler              // the latest; nil before the first
	place     atomic.Pointer[place] // held while the proposal binds the agent, and no handler runs
	retries   int
}

func (s *bidScript) run(c *conversation, job string) {
	if job == jobPerform {
		s.start(c, s.place.Swap(nil), s.perform(c))
		return
	}
	call, err := performatives.PayloadAs[Call](c.request)
	switch {
	case err != nil:
		name, data := turndown(err)
		c.happen(happening{on: machine.Command(name), data: data})
	case c.request.Expired(time.Now()):
		s.decline(c, performatives.CodeExpired, "")
	default:
		s.call = call
		s.bid(c)
	}
}

// bid has the agent consider the call, if it has room for the task.
func (s *bidScript) bid(c *conversation) {
	p := s.place.Swap(nil)
	if p == nil {
		p = s.counter.take()
	}
	if p == nil {
		s.decline(c, performatives.CodeBusy, s.counter.full())
		return
	}
	s.start(c, p, s.consider(c, p))
}

func (s *bidScript) start(c *conversation, p *place, work func(context.Context, *handler) (string, any)) {
	h, err := newHandler(c, s.counter.times.deadline(c.request), p, work)
	if err != nil {
		p.giveBack()
		name, data := turndown(err)
		c.happen(happening{on: machine.Command(name), data: data})
		return
	}
	s.handler = h
	c.self.System().Work(h.run)
}

func (s *bidScript) decline(c *conversation, code performatives.Code, text string) {
	s.leave()
	c.happen(happening{
		on:   machine.Command(commandRefuse),
		data: performatives.Refuse{ReasonCode: code, ReasonText: text},
	})
}

// consider is the handler that bids. What it proposes keeps its place.
func (s *bidScript) consider(c *conversation, p *place) func(context.Context, *handler) (string, any) {
	call := Called{Call: s.call, Message: c.request, Agent: c.self, Previous: slices.Clone(s.proposals)}
	otherwise := c.request.ReplyBy().Add(s.counter.times.Deadline)
	return func(ctx context.Context, h *handler) (string, any) {
		proposal, err := s.counter.bidder.ConsiderCall(ctx, call)
		if err != nil {
			return turndown(err)
		}
		if proposal.ValidUntil.IsZero() {
			proposal.ValidUntil = proposal.until(call.ResultBy)
		}
		if proposal.ValidUntil.IsZero() {
			proposal.ValidUntil = otherwise
		}
		name, data := c.answerWith(commandPropose, performatives.ActPropose, proposal)
		if name == commandPropose {
			h.place = nil
			s.place.Store(p)
			if c.Over() { // it has perhaps looked for the place too early
				s.leave()
			}
		}
		return name, data
	}
}

// perform is the handler that does what was awarded.
func (s *bidScript) perform(c *conversation) func(context.Context, *handler) (string, any) {
	award := Awarded{Call: s.call, Proposal: s.latest(), Message: c.request, Agent: c.self}
	return func(ctx context.Context, _ *handler) (string, any) {
		result, err := s.counter.bidder.PerformAward(ctx, award)
		if err != nil {
			return commandFail, failureOf(err)
		}
		return c.answerWith(commandFinish, performatives.ActInformResult, result)
	}
}

func (s *bidScript) latest() Proposal { return s.proposals[len(s.proposals)-1] }

// leave gives back the place of a bid that no handler works on.
func (s *bidScript) leave() { s.place.Swap(nil).giveBack() }

// stop ends the handler's context.
func (s *bidScript) stop(c *conversation, _ string) {
	if s.handler != nil { // the agent may stop as it declines
		s.handler.cancel(c.cause())
	}
}

func (s *bidScript) payload(c *conversation, e machine.Effect, data any) any {
	switch {
	case e.Name == tagReceipt:
		s.leave() // before the caller learns of it
		return receipt
	case e.Act == performatives.ActPropose:
		s.retries = 0
		s.proposals = append(s.proposals, data.(Proposal)) //nolint:forcetypeassert // consider made it
	case e.Name == tagLapsed:
		return performatives.Failure{ErrorCode: performatives.CodeExpired, ErrorText: "the proposal was valid until now"}
	case e.Act == performatives.ActFailure && data == nil:
		return c.failure()
	}
	return unlapsed(data)
}

// unlapsed keeps the code by which a caller knows that a proposal has lapsed from the
// failures of handlers.
func unlapsed(data any) any {
	if f, ok := data.(performatives.Failure); ok && f.ErrorCode == performatives.CodeExpired {
		f.ErrorCode = performatives.CodeTimeout
		return f
	}
	return data
}

func (s *bidScript) report(*conversation, string, *performatives.Message) {}

func (s *bidScript) timer(c *conversation, name string) time.Duration {
	switch {
	case name == timerRetry:
		s.retries++
		return Retry{}.wait(c.request.ID(), s.retries)
	case name == timerDeadline && c.state.State == stateProposed:
		return time.Until(s.latest().ValidUntil)
	}
	return s.counter.times.timer(c, name)
}

func (s *bidScript) tag(*performatives.Message) string { return "" }

// ended gives back what the conversation holds, and has an eye on a handler that
// outlives it.
func (s *bidScript) ended(*conversation, *performatives.Message) {
	s.leave()
	s.handler.leaveBehind(s.counter.times.Grace)
}

func (s *bidScript) abandoned(*conversation, error) {}
