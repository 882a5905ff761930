package actors

import (
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// wallStamper stamps with random UUIDs of version 4 and the wall clock.
type wallStamper struct{}

// Stamp returns the identity of a new message.
func (wallStamper) Stamp() performatives.Stamp {
	return performatives.Stamp{ID: performatives.NewID(), Time: time.Now()}
}
