package watch

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Watch checks the messages on an event stream, and publishes a [lifecycle.Violation] for each
// message that breaks the table of its codon.
//
// A conversation is watched from its opening act on, if that act names a protocol of
// [Options].Codons. A Watch does not check:
//
//   - a conversation of an agent with itself, because its two sides have one id;
//   - a broadcast;
//   - a conversation that began before the Watch, or of which an event was dropped.
//
// [Watch.Counts] counts these messages as skipped. A refusal that the runtime gives on an
// agent's behalf is no violation. A Watch sees the messages that are sent on its node.
type Watch struct {
	events  *events.Stream
	handler *events.Handler
	missed  *events.Losses

	counts  totals
	checker checker // used by the handler's goroutine only
}

// observation is one event of the stream about a message.
type observation struct {
	at      time.Time
	seq     uint64 // of the event
	message *performatives.Message
	refused performatives.Code // the code of the runtime's refusal; empty when the message was sent
}

// New returns a Watch that checks every message published on events from now on. The caller
// must call [Watch.Stop]. The error names the option that is wrong.
func New(stream *events.Stream, o Options) (*Watch, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	protocols, err := o.protocols()
	if err != nil {
		return nil, err
	}
	o = o.withDefaults()
	w := &Watch{events: stream, missed: events.NewLosses()}
	w.checker = newChecker(o, protocols, w)
	w.handler = stream.Subscribe(events.SubscribeOptions{
		Capacity: o.Queue, Kinds: []events.Kind{events.KindMessageSent, events.KindMessageRefused}, Losses: w.missed,
	}).Handle(w.handle)
	return w, nil
}

// Stop checks every message that was published before the call, and ends the Watch. It may
// be called again. When ctx ends first, the error is its cause, and the messages that
// were not checked are counted as dropped.
func (w *Watch) Stop(ctx context.Context) error {
	err := w.handler.Stop(ctx)
	<-w.handler.Done() // after at most one message
	return err
}

// handle passes one event to the checker, on the handler's goroutine.
func (w *Watch) handle(r events.Record) {
	switch e := r.Event.(type) {
	case events.MessageSent:
		w.checker.take(observation{at: e.Time, seq: r.Seq, message: e.Message})
	case events.MessageRefused:
		w.checker.take(observation{at: e.Time, seq: r.Seq, message: e.Message, refused: e.Refusal.Code})
	}
}

// Counts are totals since a [Watch] began.
type Counts struct {
	Conversations uint64 // conversations that were watched
	Messages      uint64 // messages that were checked
	Violations    uint64 // messages that broke their table; part of Messages
	Skipped       uint64 // messages of a known protocol that could not be checked
	Left          uint64 // conversations given up: too long, a message was dropped, or too many at a time
	Dropped       uint64 // events that found the queue full, or were queued when Stop ran out of time
	Watching      int    // conversations that are watched now
}

// totals are the counters behind [Counts].
type totals struct {
	conversations, messages, violations, skipped, left atomic.Uint64
	watching                                           atomic.Int64
}

// Counts returns the current totals.
func (w *Watch) Counts() Counts {
	c := &w.counts
	return Counts{
		Conversations: c.conversations.Load(), Messages: c.messages.Load(), Violations: c.violations.Load(),
		Skipped: c.skipped.Load(), Left: c.left.Load(), Dropped: w.handler.Lost(), Watching: int(c.watching.Load()),
	}
}
