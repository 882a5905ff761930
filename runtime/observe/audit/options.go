package audit

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
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
func Kinds() []actors.Kind {
	return []actors.Kind{
		actors.KindMessageSent, actors.KindMessageRefused, actors.KindMessageDeadLettered, actors.KindAgentStarted, actors.KindAgentStopped,
		codons.KindTransition, runtime.KindMemberJoined, runtime.KindMemberLost, runtime.KindAgentMoved, runtime.KindNodeDraining,
		observe.KindOperatorActed,
	}
}

// Options configures a [Trail].
type Options struct {
	// File is the path of the file that is written. It is required; its folder must exist. A file that exists is continued. A rotated file has the time of
	// its rotation in its name: audit-2026-11-24T06-00-00.000-size.jsonl of audit.jsonl. Files are readable by their owner only.
	File string

	// Megabytes is the size at which the file is rotated, in MiB. Zero means [DefaultMegabytes].
	Megabytes int

	// Keep is how long a line is kept at least: rotated files that are older are deleted at the next rotation, and the file is rotated
	// at least every 25 hours. It is rounded up to whole days. Zero means [DefaultKeep].
	Keep time.Duration

	// Queue is how many events may wait to be written. Zero means [DefaultQueue].
	Queue int

	// Kinds are the kinds of the events that are written. Nil means those of the function [Kinds].
	Kinds []actors.Kind

	// Logger receives the first of consecutive errors of the file. Nil discards them.
	Logger *slog.Logger
}

func (o Options) withDefaults() (Options, error) {
	if o.File == "" {
		return o, errors.New("audit: Options.File is empty: it must name the file to write")
	}
	for name, value := range map[string]int64{"Megabytes": int64(o.Megabytes), "Keep": int64(o.Keep), "Queue": int64(o.Queue)} {
		if value < 0 {
			return o, fmt.Errorf("audit: Options.%s must not be negative", name)
		}
	}
	if o.Megabytes == 0 {
		o.Megabytes = DefaultMegabytes
	}
	if o.Keep == 0 {
		o.Keep = DefaultKeep
	}
	if o.Queue == 0 {
		o.Queue = DefaultQueue
	}
	if o.Kinds == nil {
		o.Kinds = Kinds()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// days is Keep in whole days, rounded up.
func (o Options) days() int { return int((o.Keep + day - 1) / day) }
