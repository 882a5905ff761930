package codons

import (
	"time"

	"github.com/ribosome-agents/ribosome/actors"
)

// Party is who a conversation is started for: an agent, by its [actors.Self], or
// a node, for the program that runs it.
type Party interface {
	Self() actors.Self
}

// Defaults of a conversation's times.
const (
	// DefaultDeadline is how long a conversation may take when neither side says.
	DefaultDeadline = 5 * time.Minute
	// DefaultGrace is how long a cancelled handler has to return before the
	// asker is told that it still runs. An asker waits twice as long for that.
	DefaultGrace = 5 * time.Second
	// DefaultRetry is how long an unanswered request waits before it is sent
	// again for the first time. Each further wait is twice as long.
	DefaultRetry = 10 * time.Second
)
