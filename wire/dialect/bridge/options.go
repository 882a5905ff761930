package bridge

import (
	"cmp"
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// The limits that the zero [Options] stands for.
const (
	DefaultMaxBytes = 16 << 20
	DefaultMaxDepth = 128
)

// maxDepthLimit is the nesting limit of encoding/json, which decodes typed payloads.
const maxDepthLimit = 10_000

// Options are the settings of a [Codec]. The zero value works.
type Options struct {
	// Registry has the payload types of the application; nil means the types of package
	// performatives only.
	Registry *performatives.Registry
	// Stamper tells the time from which the timeout of a request counts, and makes the ids of
	// error messages. Nil means random UUIDs and the system's clock.
	Stamper performatives.Stamper
	// MaxBytes is the longest message that Decode reads, in bytes. Zero means
	// DefaultMaxBytes.
	MaxBytes int
	// MaxDepth is how deep objects and arrays may nest, the envelope being the
	// first level. Zero means DefaultMaxDepth; 10,000 is the most.
	MaxDepth int
}

func (o Options) withDefaults() Options {
	if o.Stamper == nil {
		o.Stamper = systemStamper{}
	}
	o.MaxBytes = cmp.Or(o.MaxBytes, DefaultMaxBytes)
	o.MaxDepth = cmp.Or(o.MaxDepth, DefaultMaxDepth)
	return o
}

func (o Options) validate() error {
	switch {
	case o.MaxBytes < 0:
		return fmt.Errorf("bridge: Options.MaxBytes is %d, want 0 or more", o.MaxBytes)
	case o.MaxDepth < 0 || o.MaxDepth > maxDepthLimit:
		return fmt.Errorf("bridge: Options.MaxDepth is %d, want 0 to %d", o.MaxDepth, maxDepthLimit)
	}
	return nil
}

// systemStamper is the default Stamper of a Codec.
type systemStamper struct{}

// Stamp returns a random UUID and the time.
func (systemStamper) Stamp() performatives.Stamp {
	return performatives.Stamp{ID: performatives.NewID(), Time: time.Now().UTC()}
}
