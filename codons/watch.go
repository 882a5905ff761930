package codons

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Defaults of [WatchOptions].
const (
	DefaultWatchedConversations = 1024
	DefaultWatchedMessages      = 16
	DefaultWatchQueue           = 4096
)

// MaxWatchedMessages is the largest [WatchOptions.Messages].
const MaxWatchedMessages = 64

// WatchOptions bounds what a [Watch] costs. The zero value works.
type WatchOptions struct {
	// Conversations is how many are watched at a time. Zero means
	// [DefaultWatchedConversations]. When one more begins, the one that has been
	// silent for the longest time is left: most likely it has ended.
	Conversations int

	// Messages is how many messages of one conversation are checked. Zero means
	// [DefaultWatchedMessages], [MaxWatchedMessages] is the most. A conversation
	// that grows longer is left: what may have arrived when makes each further
	// message more expensive to check.
	Messages int

	// Queue is how many messages wait to be checked. Zero means
	// [DefaultWatchQueue]. What finds the queue full is dropped and counted, and
	// the conversation that it belongs to is left.
	Queue int
}

func (o WatchOptions) withDefaults() WatchOptions {
	if o.Conversations == 0 {
		o.Conversations = DefaultWatchedConversations
	}
	if o.Messages == 0 {
		o.Messages = DefaultWatchedMessages
	}
	if o.Queue == 0 {
		o.Queue = DefaultWatchQueue
	}
	return o
}

func (o WatchOptions) validate() error {
	switch {
	case o.Conversations < 0:
		return fmt.Errorf("codons: WatchOptions.Conversations is %d, and has to be positive", o.Conversations)
	case o.Messages < 0 || o.Messages > MaxWatchedMessages:
		return fmt.Errorf("codons: WatchOptions.Messages is %d, and has to be from 1 to %d", o.Messages, MaxWatchedMessages)
	case o.Queue < 0:
		return fmt.Errorf("codons: WatchOptions.Queue is %d, and has to be positive", o.Queue)
	}
	return nil
}

// Watch checks what agents say against the tables of the [Library], while they say
// it, and publishes a [Violation] for each message that breaks one.
//
// A conversation is watched from its opening act on, if that names a protocol of
// the library. What cannot be judged is not: a talk with oneself, whose sides
// cannot be told apart; a broadcast; a conversation that began before the Watch, or
// of which the Watch has missed something. [Watch.Counts] has all that. A refusal
// by the runtime in an agent's stead is nobody's violation. A Watch sees what is
// sent on one node.
//
// # Ordering
//
// Messages are checked in the order in which they were sent. Their violations are
// published some time after them.
//
// # Backpressure
//
// Sending waits for nothing: a message is put into a bounded queue, or dropped and
// counted. See [WatchOptions].
//
// # Shutdown
//
// [Watch.Stop] checks what is queued, and joins the one goroutine.
//
// # Concurrency
//
// All methods may be called from any goroutine, but Stop not by a listener to
// violations.
type Watch struct {
	events   *actors.Events
	queue    chan heard
	unlisten func()
	closing  sync.Once
	closed   chan struct{} // nothing more comes
	abort    sync.Once
	aborted  chan struct{} // nothing more is to be checked
	ended    chan struct{} // the goroutine has returned

	gaps    gaps
	counts  watchCounts
	checker checker // touched by the goroutine alone
}

// heard is one event in the queue.
type heard struct {
	at      time.Time
	message *performatives.Message
	refused performatives.Code // why the runtime has refused the message; empty when it was just sent
	losses  uint32             // of its conversation, by then
}

// NewWatch returns a watch of all that is published on events from now on. Its
// owner must call [Watch.Stop]. The error names the option that is wrong.
func NewWatch(events *actors.Events, o WatchOptions) (*Watch, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	w := &Watch{
		events: events, queue: make(chan heard, o.Queue),
		closed: make(chan struct{}), aborted: make(chan struct{}), ended: make(chan struct{}),
	}
	w.gaps.seed = maphash.MakeSeed()
	w.checker = newChecker(o, w)
	w.unlisten = events.Listen(w.hear, actors.About[actors.MessageSent](), actors.About[actors.MessageRefused]())
	go w.run()
	return w, nil
}

// Stop ends the watch once it has checked what was sent before. It may be called
// again. An error is the cause of ctx's end, which came first: then part of that
// was not checked.
func (w *Watch) Stop(ctx context.Context) error {
	w.closing.Do(func() {
		w.unlisten()
		close(w.closed)
	})
	select {
	case <-w.ended: // whatever ctx says
		return nil
	default:
	}
	select {
	case <-w.ended:
		return nil
	case <-ctx.Done():
		w.abort.Do(func() { close(w.aborted) })
		<-w.ended // after one message at the most
		return context.Cause(ctx)
	}
}

// hear queues an event. It runs on the goroutine that sends.
func (w *Watch) hear(ev actors.Event) {
	h := heard{at: ev.EventTime()}
	switch e := ev.(type) {
	case actors.MessageSent:
		h.message = e.Message
	case actors.MessageRefused:
		h.message, h.refused = e.Message, e.Refusal.Code
	default:
		return
	}
	h.losses = w.gaps.losses(h.message.ConversationID())
	select {
	case w.queue <- h:
	default:
		w.counts.dropped.Add(1)
		w.gaps.lost(h.message)
	}
}

// run is the goroutine of the watch. Once nothing more comes, it checks what is
// queued.
func (w *Watch) run() {
	defer close(w.ended)
	for {
		select {
		case h := <-w.queue:
			w.checker.take(h)
		case <-w.closed:
			w.finish()
			return
		}
		if w.aborting() {
			return
		}
	}
}

func (w *Watch) finish() {
	for !w.aborting() {
		select {
		case h := <-w.queue:
			w.checker.take(h)
		default:
			return
		}
	}
}

func (w *Watch) aborting() bool {
	select {
	case <-w.aborted:
		return true
	default:
		return false
	}
}

// WatchCounts are totals since a [Watch] began.
type WatchCounts struct {
	Conversations uint64 // that were watched
	Messages      uint64 // that were checked
	Violations    uint64 // among them
	Skipped       uint64 // messages that name a protocol of the library and could not be judged
	Left          uint64 // conversations of which the rest is not checked: they grew too long, something of them was dropped, or there were too many
	Dropped       uint64 // events that found the queue full
	Watching      int    // conversations that are watched now
}

type watchCounts struct {
	conversations, messages, violations, skipped, left, dropped atomic.Uint64
	watching                                                    atomic.Int64
}

// Counts returns the current figures.
func (w *Watch) Counts() WatchCounts {
	c := &w.counts
	return WatchCounts{
		Conversations: c.conversations.Load(), Messages: c.messages.Load(), Violations: c.violations.Load(),
		Skipped: c.skipped.Load(), Left: c.left.Load(), Dropped: c.dropped.Load(), Watching: int(c.watching.Load()),
	}
}
