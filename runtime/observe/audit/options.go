package audit

import (
	"errors"
	"log/slog"
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
	// File, Megabytes, Keep and Logger are the Path and the same fields of [FileOptions]. File is
	// required.
	File      string
	Megabytes int
	Keep      time.Duration
	Logger    *slog.Logger

	// Queue is how many events may wait to be written. Zero means [DefaultQueue].
	Queue int

	// Kinds are the kinds of the events that are written. Nil means those of the function [Kinds].
	Kinds []events.Kind
}

func (o Options) withDefaults() (Options, error) {
	switch {
	case o.File == "":
		return o, errors.New("audit: Options.File is empty: it must name the file to write")
	case o.Queue < 0:
		return o, errors.New("audit: Options.Queue must not be negative")
	case o.Queue == 0:
		o.Queue = DefaultQueue
	}
	if o.Kinds == nil {
		o.Kinds = Kinds()
	}
	return o, nil
}
