package subscribe

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Topic publishes events of one type to all its subscribers. Its methods may be called from any
// goroutine. The zero Topic works.
type Topic[T any] struct{ core topic }

// TopicOptions configures a [Topic]. The zero value works.
type TopicOptions struct {
	// Buffer is the capacity of each subscriber's queue, in events. A full queue drops its
	// oldest event, and the subscriber is told how many. Zero means [DefaultBuffer].
	Buffer int
	// History is the number of latest events that the topic remembers, so that a subscriber
	// can resume after a break. Zero means [DefaultHistory], less than zero none.
	History int
}

// Defaults of [TopicOptions]. DefaultBuffer is that of [WithBuffer], too.
const (
	DefaultBuffer  = 1024
	DefaultHistory = 256
)

// NewTopic returns a topic with those options.
func NewTopic[T any](o TopicOptions) *Topic[T] { return &Topic[T]{topic{options: o}} }

// Publish sends an event to all subscribers. It never blocks: a full queue drops its oldest
// event. It does nothing after Close. The predicates of the feeds run on the calling goroutine.
// They may run more than once for an event, and concurrently when several goroutines publish.
func (t *Topic[T]) Publish(v T) { t.core.publish(v) }

// Close ends every subscription after its queued events, with a FAILURE of that text. A second
// Close does nothing.
func (t *Topic[T]) Close(why string) { t.core.close(why) }

// Subscribers returns the number of subscribers.
func (t *Topic[T]) Subscribers() int { return len(t.core.subscribers()) }

// Feed returns a feed of all events of the topic.
func (t *Topic[T]) Feed() Feed { return Feed{topic: &t.core} }

// Where returns a feed of the events for which want is true. want must not block or change
// anything, and may run on any goroutine. A panic of want ends this subscription with FAILURE,
// and no other.
func (t *Topic[T]) Where(want func(T) bool) Feed {
	return Feed{topic: &t.core, match: func(v any) bool {
		e, _ := v.(T) // always a T; a nil of an interface type fails the assertion, and e is then the nil
		return want(e)
	}}
}

// Whenever returns a feed of the events with which cond becomes true: the first event for which
// it is true, and each later one that follows an event for which it was false. If cond is true
// for the latest event before the subscription, that event is the first. For cond the same
// holds as for the predicate of [Topic.Where].
func (t *Topic[T]) Whenever(cond func(T) bool) Feed {
	f := t.Where(cond)
	f.edge = true
	return f
}

// Feed is the part of a [Topic] that a subscriber gets. The methods of Topic return feeds.
type Feed struct {
	topic *topic
	match func(any) bool // nil for all events
	edge  bool           // only the first of several matching events in a row
}

// topic is a Topic without its type.
type topic struct {
	options TopicOptions
	queues  atomic.Pointer[[]*queue] // of the subscribers; the slice is replaced under mu, never changed

	mu      sync.Mutex
	epoch   string // empty before the first subscriber
	seq     uint64
	history ring[entry]
	closed  *performatives.Failure
}

func (t *topic) subscribers() []*queue {
	if all := t.queues.Load(); all != nil {
		return *all
	}
	return nil
}

// buffer returns the capacity of a subscriber's queue.
func (t *topic) buffer() int {
	return cmp.Or(max(t.options.Buffer, 0), DefaultBuffer)
}

func (t *topic) historySize() int {
	return max(cmp.Or(t.options.History, DefaultHistory), 0)
}

// publish puts an event in the queues. The predicates are user code and run first, without the
// lock; they run again if the subscribers have changed in the meantime.
func (t *topic) publish(v any) {
	for {
		queues := t.queues.Load()
		if t.put(queues, wanted(queues, v), v) {
			return
		}
	}
}

// wanted reports, for each queue, whether the event is for it; nil means for all.
func wanted(queues *[]*queue, v any) []bool {
	if queues == nil || !slices.ContainsFunc(*queues, func(o *queue) bool { return o.match != nil }) {
		return nil
	}
	wants := make([]bool, len(*queues))
	for i, o := range *queues {
		wants[i] = o.wants(v)
	}
	return wants
}

// put puts an event in the queues. It returns false if the subscribers have changed.
func (t *topic) put(queues *[]*queue, wants []bool, v any) bool {
	var few [16]*queue
	wake := few[:0]
	t.mu.Lock()
	if t.queues.Load() != queues {
		t.mu.Unlock()
		return false
	}
	if t.closed == nil {
		t.seq++
		e := entry{t.seq, v}
		t.remember(e)
		for i, o := range t.subscribers() {
			if o.put(e, len(wants) == 0 || wants[i]) {
				wake = append(wake, o)
			}
		}
	}
	t.mu.Unlock()
	for _, o := range wake {
		o.wake()
	}
	return true
}

// remember adds an event to the history.
func (t *topic) remember(e entry) {
	if t.history.room = t.historySize(); t.history.room == 0 {
		return
	}
	if t.history.full() {
		t.history.pop()
	}
	t.history.push(e)
}

// after returns the remembered events after seq, the oldest first.
func (t *topic) after(seq uint64) []entry {
	oldest := t.seq - uint64(t.history.n) // the latest event that is not remembered
	skip := t.history.n
	if seq < t.seq {
		skip = int(max(seq, oldest) - oldest)
	}
	out := make([]entry, 0, t.history.n-skip)
	for i := skip; i < t.history.n; i++ {
		out = append(out, *t.history.at(i))
	}
	return out
}

// close closes the topic.
func (t *topic) close(why string) {
	failure := performatives.Failure{ErrorCode: performatives.CodeConversationEnded, ErrorText: why}
	if why == "" {
		failure.ErrorText = "there will be no more events"
	}
	t.mu.Lock()
	if t.closed != nil {
		t.mu.Unlock()
		return
	}
	t.closed = &failure
	t.mu.Unlock()
	for _, o := range t.subscribers() {
		o.close(failure)
	}
}

// detach removes a subscriber's queue.
func (t *topic) detach(o *queue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	rest := slices.DeleteFunc(slices.Clone(t.subscribers()), func(other *queue) bool { return other == o })
	t.queues.Store(&rest)
}
