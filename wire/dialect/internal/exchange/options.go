package exchange

import (
	"cmp"
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// DefaultMaxBytes is the longest message of a codec without a limit of its own, in bytes.
const DefaultMaxBytes = 16 << 20

// MaxDepth is how deep the objects and arrays of a message may nest, the envelope being the first
// level.
const MaxDepth = 128

// Complete sets the defaults of the Options of a dialect, and checks the limit.
func Complete(dialect string, s *performatives.Stamper, maxBytes *int) error {
	if *s == nil {
		*s = SystemStamper{}
	}
	if *maxBytes < 0 {
		return fmt.Errorf("%s: Options.MaxBytes is %d, want 0 or more", dialect, *maxBytes)
	}
	*maxBytes = cmp.Or(*maxBytes, DefaultMaxBytes)
	return nil
}

// SystemStamper makes random UUIDs, and reads the system's clock.
type SystemStamper struct{}

// Stamp returns a random UUID and the time.
func (SystemStamper) Stamp() performatives.Stamp {
	return performatives.Stamp{ID: performatives.NewID(), Time: time.Now().UTC()}
}
