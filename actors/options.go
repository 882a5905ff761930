package actors

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Options configures a [System]. The zero value works: a system that stands
// alone, restarts its agents, and answers no codon.
type Options struct {
	// Node names the node. Empty means "node".
	Node string

	// Router finds the receivers of messages. Nil delivers to this system's own
	// agents only.
	Router Router

	// Protocols are the codons that agents answer, the earlier first where two
	// open on the same message.
	Protocols []Protocol

	// Capacity is the number of messages that each band of a mailbox holds. Zero
	// means [DefaultCapacity].
	Capacity int

	// LongBytes is how many bytes of long messages from outside a mailbox holds. Zero
	// means [DefaultLongBytes]; see [MailboxOptions].
	LongBytes int

	// Groups are the supervisors of the agents, by name. That of the empty name
	// supervises agents that name no group; when it is missing, the zero
	// [Supervision] does. A failure that a group escalates stops the whole group,
	// for good: no agent can be spawned in it any more.
	Groups map[string]Supervision

	// Stamper gives messages their ids and times. Nil means random UUIDs and the
	// wall clock.
	Stamper performatives.Stamper

	// Dispatcher runs the actors. Nil means a [Pool] that the system owns. One
	// that is given must outlive the system.
	Dispatcher actor.Dispatcher

	// OnStopped is told of each agent that has stopped for good, on the agent's
	// actor. It must not block. Nil means nobody is.
	OnStopped func(performatives.AgentID)

	// Logger gets what no event tells. Nil discards it.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Node == "" {
		o.Node = "node"
	}
	if o.Stamper == nil {
		o.Stamper = wallStamper{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Logger = o.Logger.With("node", o.Node)
	groups := map[string]Supervision{"": {}}
	for name, s := range o.Groups {
		groups[name] = s
	}
	o.Groups = groups
	return o
}

func (o Options) validate() error {
	if err := (MailboxOptions{Capacity: o.Capacity, LongBytes: o.LongBytes}).withDefaults().validate(); err != nil {
		return err
	}
	for name, g := range o.Groups {
		if err := g.withDefaults().validate(); err != nil {
			return fmt.Errorf("actors: Options.Groups[%q]: %w", name, err)
		}
	}
	for i, p := range o.Protocols {
		if p == nil {
			return fmt.Errorf("actors: Options.Protocols[%d] is nil", i)
		}
	}
	if len(o.Node) > performatives.MaxIDLength {
		return errors.New("actors: Options.Node is too long")
	}
	return nil
}
