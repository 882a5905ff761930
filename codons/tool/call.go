package tool

import (
	"context"
	"fmt"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Call has an agent run one of its tools and waits for the result. The agent is an [Agent], or
// a peer outside of the runtime that answers TASK_REQUEST. in is the arguments: a struct, a map
// or [performatives.Raw]. Out is the type of the result; json.RawMessage takes any result.
//
// The deadline of ctx is the ReplyBy of the call; without one it is [codons.DefaultDeadline]
// from now. The cancellation of ctx withdraws the call. Call must not be called on an agent's
// own actor.
//
// Arguments that are not a JSON object, or cannot be written as JSON, are not sent: the error is
// a [*performatives.Refusal] whose field is payload.task_parameters. The other errors of a call
// that could not begin are those of [delegation.Start]. After that the error is an
// [*codons.EndError]: errors.Is finds in it [performatives.CodeIncapable] when the agent has no
// such tool, and [performatives.CodeInvalidPayload] when the arguments do not fit; errors.As
// finds an [*Error] when the tool ran without success.
func Call[In, Out any](ctx context.Context, p codons.Party, to performatives.AgentID, tool string, in In, opts ...codons.Option) (Out, error) {
	return question[Out](to, tool, in).Ask(ctx, p, opts...)
}

// StartCall begins a call as [Call] does, and returns without waiting for its result.
func StartCall[In, Out any](ctx context.Context, p codons.Party, to performatives.AgentID, tool string, in In, opts ...codons.Option) (*codons.Pending[Out], error) {
	return question[Out](to, tool, in).Start(ctx, p, opts...)
}

func question[Out any](to performatives.AgentID, tool string, in any) codons.Question[Out] {
	return codons.Question[Out]{
		Opening: codons.Opening{
			Codon: Codon, To: to, Act: performatives.ActTaskRequest,
			Payload: performatives.TaskRequest{TaskType: tool, Parameters: performatives.ContentOf(in)},
		},
		Read: func(m *performatives.Message) (Out, error) { return readResult[Out](tool, m) },
	}
}

// Error says that a tool ran without success: its INFORM_RESULT has another status (addenda
// §2).
type Error struct {
	Tool   string
	Result performatives.InformResult
}

// Error names the tool and gives the status and the summary of its result.
func (e *Error) Error() string {
	return fmt.Sprintf("tool: %s: %s: %s", e.Tool, e.Result.Status, e.Result.Summary)
}

// readResult returns the details of an INFORM_RESULT as an Out.
func readResult[Out any](tool string, m *performatives.Message) (Out, error) {
	r, err := performatives.PayloadAs[performatives.InformResult](m)
	if err == nil && r.Status != performatives.StatusSuccess {
		err = &Error{Tool: tool, Result: r}
	}
	if err != nil {
		var none Out
		return none, err
	}
	return performatives.Decode[Out](r.Details)
}
