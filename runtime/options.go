package runtime

import (
	"fmt"
	"log/slog"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
)

// DefaultName is the name of a node that has none.
const DefaultName = "node"

// Options configures a [Node]. The zero value works.
type Options struct {
	// Name names the node, and the party that its own methods send as. Empty
	// means [DefaultName].
	Name string

	// Capacity is the number of messages that each band of a mailbox holds. Zero
	// means [actors.DefaultCapacity]. A full band refuses.
	Capacity int

	// LongBytes is how many bytes of long messages from outside, of 4 KiB and more, a
	// mailbox holds in all. Zero means [actors.DefaultLongBytes]. What comes beyond is
	// refused as busy.
	LongBytes int

	// Supervision is how agents are supervised that name no group. The zero value
	// restarts each by itself, with a growing delay.
	Supervision actors.Supervision

	// Groups supervise the agents that are spawned [InGroup] of that name.
	Groups map[string]actors.Supervision

	// Times are how long agents get to answer in the conversations of this library.
	Times codons.Times

	// Protocols are further codons that agents answer, after those of this
	// library.
	Protocols []actors.Protocol

	// Logger gets the node's log; [NewLogger] makes one. Nil discards it.
	Logger *slog.Logger

	// LogMessages logs each message that an agent sends or receives, as acl §7.2
	// has it: MCP_MESSAGE_SENT: {json} and MCP_MESSAGE_RECEIVED: {json}, at info.
	// A JSON logger has that line as its msg, which acl's ParseLogLine reads.
	// It shows their content.
	LogMessages bool

	// Watch has the node check what its agents say against the tables of the codons,
	// and log and publish what breaks one as a [codons.Violation]. Nil means no
	// watch; &codons.WatchOptions{} is one with the usual bounds. It costs a
	// goroutine that is busy while agents talk, and never delays a message.
	Watch *codons.WatchOptions

	// Stamper gives messages their ids and times. Nil means random UUIDs and the
	// wall clock.
	Stamper performatives.Stamper

	// Dispatcher runs the actors. Nil means a pool of workers that the node owns.
	Dispatcher actor.Dispatcher

	// network is put between the agents and the node's router. Nil is none.
	network func(actors.Router) actors.Router
}

func (o Options) withDefaults() Options {
	if o.Name == "" {
		o.Name = DefaultName
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.network == nil {
		o.network = func(r actors.Router) actors.Router { return r }
	}
	return o
}

// system is what the actors are to be run with.
func (o Options) system(router actors.Router) (actors.Options, error) {
	groups := map[string]actors.Supervision{"": o.Supervision}
	for name, g := range o.Groups {
		if name == "" {
			return actors.Options{}, fmt.Errorf("runtime: Options.Groups[%q]: the group without a name is Options.Supervision", name)
		}
		groups[name] = g
	}
	protocols := append(codons.Protocols(o.Times), o.Protocols...)
	return actors.Options{
		Node: o.Name, Router: router, Protocols: protocols, Capacity: o.Capacity, LongBytes: o.LongBytes, Groups: groups,
		Stamper: o.Stamper, Dispatcher: o.Dispatcher, Logger: o.Logger,
	}, nil
}
