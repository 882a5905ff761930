package codons

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Stream is the asking side of a subscription, or of a standing request: events of
// type T, until its context ends, [Stream.Unsubscribe] is called, or the publisher
// ends it for good. All its methods may be called from any goroutine.
//
// What breaks it otherwise (the publisher stops, or is not heard of for three
// heartbeats) it mends by itself: it subscribes again, from where it was, after a time
// that grows with each attempt. The next event tells of the [Break].
//
// It holds so many events for its consumer, see [WithBuffer]; until some are read, a
// publisher of this package keeps the next with itself, as many as [TopicOptions] say,
// and sends none. Of what is too many for both, the oldest that waits is lost, and the
// next event says how many were. The stream has no goroutine of its own.
type Stream[T any] struct {
	party   actors.Self
	machine *machine.Machine
	to      performatives.AgentID
	act     performatives.Performative
	options streamOptions
	ctx     context.Context //nolint:containedctx // the stream's life, which its owner began
	leave   context.CancelFunc
	backlog *backlog[T]
	first   chan struct{} // closed when the publisher has answered, or will not
	done    chan struct{}

	mu           sync.Mutex
	subscription Subscription
	status       StreamStatus
	answered     bool     // the publisher has agreed at least once
	run          string   // the publisher's run of events
	number       uint64   // of the latest event of that run
	last         Position // of the latest event
	uncounted    bool     // what the next event has to tell
	broken       *Break
}

// StreamState is where a [Stream] stands.
type StreamState string

// The states of a stream.
const (
	StreamSubscribing StreamState = "subscribing" // the publisher has not answered yet
	StreamSubscribed  StreamState = "subscribed"  // events come
	StreamBroken      StreamState = "broken"      // it will be asked for again
	StreamEnded       StreamState = "ended"       // nothing more will come
)

// StreamStatus says how a [Stream] fares.
type StreamStatus struct {
	State  StreamState
	Breaks int   // so far
	Cause  error // of the latest break, or of the end; nil without either
	// Attempts is how often it has been asked for since the latest break, in vain so
	// far while the state is broken or subscribing.
	Attempts int
}

// Events yields the events as they come, and returns when the stream has ended and
// all have been read; [Stream.Err] says why. To stop reading is not to unsubscribe:
// one may read on later. Of several readers, each event goes to one.
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

// Next returns the next event, once there is one. The error is ctx's cause, or
// [Stream.Err] when the stream has ended and all has been read.
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
			if e, ok := s.backlog.take(); ok { // it came just before
				return e, nil
			}
			return Event[T]{}, s.Err()
		}
	}
}

// Done is closed when the stream has ended. Events may still be left to read.
func (s *Stream[T]) Done() <-chan struct{} { return s.done }

// Err says why the stream has ended, as an [*EndError]; of one that was unsubscribed
// it is [performatives.CodeCanceled]. It is nil while the stream goes on.
func (s *Stream[T]) Err() error {
	select {
	case <-s.done:
		return s.Status().Cause
	default:
		return nil
	}
}

// Status says how the stream fares.
func (s *Stream[T]) Status() StreamStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

// Position is that of the latest event that has arrived, read or not, or of where the
// stream began. As [Subscription].Since it goes on from there.
func (s *Stream[T]) Position() Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// Unsubscribe ends the stream with CANCEL, and waits for the publisher's receipt, as
// long as [WithGrace] says. The error is nil when that came, or when the stream was
// broken and nothing had to be withdrawn; else it is [Stream.Err].
func (s *Stream[T]) Unsubscribe() error {
	s.leave()
	awaitEnd(s.party, s.done)
	if err := s.Err(); !errors.Is(err, performatives.CodeCanceled) {
		return err
	}
	return nil
}

// StreamOption changes one thing about a stream that is begun: any [Option] does, and
// so do [WithBuffer], [WithHeartbeat] and [WithResume].
type StreamOption interface{ stream(*streamOptions) }

// stream applies an option of any codon.
func (o Option) stream(s *streamOptions) { o(&s.options) }

// streamOption is an option of the streams only.
type streamOption func(*streamOptions)

func (o streamOption) stream(s *streamOptions) { o(s) }

type streamOptions struct {
	options
	buffer    int
	heartbeat time.Duration
	resume    Retry
	attempts  int
}

// DefaultHeartbeat is how often a subscriber says that it lives, and asks whether the
// publisher does.
const DefaultHeartbeat = 30 * time.Second

// WithBuffer says how many events may wait for the consumer. Zero or less means
// [DefaultBuffer].
func WithBuffer(n int) StreamOption { return streamOption(func(o *streamOptions) { o.buffer = n }) }

// WithHeartbeat says how often the subscriber says that it lives, by the same act as
// it began with. After three without a word of the publisher, the stream is broken;
// after four without one, the publisher gives its subscriber up. Zero means
// [DefaultHeartbeat], less none: then neither side notices when the other is gone
// without a word, a publisher that says nothing at first is waited for as long as
// [DefaultDeadline], and it sends all there is, however much waits to be read: nothing
// would get it going again if word of that were lost. Neither does it wait for an agent
// that is subscribed to itself. The heartbeat is from a millisecond to a day.
func WithHeartbeat(d time.Duration) StreamOption {
	return streamOption(func(o *streamOptions) { o.heartbeat = d })
}

// WithResume says how a stream that broke is asked for again: after what time, and
// how often in vain before it ends. Zero attempts are any number, as long as its
// context lasts; less are none. Without it, the times are those of a [Retry] of a
// second that grows to a minute.
func WithResume(r Retry, attempts int) StreamOption {
	return streamOption(func(o *streamOptions) { o.resume, o.attempts = r, attempts })
}

func newStreamOptions(opts []StreamOption) streamOptions {
	o := streamOptions{options: defaultOptions(), resume: Retry{First: time.Second, Max: time.Minute}}
	for _, opt := range opts {
		opt.stream(&o)
	}
	if o.buffer <= 0 {
		o.buffer = DefaultBuffer
	}
	if o.heartbeat == 0 {
		o.heartbeat = DefaultHeartbeat
	}
	if o.heartbeat > 0 { // the publisher has to agree about it
		o.heartbeat = min(max(o.heartbeat, time.Millisecond), longestHeartbeat)
	}
	return o
}
