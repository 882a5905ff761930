package contractnet

import (
	"context"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Bidder is an agent that bids for tasks: the responder of [Table] and [IteratedTable].
// Both methods run on goroutines of the conversation, concurrently with others. They
// must not touch the agent's fields other than by [actors.Self.Do], and should return
// soon after the end of ctx.
type Bidder interface {
	actors.Agent
	// ConsiderCall returns the cost for which the agent would do the task. The proposal
	// binds the agent until its ValidUntil, and holds one of the agent's slots
	// ([codons.TaskLimiter]). It is called once for each round.
	//
	// A [*performatives.Refusal] is sent with its code and text, as REFUSE,
	// NOT_UNDERSTOOD or FAILURE, depending on the code. Any other error, and a panic, is
	// sent as FAILURE without its text.
	ConsiderCall(ctx context.Context, c Called) (Proposal, error)

	// PerformAward does the task that the agent has proposed to do, and returns the
	// result. ctx ends on CANCEL, when the result is due, or when the agent stops. Errors
	// are sent as those of [delegation.Worker].PerformTask are.
	PerformAward(ctx context.Context, a Awarded) (performatives.InformResult, error)
}

// LosingBidder is a [Bidder] that learns which of its proposals did not win.
type LosingBidder interface {
	Bidder
	// ProposalLost is called when the caller has rejected a proposal, or it has lapsed. It is not
	// called after CANCEL, nor for a proposal that a revised call has replaced. It runs on the
	// agent's own actor, so it must not block and may read and change the agent's fields. An agent
	// whose mailbox is full is not told.
	ProposalLost(l LostProposal)
}

// LostProposal is a proposal that did not win.
type LostProposal struct {
	Call     Call                  // of the latest round
	Proposal Proposal              // the agent's own
	Reason   performatives.Refusal // the caller's; [performatives.CodeExpired] for a proposal that has lapsed
	Agent    actors.Self           // the handle of the bidder
}

// Called is a call that an agent may bid for.
type Called struct {
	Call
	Message  *performatives.Message // the CFP; its ReplyBy is the time by which proposals are due
	Agent    actors.Self            // the handle of the called agent
	Previous []Proposal             // the agent's proposals of earlier rounds; belongs to the method
}

// Awarded is a task that an agent has won.
type Awarded struct {
	Call     Call                   // of the latest round
	Proposal Proposal               // the agent's own, which was accepted
	Message  *performatives.Message // the ACCEPT_PROPOSAL; its ReplyBy is the time by which the result is due
	Agent    actors.Self            // the handle of the winner
}

// newResponder returns the responder of a bidder in one of the contract nets. A proposal
// holds the slot of the job that made it.
func newResponder(self actors.Self, bidder Bidder, c *codons.Codon, t codons.Times) actors.Responder {
	return codons.NewResponder(self, bidder, codons.ResponderOptions{
		Codon: c, Times: t,
		Works: []codons.Work{
			{Job: standard.JobConsider, Considers: true, Holds: []string{commandPropose}, Do: func(s codons.Side) func(context.Context, *codons.Handler) codons.Command {
				side := s.(*responderSide)
				_, side.losing = bidder.(LosingBidder)
				return side.consider(bidder)
			}},
			{Job: standard.JobPerform, Do: func(s codons.Side) func(context.Context, *codons.Handler) codons.Command {
				return s.(*responderSide).perform(bidder)
			}},
		},
	})
}

// responderSide is the bidder's side of one conversation.
type responderSide struct {
	*codons.ResponderSide
	kept   responderData
	losing bool // the agent is a LosingBidder; not recorded
}

func responding(r *codons.ResponderSide) codons.Side { return &responderSide{ResponderSide: r} }

// responderData is the data of the bidder's side.
type responderData struct {
	Call      Call       `json:"call"`      // of the latest round
	Proposals []Proposal `json:"proposals"` // of all rounds
	Retries   int        `json:"retries"`   // of the latest proposal
}

// Data returns the data that Reduce keeps.
func (s *responderSide) Data() any { return s.kept }

// consider returns the handler that makes a proposal.
func (s *responderSide) consider(bidder Bidder) func(context.Context, *codons.Handler) codons.Command {
	previous, otherwise := slices.Clone(s.kept.Proposals), s.Times().Deadline
	return func(ctx context.Context, h *codons.Handler) codons.Command {
		call, err := performatives.PayloadAs[Call](h.Message())
		if err != nil {
			return h.TurnDown(err)
		}
		proposal, err := bidder.ConsiderCall(ctx, Called{Call: call, Message: h.Message(), Agent: h.Agent(), Previous: previous})
		if err != nil {
			return h.TurnDown(err)
		}
		if proposal.ValidUntil.IsZero() {
			proposal.ValidUntil = proposal.until(call.ResultBy)
		}
		if proposal.ValidUntil.IsZero() {
			proposal.ValidUntil = h.Message().ReplyBy().Add(otherwise)
		}
		return h.Answer(commandPropose, performatives.ActPropose, proposal)
	}
}

// perform returns the handler that does the awarded task.
func (s *responderSide) perform(bidder Bidder) func(context.Context, *codons.Handler) codons.Command {
	proposal, call := s.latest(), s.kept.Call
	return func(ctx context.Context, h *codons.Handler) codons.Command {
		result, err := bidder.PerformAward(ctx, Awarded{Call: call, Proposal: proposal, Message: h.Message(), Agent: h.Agent()})
		if err != nil {
			return h.Fail(err)
		}
		return h.Answer(standard.CommandFinish, performatives.ActInformResult, result)
	}
}

func (s *responderSide) latest() Proposal { return s.kept.Proposals[len(s.kept.Proposals)-1] }

// Reduce keeps the call, the proposals, and the number of retries of the latest.
func (s *responderSide) Reduce(v *codons.Value, e *codons.Input) {
	if e.Message != nil && e.Message.Performative() == performatives.ActCFP && e.On.Kind == machine.KindReceive {
		s.kept.Call, _ = performatives.PayloadAs[Call](e.Message) // the handler turns down an unreadable call
	}
	if p, ok := e.Data.(Proposal); ok && v.State() == stateProposed {
		s.kept.Proposals, s.kept.Retries = append(s.kept.Proposals, p), 0
	}
	if e.Arms(machine.TimerRetry) {
		s.kept.Retries++
	}
}

// Report tells the agent of its lost proposal.
func (s *responderSide) Report(c *codons.Conversation, _ string, m *performatives.Message) {
	if !s.losing {
		return
	}
	lost := LostProposal{Call: s.kept.Call, Proposal: s.latest(), Agent: c.Agent(), Reason: performatives.Refusal{Code: performatives.CodeExpired, From: c.Peer()}}
	if m != nil {
		lost.Reason = *m.AsRefusal()
	}
	err := c.Agent().Later(func(a actors.Agent) {
		if bidder, ok := a.(LosingBidder); ok {
			bidder.ProposalLost(lost)
		}
	})
	if err != nil {
		c.Agent().Logger().Warn("the agent is not told of its lost proposal", "conversation", string(c.ID()), "err", err)
	}
}

// Compose returns the failure of a lapsed proposal. Its code tells the caller that the
// proposal lapsed, so the failure of a handler with the same code is sent with another.
func (s *responderSide) Compose(v *codons.Value, f machine.Effect, e *codons.Input) any {
	if f.Name == tagLapsed {
		return performatives.Failure{ErrorCode: performatives.CodeExpired, ErrorText: "the proposal was valid until now"}
	}
	data := s.ResponderSide.Compose(v, f, e)
	if failure, ok := data.(performatives.Failure); ok && failure.ErrorCode == performatives.CodeExpired {
		failure.ErrorCode = performatives.CodeTimeout
		return failure
	}
	return data
}

// Timer sets the end of a proposal's validity, and the wait before it is sent again.
func (s *responderSide) Timer(v *codons.Value, name string, now time.Time) time.Duration {
	switch {
	case name == machine.TimerRetry:
		return codons.Retry{}.Wait(v.Request().ID(), s.kept.Retries)
	case name == machine.TimerDeadline && v.State() == stateProposed:
		return s.latest().ValidUntil.Sub(now)
	}
	return s.ResponderSide.Timer(v, name, now)
}
