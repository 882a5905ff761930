package gateway

import (
	"cmp"
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// The defaults of [Options].
const (
	DefaultName     = "ribosome"
	DefaultVersion  = "0.1.0"
	DefaultTimeout  = 5 * time.Minute
	DefaultMaxDepth = exchange.DefaultMaxDepth
	DefaultMaxBatch = 1024
)

// Options are the settings of a [Dialect]. The zero value works.
type Options struct {
	// Name and Version identify this program in initialize. Empty means
	// DefaultName and DefaultVersion.
	Name, Version string
	// BinaryProtocol and PerMessageAuth are announced in initialize as offers of the server
	// (wire, Capability Discovery): TCP frames, and an auth_token in each message.
	BinaryProtocol, PerMessageAuth bool
	// Rate is announced in initialize as the rate limit. The zero Rate means that there
	// is none.
	Rate wire.Rate
	// Timeout is the deadline of a request without one. Zero means DefaultTimeout.
	Timeout time.Duration
	// MaxDepth is how deep the objects and arrays of a frame may nest. Zero means
	// DefaultMaxDepth; 10,000 is the most.
	MaxDepth int
	// MaxBatch is how many JSON-RPC messages a batch may have. Zero means DefaultMaxBatch.
	MaxBatch int
}

func (o Options) withDefaults() Options {
	o.Name = cmp.Or(o.Name, DefaultName)
	o.Version = cmp.Or(o.Version, DefaultVersion)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.MaxDepth = cmp.Or(o.MaxDepth, DefaultMaxDepth)
	o.MaxBatch = cmp.Or(o.MaxBatch, DefaultMaxBatch)
	return o
}

func (o Options) validate() error {
	switch {
	case o.Timeout < 0:
		return fmt.Errorf("gateway: Options.Timeout is %v, want 0 or more", o.Timeout)
	case o.MaxDepth < 0 || o.MaxDepth > exchange.MaxDepth:
		return fmt.Errorf("gateway: Options.MaxDepth is %d, want 0 to %d", o.MaxDepth, exchange.MaxDepth)
	case o.MaxBatch < 0:
		return fmt.Errorf("gateway: Options.MaxBatch is %d, want 0 or more", o.MaxBatch)
	case o.Rate.Messages < 0 || o.Rate.Messages > 0 && o.Rate.Window <= 0:
		return fmt.Errorf("gateway: Options.Rate is %d messages in %v, want both above 0, or neither", o.Rate.Messages, o.Rate.Window)
	}
	return nil
}
