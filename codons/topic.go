package codons

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Topic is what an agent publishes: events of one type, to all that are subscribed.
// Its methods may be called from any goroutine. The zero Topic works.
type Topic[T any] struct{ board board }

// TopicOptions configures a [Topic]. The zero value works.
type TopicOptions struct {
	// Buffer is how many events may wait for one subscriber. When there are more,
	// that subscriber loses its oldest and is told how many. Zero means
	// [DefaultBuffer].
	Buffer int
	// History is how many events are kept for who resumes after a break. Zero means
	// [DefaultHistory], less none.
	History int
}

// Defaults of a topic and of who is subscribed to it.
const (
	DefaultBuffer  = 1024
	DefaultHistory = 256
)

// NewTopic returns a topic with those options.
func NewTopic[T any](o TopicOptions) *Topic[T] { return &Topic[T]{board{options: o}} }

// Publish informs everyone who is subscribed. It never waits: an event for whom there
// is no room takes the place of the oldest that waits for the same subscriber. It
// does nothing once the topic is closed. The predicates of the feeds run in it, so
// they must be fast; they may run more than once for an event, and at once in several
// goroutines that publish.
func (t *Topic[T]) Publish(v T) { t.board.publish(v) }

// Close ends all subscriptions, each once it has been sent what waits for it, with
// FAILURE of that text. Closing again does nothing.
func (t *Topic[T]) Close(why string) { t.board.close(why) }

// Subscribers is how many are subscribed.
func (t *Topic[T]) Subscribers() int { return len(t.board.subscribers()) }

// Feed is all that the topic publishes.
func (t *Topic[T]) Feed() Feed { return Feed{board: &t.board} }

// Where is what the topic publishes of which want is true. want must not change
// anything, must not block, and may run on any goroutine. Its panic ends the
// subscription with FAILURE, and no other.
func (t *Topic[T]) Where(want func(T) bool) Feed {
	return Feed{board: &t.board, match: func(v any) bool {
		e, _ := v.(T) // only T is published; of an interface it may be nil, which v.(T) alone would not take
		return want(e)
	}}
}

// Whenever is what the topic publishes when cond becomes true: the first for which it
// is, and again the first for which it is after one for which it was not. If it holds
// for the latest that was published, that is the first. cond is as want of [Where].
func (t *Topic[T]) Whenever(cond func(T) bool) Feed {
	f := t.Where(cond)
	f.edge = true
	return f
}

// Feed is what a subscriber is informed of. [Topic] makes them.
type Feed struct {
	board *board
	match func(any) bool
	edge  bool
}

// board is a topic of whatever type.
type board struct {
	options TopicOptions
	outlets atomic.Pointer[[]*outlet] // never changed but replaced, under mu

	mu      sync.Mutex
	epoch   string // empty before the first subscriber
	seq     uint64
	history []entry // the oldest at next once it is full
	next    int
	closed  *performatives.Failure
}

func (b *board) subscribers() []*outlet {
	if all := b.outlets.Load(); all != nil {
		return *all
	}
	return nil
}

// buffer is how many events may wait for one subscriber.
func (b *board) buffer() int {
	if b.options.Buffer <= 0 {
		return DefaultBuffer
	}
	return b.options.Buffer
}

func (b *board) remembers() int {
	if b.options.History == 0 {
		return DefaultHistory
	}
	return max(b.options.History, 0)
}

// publish asks the predicates first, which are others' code and run without a lock,
// and again should the subscribers have changed meanwhile.
func (b *board) publish(v any) {
	for {
		outlets := b.outlets.Load()
		if b.put(outlets, wanted(outlets, v), v) {
			return
		}
	}
}

// wanted reports for whom an event is; nil is for all.
func wanted(outlets *[]*outlet, v any) []bool {
	if outlets == nil || !slices.ContainsFunc(*outlets, func(o *outlet) bool { return o.match != nil }) {
		return nil
	}
	wants := make([]bool, len(*outlets))
	for i, o := range *outlets {
		wants[i] = o.wants(v)
	}
	return wants
}

// put gives an event to the outlets, unless they are not those of the topic any more.
func (b *board) put(outlets *[]*outlet, wants []bool, v any) bool {
	var few [16]*outlet
	wake := few[:0]
	b.mu.Lock()
	if b.outlets.Load() != outlets {
		b.mu.Unlock()
		return false
	}
	if b.closed == nil {
		b.seq++
		e := entry{b.seq, v}
		b.remember(e)
		for i, o := range b.subscribers() {
			if o.put(e, len(wants) == 0 || wants[i]) {
				wake = append(wake, o)
			}
		}
	}
	b.mu.Unlock()
	for _, o := range wake {
		o.tell(commandPublish, nil)
	}
	return true
}

// remember keeps an event for who resumes.
func (b *board) remember(e entry) {
	limit := b.remembers()
	if limit == 0 {
		return
	}
	if len(b.history) < limit {
		b.history = append(b.history, e)
		return
	}
	b.history[b.next] = e
	b.next = (b.next + 1) % limit
}

// after returns what is remembered from behind seq, oldest first.
func (b *board) after(seq uint64) []entry {
	oldest := b.seq - uint64(len(b.history)) // the last that is not remembered
	skip := len(b.history)
	if seq < b.seq {
		skip = int(max(seq, oldest) - oldest)
	}
	out := make([]entry, 0, len(b.history)-skip)
	for i := skip; i < len(b.history); i++ {
		out = append(out, b.history[(b.next+i)%len(b.history)])
	}
	return out
}

// close ends the topic.
func (b *board) close(why string) {
	failure := performatives.Failure{ErrorCode: performatives.CodeConversationEnded, ErrorText: why}
	if why == "" {
		failure.ErrorText = "there will be no more events"
	}
	b.mu.Lock()
	first := b.closed == nil
	if first {
		b.closed = &failure
	}
	b.mu.Unlock()
	if !first {
		return
	}
	for _, o := range b.subscribers() {
		o.close(failure)
	}
}

// detach forgets a subscriber.
func (b *board) detach(o *outlet) {
	b.mu.Lock()
	defer b.mu.Unlock()
	rest := slices.DeleteFunc(slices.Clone(b.subscribers()), func(other *outlet) bool { return other == o })
	b.outlets.Store(&rest)
}
