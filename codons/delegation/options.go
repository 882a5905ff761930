package delegation

import (
	"context"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Settings are the options of a delegation. They are exported for the codons that are built on
// this one; callers use [WithAccepted], [WithProgress], [WithInput] and [WithInputFrom].
type Settings struct {
	// OnAccept is the function of [WithAccepted]; nil for none.
	OnAccept func(performatives.TaskAccept)
	// OnProgress is the function of [WithProgress]; nil for none.
	OnProgress func(performatives.StatusUpdate)

	onInput   func(context.Context, performatives.InformResult) (performatives.TaskRequest, bool)
	inputFrom performatives.AgentID
}

// WithAccepted has fn called with each TASK_ACCEPT: once in each round, or not at all where
// the acceptance is lost. fn must not block and must not wait for the delegation. A panic of fn
// ends the conversation.
func WithAccepted(fn func(performatives.TaskAccept)) codons.Option {
	return codons.Setting(func(o *Settings) { o.OnAccept = fn })
}

// WithProgress has fn called with each progress report, in order and one at a time. fn must
// not block and must not wait for the delegation. A panic of fn ends the conversation.
func WithProgress(fn func(performatives.StatusUpdate)) codons.Option {
	return codons.Setting(func(o *Settings) { o.OnProgress = fn })
}

// WithInput has fn called with each partial result whose RequestForUser is not empty. fn
// returns the task of a further round of the same conversation, or false to make the partial
// result final. Without this option each partial result is final.
//
// fn runs on a goroutine of its own and may block. ctx ends with the conversation, and a
// conversation that fn begins with ctx is a child of the same scope as the delegation. An
// invalid task and a panic of fn make the partial result final.
func WithInput(fn func(ctx context.Context, r performatives.InformResult) (performatives.TaskRequest, bool)) codons.Option {
	return codons.Setting(func(o *Settings) { o.onInput = fn })
}
