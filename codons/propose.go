package codons

import (
	"context"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

var propose = ProposeTable().MustCompile()

// Verdict is the answer to a proposal.
type Verdict struct {
	Accepted bool
	Reason   string // empty when none is given; it travels to the proposer
}

// Propose proposes to an agent that its asker does something, and waits for the
// verdict. The proposal is a struct, a map or [performatives.Raw]. A rejection is a
// verdict and no error.
//
// ctx's deadline, or else [DefaultDeadline], is the proposal's ReplyBy, and its
// cancellation withdraws the proposal. The error is an [*EndError]: nobody
// considered it; or it says what is wrong with the proposal, or that the party
// cannot begin. It must not be called on an agent's own actor.
func Propose(ctx context.Context, p Party, to performatives.AgentID, proposal any, opts ...Option) (Verdict, error) {
	return proposalTo(to, proposal).ask(ctx, p, newOptions(opts))
}

// StartPropose is [Propose] without the wait.
func StartPropose(ctx context.Context, p Party, to performatives.AgentID, proposal any, opts ...Option) (*Pending[Verdict], error) {
	return proposalTo(to, proposal).start(ctx, p, newOptions(opts))
}

func proposalTo(to performatives.AgentID, proposal any) question[Verdict] {
	return question[Verdict]{
		machine: propose, to: to, act: performatives.ActPropose, payload: proposal, read: readVerdict,
	}
}

// consent is the content of our ACCEPT_PROPOSAL, its member named as in
// [performatives.RejectProposal]. A peer's may have any: the act says it all.
type consent struct {
	ReasonText string `json:"reason_text,omitempty"`
}

// readVerdict reads both verdicts. A rejection for another reason than that the
// proposal is not wanted is none: nobody considered it.
func readVerdict(m *performatives.Message) (Verdict, error) {
	if m.Performative() == performatives.ActAcceptProposal {
		a, _ := performatives.PayloadAs[consent](m) // see its comment
		return Verdict{Accepted: true, Reason: a.ReasonText}, nil
	}
	r, _ := performatives.PayloadAs[performatives.RejectProposal](m) // likewise
	if r.ReasonCode != "" && r.ReasonCode != performatives.CodeRejected {
		return Verdict{}, &performatives.Refusal{
			Code: r.ReasonCode, Text: r.ReasonText, Act: m.Performative(), From: m.Sender(), About: performatives.MessageID(m.InReplyTo()),
		}
	}
	return Verdict{Reason: r.ReasonText}, nil
}

// say returns the command of a verdict, and its content.
func (v Verdict) say() (string, any) {
	if v.Accepted {
		return commandAccept, consent{ReasonText: v.Reason}
	}
	return commandReject, performatives.RejectProposal{ReasonCode: performatives.CodeRejected, ReasonText: v.Reason}
}

// ProposalHandler is an agent that considers what others propose: the answering
// side of [ProposeTable].
type ProposalHandler interface {
	actors.Agent
	// ConsiderProposal returns the verdict. It runs on a goroutine of its
	// conversation, so it must not touch the agent's fields but by [actors.Self.Do],
	// and should return soon once ctx ends. An error says that there is none: a
	// [*performatives.Refusal] is told with its code and text, as REFUSE,
	// NOT_UNDERSTOOD or FAILURE, whichever the code calls for; any other, or a panic,
	// as FAILURE without its text.
	ConsiderProposal(ctx context.Context, p Proposed) (Verdict, error)
}

// Proposed is what somebody proposed.
type Proposed struct {
	Message *performatives.Message // who proposes, what, until when
	Agent   actors.Self            // the handle of the agent that considers it
}

// Proposals is the protocol that makes every [ProposalHandler] answer PROPOSE.
type Proposals Times

// Name returns "propose".
func (Proposals) Name() string { return propose.Name() }

// Opens reports whether m is a proposal, or the CANCEL of one that comes first. A
// PROPOSE that answers something is a late bid of a contract net, unless it says
// otherwise.
func (Proposals) Opens(m *performatives.Message) bool {
	return opens(m, propose, m.InReplyTo() == "")
}

// Bind returns the responder of a [ProposalHandler].
func (p Proposals) Bind(self actors.Self, agent actors.Agent) actors.Responding {
	role, ok := agent.(ProposalHandler)
	if !ok {
		return nil
	}
	return newDesk(self, agent, propose, Times(p), func(ctx context.Context, c *conversation, _ *handler) (string, any) {
		v, err := role.ConsiderProposal(ctx, Proposed{Message: c.request, Agent: self})
		if err != nil {
			return turndown(err)
		}
		return v.say()
	})
}
