package approval

import (
	"context"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Verdict is the answer to a proposal.
type Verdict struct {
	Accepted bool
	Reason   string // sent to the initiator; may be empty
}

// Propose sends a proposal to an agent and waits for the verdict. The proposal is a struct, a
// map or [performatives.Raw]. A rejection is a verdict and no error.
//
// The deadline is ctx's, or else [codons.DefaultDeadline]; the end of ctx withdraws the
// proposal. The error is an [*codons.EndError] when there is no verdict, or says why the
// proposal is not valid or the party cannot begin. Propose must not be called on an agent's
// own actor.
func Propose(ctx context.Context, p codons.Party, to performatives.AgentID, proposal any, opts ...codons.Option) (Verdict, error) {
	return proposalTo(to, proposal).Ask(ctx, p, opts...)
}

// StartPropose begins a [Propose] and returns at once.
func StartPropose(ctx context.Context, p codons.Party, to performatives.AgentID, proposal any, opts ...codons.Option) (*codons.Pending[Verdict], error) {
	return proposalTo(to, proposal).Start(ctx, p, opts...)
}

func proposalTo(to performatives.AgentID, proposal any) codons.Question[Verdict] {
	return codons.Question[Verdict]{
		Opening: codons.Opening{Codon: ProposeCodon, To: to, Act: performatives.ActPropose, Payload: proposal}, Read: readVerdict,
	}
}

// consent is the content of an ACCEPT_PROPOSAL. Its member has the name that it has in
// [performatives.RejectProposal]. An ACCEPT_PROPOSAL with any other content accepts, too.
type consent struct {
	ReasonText string `json:"reason_text,omitempty"`
}

// readVerdict reads an ACCEPT_PROPOSAL or REJECT_PROPOSAL. A rejection with a code other than
// [performatives.CodeRejected] is an error: the agent did not consider the proposal.
func readVerdict(m *performatives.Message) (Verdict, error) {
	if m.Performative() == performatives.ActAcceptProposal {
		a, _ := performatives.PayloadAs[consent](m) // other content is no error: see consent
		return Verdict{Accepted: true, Reason: a.ReasonText}, nil
	}
	r, _ := performatives.PayloadAs[performatives.RejectProposal](m) // neither here
	if r.ReasonCode != "" && r.ReasonCode != performatives.CodeRejected {
		return Verdict{}, &performatives.Refusal{
			Code: r.ReasonCode, Text: r.ReasonText, Act: m.Performative(), From: m.Sender(), About: performatives.MessageID(m.InReplyTo()),
		}
	}
	return Verdict{Reason: r.ReasonText}, nil
}

// command returns the responder's command for the verdict.
func (v Verdict) command() codons.Command {
	if v.Accepted {
		return codons.Command{Name: standard.CommandAccept, Data: consent{ReasonText: v.Reason}}
	}
	return codons.Command{Name: standard.CommandReject, Data: performatives.RejectProposal{ReasonCode: performatives.CodeRejected, ReasonText: v.Reason}}
}

// ProposalHandler is an agent that answers proposals: the responder of [ProposeCodon].
type ProposalHandler interface {
	actors.Agent
	// ConsiderProposal returns the verdict, or an error when there is none. A
	// [*performatives.Refusal] is sent with its code and text, as REFUSE, NOT_UNDERSTOOD
	// or FAILURE according to the code; any other error, or a panic, as FAILURE without
	// its text. ConsiderProposal runs on a goroutine of its conversation: it must not use
	// the agent's fields except by [actors.Self.Do], and should return soon after the
	// end of ctx.
	ConsiderProposal(ctx context.Context, p Proposed) (Verdict, error)
}

// Proposed is a proposal and its circumstances.
type Proposed struct {
	Message *performatives.Message // the PROPOSE: its Sender proposes, its ReplyBy is the deadline
	Agent   actors.Self            // the handle of the agent that considers it
}

// ProposeService makes every [ProposalHandler] answer PROPOSE. A PROPOSE that answers another
// message is a bid, and none of its proposals.
var ProposeService = codons.NewService(ProposeCodon, codons.ServiceOptions{Opens: opensPropose}, newProposeResponder)

func opensPropose(m *performatives.Message) bool {
	return ProposeCodon.OpenedBy(m, m.InReplyTo() == "")
}

func newProposeResponder(self actors.Self, role ProposalHandler, t codons.Times) actors.Responder {
	return codons.AnswerWith(self, role, ProposeCodon, t, func(ctx context.Context, h *codons.Handler) codons.Command {
		v, err := role.ConsiderProposal(ctx, Proposed{Message: h.Message(), Agent: self})
		if err != nil {
			return h.TurnDown(err)
		}
		return v.command()
	})
}
