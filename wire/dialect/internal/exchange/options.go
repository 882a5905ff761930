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

// Complete sets the defaults of the Options of a dialect, and checks the limits.
func Complete(dialect string, s *performatives.Stamper, maxBytes, maxDepth *int) (err error) {
	if *s == nil {
		*s = SystemStamper{}
	}
	if *maxBytes < 0 {
		return fmt.Errorf("%s: Options.MaxBytes is %d, want 0 or more", dialect, *maxBytes)
	}
	*maxBytes = cmp.Or(*maxBytes, DefaultMaxBytes)
	*maxDepth, err = Depth(dialect+": Options.MaxDepth", *maxDepth)
	return err
}

// SystemStamper makes random UUIDs, and reads the system's clock.
type SystemStamper struct{}

// Stamp returns a random UUID and the time.
func (SystemStamper) Stamp() performatives.Stamp {
	return performatives.Stamp{ID: performatives.NewID(), Time: time.Now().UTC()}
}
