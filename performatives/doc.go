// Package performatives defines the [Message] that agents exchange: its
// communicative act, its typed payload, and the codes of a refusal.
//
// It is the lowest layer. It depends on no engine, no transport and no clock: the
// caller that makes a message passes its id and its time as a [Stamp].
//
// A Message is made and validated by [New], [Message.With] or a reply method, and
// never changes afterwards. Every goroutine may read it.
//
// # Message types
//
// An application names its own kinds of message on top of the closed set of acts: REVIEW_REQUEST is
// a REQUEST of the protocol code-review. [Message.MessageType] has the grammar of the names.
// Without a message type, the payload of an act must be of the act's payload type, if there is one
// here, and have its required members. With one, the application defines the payload: any JSON
// object, or none. [RegisterMessageType] gives a message type a Go type for its payload, so that
// transports decode it. [Registry.RegisterChecked] gives it a rule that is known at run time only.
package performatives
