package runtime

import "github.com/ribosome-agents/ribosome/performatives"

// AskOption is an option of [Node.Ask].
type AskOption func(e *performatives.Envelope)

// WithAct sets the act of the message. It is needed for a payload whose type has no
// method Act() performatives.Performative, such as [performatives.Raw] or a type of
// the application.
func WithAct(act performatives.Performative) AskOption {
	return func(e *performatives.Envelope) { e.Performative = act }
}

// WithMessageType sets the application's message type:
// see [performatives.Message.MessageType].
func WithMessageType(name string) AskOption {
	return func(e *performatives.Envelope) { e.MessageType = name }
}
