package codons

import (
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Option changes one thing about a conversation that is begun, of whichever codon.
// Options that make sense for one codon only have a type of their own, such as
// [DelegateOption]; an Option is one of those, too.
type Option func(*options)

// options is what can be said about any conversation as it is begun.
type options struct {
	priority     performatives.Priority
	ontology     string
	trace        string
	conversation performatives.ConversationID
	grace        time.Duration
	retry        Retry
	agreed       func()
	inReplyTo    string // what an opening act that is an answer refers to
	budget       Budget
	frugal       bool // of what budget does not name, it needs nothing
}

// newOptions applies opts to the defaults.
func newOptions(opts []Option) options {
	o := defaultOptions()
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

func defaultOptions() options { return options{grace: 2 * DefaultGrace} }

// WithPriority gives the conversation, all that is said in it, a band. Below a
// conversation that has another, [performatives.Normal] is as good as nothing said: it
// has that one's.
func WithPriority(p performatives.Priority) Option { return func(o *options) { o.priority = p } }

// WithOntology says in which vocabulary the content is written.
func WithOntology(ontology string) Option { return func(o *options) { o.ontology = ontology } }

// WithTrace gives the conversation a W3C traceparent.
func WithTrace(traceparent string) Option { return func(o *options) { o.trace = traceparent } }

// WithConversation names the conversation. It ends at once with
// [actors.ErrConversationExists] when one of that name is under way between the two
// agents; one that has ended may be followed by another. Without it, the
// conversation is named after its first message.
func WithConversation(id performatives.ConversationID) Option {
	return func(o *options) { o.conversation = id }
}

// WithGrace says how long to wait, after CANCEL, for the peer to say that it has
// stopped. Zero or less is not at all; without it, the time is twice
// [DefaultGrace], so that a peer whose handler does not stop can still say so.
func WithGrace(d time.Duration) Option { return func(o *options) { o.grace = d } }

// WithRetry says how often a message that has no answer yet is sent again. Only
// acts that the peer recognises as the same ones are: it answers them with its
// first answer.
func WithRetry(r Retry) Option { return func(o *options) { o.retry = r } }

// WithAgreed has fn called when the peer says that it will do it, and takes a while
// (AGREE), in the codons that have that act. It may never be: AGREE may be skipped,
// lost, or overtaken by the answer. fn must not block, nor wait for the
// conversation; its panic ends that.
func WithAgreed(fn func()) Option { return func(o *options) { o.agreed = fn } }

// WithBudget says how much the work on it may use. Below a conversation that has a
// budget itself, it is leased out of that one and what is not used is given back;
// when that does not suffice, nothing is begun and the error says what is missing.
// Without it, such a conversation gets all that is left there at the time, so that
// several at a time should each be given a part, as [Scatter] and [CallForProposals]
// do by themselves.
func WithBudget(b Budget) Option { return func(o *options) { o.budget = b } }

// Retry is how a message is sent again while it has no answer: after First, then
// after twice as long each time, up to Max. Once the peer has agreed, the times are
// six times as long. The zero value has the defaults.
type Retry struct {
	First  time.Duration // zero means [DefaultRetry], less is never
	Max    time.Duration // zero means 16 times First
	Jitter float64       // the part of each wait, from 0 to 1, that is left to chance; zero means 0.25, less means none
}

// NoRetry sends nothing again.
func NoRetry() Retry { return Retry{First: -1} }

// defaultJitter keeps the retries of many that were begun at once apart.
const defaultJitter = 0.25

// wait is the time before the n-th retry, counted from 1, of a message. Chance is
// drawn from its id, so that a simulation with the same ids takes the same course.
func (r Retry) wait(of performatives.MessageID, n int) time.Duration {
	if r.First < 0 {
		return never
	}
	if r.First == 0 {
		r.First = DefaultRetry
	}
	if r.Max <= 0 {
		r.Max = 16 * r.First
	}
	wait := r.First << min(n-1, 16)
	if wait <= 0 || wait > r.Max { // it may be more than a duration can say
		wait = max(r.Max, r.First)
	}
	return wait - time.Duration(r.jitter()*chance(of, n)*float64(wait))
}

func (r Retry) jitter() float64 {
	switch {
	case r.Jitter == 0:
		return defaultJitter
	case r.Jitter < 0:
		return 0
	}
	return min(r.Jitter, 1)
}

// chance is a number from 0 up to 1 that an id and a count decide: FNV-1a, which
// needs no memory.
func chance(of performatives.MessageID, n int) float64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for i := range len(of) {
		h = (h ^ uint64(of[i])) * prime
	}
	h = (h ^ uint64(n)) * prime
	h ^= h >> 32 // its low bits are the better ones
	h *= prime
	return float64(h>>11) / (1 << 53)
}
