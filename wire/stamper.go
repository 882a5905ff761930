package wire

import (
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// SystemStamper is the default stamper. It makes random UUIDs, and reads the system's clock.
type SystemStamper struct{}

// Stamp returns a random UUID and the current time.
func (SystemStamper) Stamp() performatives.Stamp {
	return performatives.Stamp{ID: performatives.NewID(), Time: time.Now()}
}
