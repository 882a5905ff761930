package codons

import (
	"errors"
	"reflect"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
)

// Party is the initiator on whose behalf a conversation begins: an agent, by its [actors.Self],
// or a node, for the program that runs it.
type Party interface {
	// Self returns the handle of the agent. Safe for concurrent use.
	Self() actors.Self
}

// ErrNoParty is the error of a conversation that a nil [Party], a nil pointer or the zero
// [actors.Self] begins.
var ErrNoParty = errors.New("codons: the party is nil: want the Self of an agent, or a node")

// SelfOf returns the handle of the agent on whose behalf p begins a conversation. The error is
// [ErrNoParty] where p is nil, a nil pointer, or has the zero Self.
func SelfOf(p Party) (actors.Self, error) {
	if p == nil {
		return actors.Self{}, ErrNoParty
	}
	if v := reflect.ValueOf(p); v.Kind() == reflect.Pointer && v.IsNil() {
		return actors.Self{}, ErrNoParty
	}
	self := p.Self()
	if self == (actors.Self{}) {
		return actors.Self{}, ErrNoParty
	}
	return self, nil
}

// Defaults of the times of a conversation.
const (
	// DefaultDeadline is the time that a conversation has when neither side sets a deadline.
	DefaultDeadline = 5 * time.Minute
	// DefaultGrace is the time that a cancelled handler has to return before the responder
	// sends FAILURE. An initiator waits twice as long.
	DefaultGrace = 5 * time.Second
	// DefaultRetry is the time before the first retry of a request without an answer, see
	// [Retry].
	DefaultRetry = 10 * time.Second
)
