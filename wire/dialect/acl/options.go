package acl

import (
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// The limits that the zero [Options] stands for.
const (
	DefaultMaxBytes = exchange.DefaultMaxBytes
	DefaultMaxDepth = exchange.DefaultMaxDepth
)

// Options are the settings of a [Codec]. The zero value works.
type Options struct {
	// Registry has the payload types of the application; nil means the types of package
	// performatives only.
	Registry *performatives.Registry
	// Stamper makes the id or timestamp of an envelope without one. Nil means random
	// UUIDs and the system's clock.
	Stamper performatives.Stamper
	// MaxBytes is the longest message that Decode reads, in bytes. Zero means
	// DefaultMaxBytes.
	MaxBytes int
	// MaxDepth is how deep objects and arrays may nest, the envelope being the
	// first level. Zero means DefaultMaxDepth; 10,000 is the most.
	MaxDepth int
}
