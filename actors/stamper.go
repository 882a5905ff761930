package actors

import (
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// systemStamper stamps messages with random UUIDs of version 4 and the system clock.
type systemStamper struct{}

// Stamp returns the id and time of a new message.
func (systemStamper) Stamp() performatives.Stamp {
	return performatives.Stamp{ID: performatives.NewID(), Time: time.Now()}
}
