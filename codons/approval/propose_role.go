package approval

import (
	"context"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
)

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
