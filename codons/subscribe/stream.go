package subscribe

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Stream is the initiator's side of a subscription or of a REQUEST_WHENEVER: events of type T,
// until its context ends, [Stream.Unsubscribe] is called, or the publisher ends it for good.
// All its methods may be called from any goroutine.
//
// After any other end of the conversation (the publisher stops, or is silent for three
// heartbeats) the Stream subscribes again, after its latest event. The delay grows with each
// attempt: see [WithResume]. The next event has the [Break].
//
// The Stream holds a bounded number of unread events ([WithBuffer]). While it is full, a
// publisher of this package keeps further events in its own queue ([TopicOptions]). When both
// are full, the oldest event is dropped, and the next one says how many were. A Stream has
// no goroutine of its own.
type Stream[T any] struct {
	party   actors.Self
	codon   *codons.Codon
	to      performatives.AgentID
	act     performatives.Performative
	options streamOptions
	ctx     context.Context //nolint:containedctx // the lifetime of the stream, set by its caller
	leave   context.CancelFunc
	backlog *backlog[T]
	first   chan struct{} // closed at the first answer of the publisher, or at the end
	done    chan struct{}

	mu           sync.Mutex
	subscription Subscription
	status       StreamStatus
	answered     bool     // the publisher has agreed at least once
	run          string   // the publisher's run of events: Agreed.Stream
	number       uint64   // Number of the latest event of that run
	last         Position // of the latest event
	uncounted    bool     // Uncounted of the next event
	broken       *Break   // Break of the next event
}

// StreamState is the state of a [Stream].
type StreamState string

// The states of a stream.
const (
	StreamSubscribing StreamState = "subscribing" // the publisher has not answered yet
	StreamSubscribed  StreamState = "subscribed"  // events come
	StreamBroken      StreamState = "broken"      // the stream will subscribe again
	StreamEnded       StreamState = "ended"       // no more events will come
)

// StreamStatus describes the current state of a [Stream].
type StreamStatus struct {
	State  StreamState
	Breaks int   // number of breaks so far
	Cause  error // the error of the latest break, or of the end; nil if there was none
	// Attempts is the number of failed attempts to subscribe again since the latest break.
	Attempts int
}

// Events yields the events as they arrive, and returns when the stream has ended and all events
// were read; [Stream.Err] says why it ended. Leaving the loop does not unsubscribe: a later
// call continues. With several readers, each event goes to one of them.
func (s *Stream[T]) Events() iter.Seq[Event[T]] {
	return func(yield func(Event[T]) bool) {
		for {
			e, err := s.Next(context.Background()) //nolint:forbidigo // the stream's own context ends it
			if err != nil || !yield(e) {
				return
			}
		}
	}
}

// Next returns the next event, and blocks until there is one. The error is the cause of ctx's
// end, or [Stream.Err] when the stream has ended and all events were read.
func (s *Stream[T]) Next(ctx context.Context) (Event[T], error) {
	for {
		if e, ok := s.backlog.take(); ok {
			return e, nil
		}
		select {
		case <-s.backlog.news:
		case <-ctx.Done():
			return Event[T]{}, context.Cause(ctx)
		case <-s.done:
			if e, ok := s.backlog.take(); ok { // an event that came just before the end
				return e, nil
			}
			return Event[T]{}, s.Err()
		}
	}
}

// Done is closed when the stream has ended. Events may still be left to read.
func (s *Stream[T]) Done() <-chan struct{} { return s.done }

// Err returns why the stream has ended, an [*codons.EndError], with the code
// [performatives.CodeCanceled] after Unsubscribe. It is nil while the stream continues.
func (s *Stream[T]) Err() error {
	select {
	case <-s.done:
		return s.Status().Cause
	default:
		return nil
	}
}

// Status returns the current state.
func (s *Stream[T]) Status() StreamStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

// Position returns the position of the latest event that has arrived, read or not, or else that
// at which the stream began. As [Subscription].Since of another stream it continues there.
func (s *Stream[T]) Position() Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// Unsubscribe ends the stream with CANCEL, and waits for the publisher's receipt for at most the
// time of [codons.WithGrace]. The error is nil after the receipt, or if the stream was broken,
// so that no CANCEL was needed; else it is [Stream.Err].
func (s *Stream[T]) Unsubscribe() error {
	s.leave()
	codons.AwaitEnd(s.party, s.done)
	if err := s.Err(); !errors.Is(err, performatives.CodeCanceled) {
		return err
	}
	return nil
}

type streamOptions struct {
	options   codons.Options
	buffer    int
	heartbeat time.Duration
	resume    codons.Retry
	attempts  int
}

// DefaultHeartbeat is the default period of the heartbeat: see [WithHeartbeat].
const DefaultHeartbeat = 30 * time.Second

// WithBuffer sets the capacity of the stream for unread events. Zero or less means
// [DefaultBuffer]. At most half of [actors.System.Capacity] events are under way at a time.
func WithBuffer(n int) codons.Option { return codons.Setting(func(o *streamOptions) { o.buffer = n }) }

// WithHeartbeat sets the period of the heartbeat, the repeated opening act, from a millisecond to
// a day. Zero means [DefaultHeartbeat], less than zero none. After three periods without a
// message of the publisher the stream breaks; after four without a heartbeat the publisher ends
// the subscription.
//
// Without a heartbeat neither side notices that the other is gone. The first answer is then
// awaited for [codons.DefaultDeadline], and the publisher sends all events without waiting for
// confirmations, because a lost CONFIRM would stop it for good. An agent that subscribes to
// itself needs no confirmations either.
func WithHeartbeat(d time.Duration) codons.Option {
	return codons.Setting(func(o *streamOptions) { o.heartbeat = d })
}

// WithResume sets the delays and the number of attempts with which a broken stream subscribes
// again, before it ends. Zero attempts means no limit, less than zero none. The default is a
// [codons.Retry] from a second to a minute, without a limit.
func WithResume(r codons.Retry, attempts int) codons.Option {
	return codons.Setting(func(o *streamOptions) { o.resume, o.attempts = r, attempts })
}

func newStreamOptions(opts []codons.Option) streamOptions {
	with := codons.NewOptions(opts...)
	o := codons.Settings[streamOptions](&with)
	o.options = with
	o.resume = cmp.Or(o.resume, codons.Retry{First: time.Second, Max: time.Minute})
	o.buffer = cmp.Or(max(o.buffer, 0), DefaultBuffer)
	o.heartbeat = cmp.Or(o.heartbeat, DefaultHeartbeat)
	if o.heartbeat > 0 { // the publisher applies the same bounds
		o.heartbeat = min(max(o.heartbeat, time.Millisecond), longestHeartbeat)
	}
	return o
}
