package audit

import (
	"cmp"
	"errors"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/runtime/observe"
)

// The bounds of a [Trail] whose options name none.
const (
	DefaultMegabytes = 64
	DefaultKeep      = 90 * day
	DefaultQueue     = 1 << 14
)

const day = 24 * time.Hour

// Kinds returns the kinds of the events in a [Trail] whose options name none.
func Kinds() []events.Kind {
	return []events.Kind{
		events.KindMessageSent, events.KindMessageRefused, events.KindMessageDeadLettered, events.KindAgentStarted, events.KindAgentStopped,
		lifecycle.KindTransition, runtime.KindMemberJoined, runtime.KindMemberLost, runtime.KindAgentMoved, runtime.KindNodeDraining,
		observe.KindOperatorActed, observe.KindOperatorRefused,
	}
}

// Options configures a [Trail].
type Options struct {
	// FileOptions are those of the file, of which Path is required. Lost and Alive are the Trail's.
	FileOptions

	// Queue is how many events may wait to be written. Zero means [DefaultQueue].
	Queue int

	// Kinds are the kinds of the events that are written. Nil means those of the function [Kinds].
	Kinds []events.Kind
}

func (o Options) withDefaults() (Options, error) {
	if o.Queue < 0 {
		return o, errors.New("audit: Options.Queue must not be negative")
	}
	o.Queue = cmp.Or(o.Queue, DefaultQueue)
	if o.Kinds == nil {
		o.Kinds = Kinds()
	}
	return o, nil
}
