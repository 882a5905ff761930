package exchange

import (
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// MaxDepth is how deep the objects and arrays of a message may nest, the envelope being the first
// level.
const MaxDepth = 128

// SystemStamper makes random UUIDs, and reads the system's clock.
type SystemStamper struct{}

// Stamp returns a random UUID and the time.
func (SystemStamper) Stamp() performatives.Stamp {
	return performatives.Stamp{ID: performatives.NewID(), Time: time.Now().UTC()}
}
