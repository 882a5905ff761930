package codons

import (
	"context"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

var approval = ApprovalTable().MustCompile()

// Step is what an agent will do if it is approved.
type Step struct {
	What string                `json:"what"` // required: a sentence for people
	Why  string                `json:"why,omitempty"`
	Data performatives.Content `json:"data,omitzero"` // what a program needs to judge it
}

// Act returns [performatives.ActPropose].
func (Step) Act() performatives.Performative { return performatives.ActPropose }

// Validate checks that the step says what it is.
func (s Step) Validate() error {
	if s.What == "" {
		return &performatives.Refusal{
			Code: performatives.CodeInvalidPayload, Field: "what", Text: "what: want the step in words, got nothing",
		}
	}
	return nil
}

// Approver is an agent that approves steps of others, or denies them: the answering
// side of [ApprovalTable]. [ApprovalQueue] is one for a person.
type Approver interface {
	actors.Agent
	// DecideStep returns the verdict, and may take its time until ctx ends: at the
	// deadline, when somebody else is asked instead, or when the asker no longer wants
	// to. It runs on a goroutine of its conversation, so it must not touch the agent's
	// fields but by [actors.Self.Do]. An error says that it will not decide, and the
	// next approver is asked: a [*performatives.Refusal] is told with its code and
	// text, any other, or a panic, without its text.
	DecideStep(ctx context.Context, s ProposedStep) (Verdict, error)
}

// ProposedStep is a step that waits for a verdict.
type ProposedStep struct {
	Step
	Message *performatives.Message // who asks, until when
	Agent   actors.Self            // the handle of the approver
	agree   func() error
}

// Seen tells the asker that the step has been seen and will be decided about. After
// it, the approver decides or fails. The error says that nobody waits any more.
func (s ProposedStep) Seen() error { return s.agree() }

// Approvals is the protocol that makes every [Approver] answer proposals that name it.
type Approvals Times

// Name returns "approval".
func (Approvals) Name() string { return approval.Name() }

// Opens reports whether m is a step to decide about, or the CANCEL of one that comes
// first. It has to name the protocol: any other PROPOSE is none.
func (Approvals) Opens(m *performatives.Message) bool { return opens(m, approval, false) }

// Bind returns the responder of an [Approver].
func (a Approvals) Bind(self actors.Self, agent actors.Agent) actors.Responding {
	role, ok := agent.(Approver)
	if !ok {
		return nil
	}
	return newDesk(self, agent, approval, Times(a), func(ctx context.Context, c *conversation, h *handler) (string, any) {
		step, err := performatives.PayloadAs[Step](c.request)
		if err != nil {
			return turndown(err)
		}
		v, err := role.DecideStep(ctx, ProposedStep{
			Step: step, Message: c.request, Agent: self, agree: func() error { return h.say(commandAgree, nil) },
		})
		if err != nil {
			return turndown(err)
		}
		return v.say()
	})
}
