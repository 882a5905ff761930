package exchange

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// The limits of a dialect without others, and the nesting limit of encoding/json, which decodes
// typed payloads.
const (
	DefaultMaxBytes = 16 << 20
	DefaultMaxDepth = 128
	MaxDepth        = 10_000
)

// Depth returns the nesting depth that an option of that name sets. Zero is DefaultMaxDepth.
func Depth(option string, depth int) (int, error) {
	if depth < 0 || depth > MaxDepth {
		return 0, fmt.Errorf("%s is %d, want 0 to %d", option, depth, MaxDepth)
	}
	return cmp.Or(depth, DefaultMaxDepth), nil
}

// SessionDepth returns the nesting depth that the MaxDepth of a dialect sets for a session.
func SessionDepth(dialect string, o wire.CodecOptions, depth int) (int, error) {
	if o.Stamper == nil {
		return 0, errors.New(dialect + ": CodecOptions.Stamper is nil")
	}
	return Depth(dialect+": Dialect.MaxDepth", depth)
}

// Bytes returns the longest frame that an option of that name sets. Zero is DefaultMaxBytes.
func Bytes(option string, n int) (int, error) {
	if n < 0 {
		return 0, fmt.Errorf("%s is %d, want 0 or more", option, n)
	}
	return cmp.Or(n, DefaultMaxBytes), nil
}

// SystemStamper makes random UUIDs, and reads the system's clock.
type SystemStamper struct{}

// Stamp returns a random UUID and the time.
func (SystemStamper) Stamp() performatives.Stamp {
	return performatives.Stamp{ID: performatives.NewID(), Time: time.Now().UTC()}
}
