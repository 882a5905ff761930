package approval

import (
	"context"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Step is what the initiator will do if it is approved.
type Step struct {
	What string                `json:"what"`          // required: a sentence for people
	Why  string                `json:"why,omitempty"` // a reason for people
	Data performatives.Content `json:"data,omitzero"` // data for a program that decides
}

// Act returns [performatives.ActPropose].
func (Step) Act() performatives.Performative { return performatives.ActPropose }

// Validate reports a step without What.
func (s Step) Validate() error {
	if s.What == "" {
		return &performatives.Refusal{
			Code: performatives.CodeInvalidPayload, Field: "what", Text: "what: want a description of the step, got nothing",
		}
	}
	return nil
}

// Approver is an agent that approves or denies steps of other agents: the responder of [Codon].
// [Queue] is an Approver for a person.
type Approver interface {
	actors.Agent
	// DecideStep returns the verdict. It may block until ctx ends: at the deadline, when
	// the next approver is asked, or when the initiator withdraws the step. An error says
	// that it does not decide, and the next approver is asked. A [*performatives.Refusal]
	// is sent with its code and text; any other error, or a panic, without its text.
	// DecideStep runs on a goroutine of its conversation: it must not use the agent's
	// fields except by [actors.Self.Do].
	DecideStep(ctx context.Context, s ProposedStep) (Verdict, error)
}

// ProposedStep is a step that waits for a verdict.
type ProposedStep struct {
	Step
	Message *performatives.Message // the PROPOSE: its Sender will take the step, its ReplyBy is the deadline
	Agent   actors.Self            // the handle of the approver
	agree   func() error
}

// Seen tells the initiator that the step has been seen and will be decided about (AGREE).
// Afterwards the approver decides or fails, but cannot refuse. The error says that the
// conversation has ended.
func (s ProposedStep) Seen() error { return s.agree() }

// Service makes every [Approver] answer the PROPOSE of [Codon]. A PROPOSE without the codon's name
// is for [ProposeService].
var Service = codons.NewService(Codon, codons.ServiceOptions{}, newResponder)

func newResponder(self actors.Self, role Approver, t codons.Times) actors.Responder {
	return codons.AnswerWith(self, role, Codon, t, func(ctx context.Context, h *codons.Handler) codons.Command {
		step, err := performatives.PayloadAs[Step](h.Message())
		if err != nil {
			return h.TurnDown(err)
		}
		v, err := role.DecideStep(ctx, ProposedStep{Step: step, Message: h.Message(), Agent: self, agree: h.Agree})
		if err != nil {
			return h.TurnDown(err)
		}
		return v.command()
	})
}
