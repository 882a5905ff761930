package actors

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Options configures a [System]. The zero value is a system without remote peers, which
// restarts its agents and answers no codon.
type Options struct {
	// Node is the name of the node. Empty means "node".
	Node string

	// Router delivers messages to their receivers. Nil delivers to the agents of this process, and
	// leaves the others to Remote.
	Router Router

	// Remote routes, without a Router, a message that is for no agent of this process: for one of
	// another process, for one that is not there, or for all. Nil means that there are no others.
	Remote Remote

	// Entrance routes what agents send, and what [System.Send] gets, in place of Router: it may
	// look at a message before it passes it on to Router. What the system itself says, such as a
	// refusal, does not pass it. Nil means Router and Remote.
	Entrance Router

	// Protocols are the codons that agents answer. When several open on the same message,
	// the first one gets it.
	Protocols []Protocol

	// Capacity is the largest number of messages per band of a mailbox. Zero means
	// [DefaultCapacity].
	Capacity int

	// LongBytes is the largest total size, in bytes, of queued long messages from remote
	// peers, per mailbox. Zero means [DefaultLongBytes]; see [MailboxOptions].
	LongBytes int

	// RequestIDs is the largest number of requests whose ids the system remembers, to
	// recognise them when they come again, and a flooding peer can use half of it. Further
	// requests are refused as busy. Zero means [DefaultRequestIDs].
	RequestIDs int

	// Groups are the supervision groups by name. The group with the empty name supervises
	// agents whose [Spec] names no group; when it is missing, it has the zero
	// [Supervision]. A failure that a group escalates stops the whole group for good: no
	// agent can be spawned in it afterwards.
	Groups map[string]Supervision

	// Stamper gives messages their ids and times. Nil means random UUIDs and the
	// wall clock.
	Stamper performatives.Stamper

	// Tracing gives each side of a conversation, and each job, a span, whose traceparent goes along
	// with its messages. Nil means that traceparents are passed on as they come.
	Tracing *Tracing

	// Dispatcher runs the actors. Nil means a [Pool] that the system owns. A dispatcher
	// given here must outlive the system, and its actors are not watched: see [BusyTime].
	Dispatcher actor.Dispatcher

	// OnChange is called with the id of each agent that has started, has announced its
	// capabilities or has stopped for good, before the event is published. It is the
	// hook of the layer that keeps its own state about agents: unlike a subscription
	// to [events.Stream] it loses nothing, and it returns before the agent continues. It runs
	// on the goroutine of the change and must not block. Nil means no call.
	OnChange func(performatives.AgentID)

	// OnList is called with the id of each agent whose entry of the directory has changed, before
	// the call that has changed it returns: the agent was spawned or registered, has announced its
	// capabilities, or was removed. [System.Find] has the entry. A call that says nothing new is
	// possible. It must not block. Nil means no call.
	OnList func(performatives.AgentID)

	// OnAbandon is called with a request of [Self.Ask] that has ended before its reply: with the
	// end of its ctx, or because the agent has stopped. It must not block. Nil means no call.
	OnAbandon func(*performatives.Message)

	// Logger receives the failures of agents, and the messages that have no event type. Nil
	// discards them.
	Logger *slog.Logger
}

// Tracing configures the spans of a system. The zero value samples every trace.
type Tracing struct {
	// Ratio is the part of the traces beginning in the system that is sampled, from 0 to 1. Zero
	// means 1. A trace that began elsewhere is sampled as its traceparent says.
	Ratio float64
}

// Samples reports whether a new trace is sampled whose id ends with the eight bytes low, as the
// sampler TraceIdRatioBased of OpenTelemetry decides it.
func (t *Tracing) Samples(low uint64) bool {
	return t.Ratio == 0 || t.Ratio >= 1 || low>>1 < uint64(t.Ratio*(1<<63))
}

func (t *Tracing) validate() error {
	if t != nil && !(t.Ratio >= 0 && t.Ratio <= 1) {
		return fmt.Errorf("actors: Options.Tracing.Ratio is %v, want 0 to 1", t.Ratio)
	}
	return nil
}

func (o Options) withDefaults() Options {
	o.Node = cmp.Or(o.Node, "node")
	o.RequestIDs = cmp.Or(o.RequestIDs, DefaultRequestIDs)
	if o.Stamper == nil {
		o.Stamper = systemStamper{}
	}
	if o.OnChange == nil {
		o.OnChange = func(performatives.AgentID) {}
	}
	if o.OnList == nil {
		o.OnList = func(performatives.AgentID) {}
	}
	if o.OnAbandon == nil {
		o.OnAbandon = func(*performatives.Message) {}
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
	if err := o.Tracing.validate(); err != nil {
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
	if o.RequestIDs < 0 {
		return fmt.Errorf("actors: Options.RequestIDs is %d", o.RequestIDs)
	}
	if len(o.Node) > performatives.MaxIDLength {
		return errors.New("actors: Options.Node is too long")
	}
	return nil
}
