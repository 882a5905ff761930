package runtime

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/library"
	"github.com/ribosome-agents/ribosome/codons/watch"
	"github.com/ribosome-agents/ribosome/internal/terminal"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/mesh"
	"github.com/ribosome-agents/ribosome/runtime/internal/route"
)

// DefaultName is the default of [Options].Name.
const DefaultName = "node"

// Options configures a [Node]. The zero value works.
type Options struct {
	// Name is the name of the node, and the id that its own methods send as. Empty means
	// [DefaultName].
	Name string

	// Capacity is the largest number of messages per band of a mailbox. Zero means
	// [actors.DefaultCapacity]. A full band refuses messages.
	Capacity int

	// LongBytes is the largest total size, in bytes, of queued long messages from remote
	// peers, per mailbox. A long message has 4 KiB or more. Zero means
	// [actors.DefaultLongBytes]. Messages beyond the limit are refused as busy.
	LongBytes int

	// Supervision configures the supervision of agents that are in no group. The zero
	// value restarts each agent by itself, with a growing delay.
	Supervision actors.Supervision

	// Groups are the supervision groups by name. See [InGroup].
	Groups map[string]actors.Supervision

	// Times are the limits of agents in conversations, of this library's codons and of
	// Codons: times, and the largest depth of the conversations below a handler.
	Times codons.Times

	// Codons are the services of codons of the application, which agents answer besides those
	// of this library. Two that claim the same protocol, message type or act are an error.
	Codons []*codons.Service

	// Protocols are further protocols that agents answer, not made of a codon. Codons take
	// precedence.
	Protocols []actors.Protocol

	// Logger receives the node's log; [NewLogger] creates one. Nil means that warnings and errors
	// go to [slog.Default], as that is when the node starts: the failures and panics of agents and
	// of other code of the program, and faults between nodes. The log of events, such as the start
	// of an agent or a refused message, is off then. A logger with [slog.DiscardHandler] discards
	// all.
	Logger *slog.Logger

	// LogMessages logs each message that an agent sends or receives, at info, in the
	// format of acl §7.2: MCP_MESSAGE_SENT: {json} and MCP_MESSAGE_RECEIVED: {json}, as the
	// msg of a record of Logger. The log then contains the content of messages.
	LogMessages bool

	// MessageLog receives the same as lines of their own, whatever the format of Logger: each
	// Write is one line. The node writes from one goroutine until its stop, does not close
	// MessageLog, and logs the first of consecutive errors. When MessageLog
	// is so slow that more than 16,384 events wait, some are lost, and Logger has their number.
	// Nil writes none.
	MessageLog io.Writer

	// MaskMessages changes the JSON of each message that LogMessages and MessageLog write, such as
	// the method JSON of a Mask of package observe: its result is written in its place, without
	// line breaks. A message for which it returns an error is not written, and Logger says so. Nil
	// changes nothing.
	MaskMessages func(message []byte) (json.RawMessage, error)

	// Watch makes the node check the messages of its agents against the tables of the
	// codons, and log and publish each deviation as a [lifecycle.Violation]. Nil disables
	// the check; &watch.Options{} has the default bounds. The node adds its Codons and those of
	// package library to Watch.Codons. The check runs on its own goroutine and does not
	// delay messages.
	Watch *watch.Options

	// Tracing gives each side of a conversation, and each job, a span ([lifecycle.Span]), whose
	// traceparent goes along with its messages. Package telemetry exports them. Nil means that
	// traceparents are passed on as they come.
	Tracing *actors.Tracing

	// Middleware sees each message where it enters the node, the first one first: see [Middleware].
	// Without it messages cost what they did.
	Middleware []Middleware

	// Sealers are the sealers of agents by their ids, as [Sealed] gives them to one: for a program
	// that knows keys, and starts agents which do not know of them. That of Name is for the node's
	// own messages. Ids are compared exactly.
	Sealers map[performatives.AgentID]actors.Sealer

	// Cluster makes the node a member of a cluster. Nil means that it is alone.
	Cluster *ClusterOptions

	// Stamper gives messages their ids and times. Nil means random UUIDs and the
	// wall clock.
	Stamper performatives.Stamper

	// Dispatcher runs the actors. Nil means a pool of workers that the node owns.
	Dispatcher actor.Dispatcher

	// Network puts a router between the agents and the node's own, which is its argument:
	// one that loses or delays messages, for tests and simulations. Nil leaves it out.
	Network func(actors.Router) actors.Router

	decide mesh.Decider // nil: route.Decide
}

func (o Options) withDefaults() Options {
	o.Name = cmp.Or(o.Name, DefaultName)
	if o.Logger == nil {
		o.Logger = slog.New(terminal.EscapedLog(slog.Default().Handler(), true))
	}
	o.Logger = slog.New(EscapedLog(o.Logger.Handler()))
	if o.decide == nil {
		o.decide = route.Decide
	}
	return o
}

// system returns the options of the actor system of a node with that router. changed is their
// OnChange, and listed their OnList.
func (o Options) system(router *mesh.Mesh, changed, listed func(performatives.AgentID)) (actors.Options, error) {
	groups := map[string]actors.Supervision{"": o.Supervision}
	for name, g := range o.Groups {
		if name == "" {
			return actors.Options{}, fmt.Errorf("runtime: Options.Groups[%q]: the group without a name is Options.Supervision", name)
		}
		groups[name] = g
	}
	protocols, err := o.protocols()
	if err != nil {
		return actors.Options{}, err
	}
	so := actors.Options{
		Node: o.Name, Remote: router, Protocols: protocols, Capacity: o.Capacity, LongBytes: o.LongBytes, Groups: groups,
		Stamper: o.Stamper, Dispatcher: o.Dispatcher, Logger: o.Logger, OnChange: changed, OnList: listed, Tracing: o.Tracing,
	}
	if o.Network != nil {
		so.Router = o.Network(router)
	}
	return so, nil
}

// codons returns those of package library and the node's own.
func (o Options) codons() []*codons.Codon {
	all := library.Codons()
	for _, r := range o.Codons {
		all = append(all, r.Codon())
	}
	return all
}

// protocols are all that agents answer. The error names two codons that claim the same
// opening.
func (o Options) protocols() ([]actors.Protocol, error) {
	services := library.Services(o.Times)
	for i, r := range o.Codons {
		if r == nil {
			return nil, fmt.Errorf("runtime: Options.Codons[%d] is nil", i)
		}
		services = append(services, r.With(o.Times))
	}
	claimed := map[string]string{}
	var protocols []actors.Protocol
	for _, r := range services {
		for _, claim := range r.Claims() {
			if before, taken := claimed[claim]; taken {
				return nil, fmt.Errorf("runtime: Options.Codons: two services claim the %s, of the codons %s and %s: rename one, or remove a service that is given twice", claim, before, r.Name())
			}
			claimed[claim] = r.Name()
		}
		protocols = append(protocols, r)
	}
	return append(protocols, o.Protocols...), nil
}
