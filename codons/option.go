package codons

import (
	"cmp"
	"fmt"
	"path"
	"reflect"
	goruntime "runtime"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Option changes one option of a conversation. The options of this package suit every codon. A
// codon adds options of its own by [Setting].
type Option func(*Options)

// Options are the options of a conversation. [NewOptions] makes them with the defaults. The zero
// value works and has no grace.
type Options struct {
	priority     performatives.Priority
	ontology     string
	trace        string
	conversation performatives.ConversationID
	grace        time.Duration
	retry        Retry
	agreed       func()
	inReplyTo    string // the InReplyTo of the opening act; empty for none
	budget       Budget
	frugal       bool // the conversation leases no quantity that budget does not name
	reserve      time.Duration
	settings     []setting                // of codons, each of a type of its own
	timers       map[string]time.Duration // of the initiator, by name
}

// setting is the settings of one codon. Copies of the Options share it.
type setting struct {
	value any  // a pointer to the settings
	by    any  // the function of the option that was the first to change them
	read  bool // the codon has read them
}

// NewOptions returns the default options with opts applied.
func NewOptions(opts ...Option) Options {
	if len(opts) == 0 {
		return Options{grace: 2 * DefaultGrace} // on the stack: options move it to the heap
	}
	o := Options{grace: 2 * DefaultGrace}
	o.Apply(opts...)
	return o
}

// Apply applies further options, in their order.
func (o *Options) Apply(opts ...Option) {
	for _, opt := range opts {
		opt(o)
	}
}

// Setting returns an option of one codon. set changes the codon's own settings of type T, which
// [Settings] returns. The settings must be read before [InitiatorSide.Prepare]: a conversation does
// not begin with an option that its codon has not read, as [Options.Check] says.
func Setting[T any](set func(*T)) Option {
	return func(o *Options) {
		for i := range o.settings {
			if t, ok := o.settings[i].value.(*T); ok {
				set(t)
				return
			}
		}
		t := new(T)
		o.settings = append(o.settings, setting{value: t, by: set})
		set(t)
	}
}

// Settings returns the settings of type T, that [Setting] has changed, else a zero T.
func Settings[T any](o *Options) T {
	for i := range o.settings {
		if t, ok := o.settings[i].value.(*T); ok {
			o.settings[i].read = true
			return *t
		}
	}
	var none T
	return none
}

// Check returns an error for an option of another codon: one whose settings [Settings] has not
// read, or a timer that the table does not have. It names the option and c. [InitiatorSide.Prepare]
// calls it; only a codon that sends its messages without an [InitiatorSide] needs to.
func (o *Options) Check(c *Codon) error {
	for _, s := range o.settings {
		if !s.read {
			return fmt.Errorf("codons: the option %s is not one of the codon %s", s.name(), c.Name())
		}
	}
	for name, d := range o.timers {
		if err := c.checkTimer(machine.Initiator, name, d); err != nil {
			return err
		}
	}
	return nil
}

// name returns the name of the option in source code: the package of the settings, and the
// function that called [Setting], of which the option's own function is a closure.
func (s setting) name() string {
	of := reflect.TypeOf(s.value).Elem()
	name := goruntime.FuncForPC(reflect.ValueOf(s.by).Pointer()).Name()
	name = strings.ReplaceAll(name[strings.LastIndexByte(name, '/')+1:], "[...]", "")
	parts := strings.Split(name, ".")
	for len(parts) > 1 && strings.TrimRight(strings.TrimPrefix(parts[len(parts)-1], "func"), "0123456789") == "" {
		parts = parts[:len(parts)-1]
	}
	return path.Base(of.PkgPath()) + "." + parts[len(parts)-1]
}

// Grace returns the time that the initiator waits for the end after CANCEL. Zero or less means not
// at all.
func (o *Options) Grace() time.Duration { return o.grace }

// Retry returns the retry policy of [WithRetry], zero for the defaults.
func (o *Options) Retry() Retry { return o.retry }

// Agreed calls the function of [WithAgreed], if it was given.
func (o *Options) Agreed() {
	if o.agreed != nil {
		o.agreed()
	}
}

// Budget returns the allowance of [WithBudget], nil without one.
func (o *Options) Budget() Budget { return o.budget }

// Priority returns the priority of [WithPriority].
func (o *Options) Priority() performatives.Priority { return o.priority }

// Trace returns the traceparent of [WithTrace], empty without one.
func (o *Options) Trace() string { return o.trace }

// Conversation returns the id of [WithConversation], empty without one.
func (o *Options) Conversation() performatives.ConversationID { return o.conversation }

// Ontology returns the ontology of [WithOntology], empty without one.
func (o *Options) Ontology() string { return o.ontology }

// WithReplyTo sets the InReplyTo of the opening act to a message id or a ticket, for codons whose
// opening act is an answer.
func WithReplyTo(reference string) Option { return func(o *Options) { o.inReplyTo = reference } }

// WithFrugalBudget has the conversation lease only the quantities that [WithBudget] names and one
// call. Every other limited quantity is zero for it.
func WithFrugalBudget() Option { return func(o *Options) { o.frugal = true } }

// WithDeadlineReserve sets the deadline reserve of a child: the child's deadline is d earlier than
// the parent's, so that the parent can answer after it. Zero, the default, means an eighth of the
// remaining time and at most a second. Less than zero means no reserve.
func WithDeadlineReserve(d time.Duration) Option { return func(o *Options) { o.reserve = d } }

// WithPriority sets the priority of all messages of the conversation. In a child,
// [performatives.Normal] means the priority of the parent.
func WithPriority(p performatives.Priority) Option { return func(o *Options) { o.priority = p } }

// WithOntology sets the Ontology of the messages: the vocabulary of their content.
func WithOntology(ontology string) Option { return func(o *Options) { o.ontology = ontology } }

// WithTrace sets the W3C traceparent of the conversation. A child without one has the parent's.
func WithTrace(traceparent string) Option { return func(o *Options) { o.trace = traceparent } }

// WithConversation sets the id of the conversation. The conversation ends at once with
// [actors.ErrConversationExists] when one of the same id is under way between the two agents.
// The id of an ended conversation may be used again. Without this option the id is that of the
// first message.
func WithConversation(id performatives.ConversationID) Option {
	return func(o *Options) { o.conversation = id }
}

// WithGrace sets the time to wait for the receipt after CANCEL. Zero or less means not at all. The
// default is twice [DefaultGrace], so that a peer whose handler does not return can still answer.
func WithGrace(d time.Duration) Option { return func(o *Options) { o.grace = d } }

// WithRetry sets the retry policy of messages without an answer. A retry has the same message id,
// so the peer recognises the duplicate and replays its reply.
func WithRetry(r Retry) Option { return func(o *Options) { o.retry = r } }

// WithTimer sets the duration of a timer of the initiator, in place of [machine.Timer.After]. The
// conversation does not begin if the table has no such timer of its own, or d is not more than
// zero.
func WithTimer(name string, d time.Duration) Option {
	return func(o *Options) {
		if o.timers == nil {
			o.timers = map[string]time.Duration{}
		}
		o.timers[name] = d
	}
}

// WithAgreed has fn called when the peer sends AGREE, in codons that have that act. AGREE may be
// skipped, lost or overtaken by the answer, so fn may never be called. fn runs on the actor of
// the conversation: it must not block or wait for the conversation. A panic of fn ends the
// conversation.
func WithAgreed(fn func()) Option { return func(o *Options) { o.agreed = fn } }

// WithBudget sets the budget of the conversation. A child leases it from the budget of its parent
// and returns the unused part. When that does not suffice, the conversation does not begin, and
// the error is a [*performatives.Refusal] with [performatives.CodeBudget]. Of a resource that b
// does not name a child leases the whole remainder, so several children at a time need
// [WithBudgetShare].
func WithBudget(b Budget) Option { return func(o *Options) { o.budget = b } }

// Retry is the retry policy of a message without an answer: the first retry after First, each
// further one after twice the time, up to Max. Once the peer has answered, though not finally, the
// times are six times as long. A copy that was refused as busy with a
// [performatives.Refusal].RetryAfter puts the next retry off, as [Retry.WaitAfter] says. The zero
// value means the defaults.
type Retry struct {
	First  time.Duration // First is the time before the first retry. Zero means [DefaultRetry], less means no retries.
	Max    time.Duration // Max is the longest time between retries. Zero or less means 16 times First.
	Jitter float64       // Jitter is the random part of each time, from 0 to 1. Zero means 0.25, less means none.

	// Busy is for a request that was refused as busy with a [performatives.Refusal].RetryAfter, by
	// the peer or on the way to it. That ends its conversation. With Busy, the calls that wait for
	// the end, such as [Codon.Ask], delegation.Delegate and request.Request, then begin another
	// conversation, after RetryAfter and up to half of it more, at random, again and again, but
	// never past the deadline: they return the refusal at once where the wait does not fit. Calls
	// that do not wait, such as [Codon.Start], and those with several peers begin no other
	// conversation.
	Busy bool
}

// NoRetry returns the policy without retries.
func NoRetry() Retry { return Retry{First: -1} }

// defaultJitter spreads the retries of conversations that began at the same time.
const defaultJitter = 0.25

// Wait returns the time before the n-th retry of a message, counted from 1. [Never] means no
// retry. Its random part is a function of the message id, so a simulation with the same ids
// repeats itself. It is pure.
func (r Retry) Wait(of performatives.MessageID, n int) time.Duration {
	if r.First < 0 {
		return Never
	}
	r.First = cmp.Or(r.First, DefaultRetry)
	r.Max = cmp.Or(max(r.Max, 0), 16*r.First)
	wait := r.First << min(n-1, 16)
	if wait <= 0 || wait > r.Max { // r.First << n may overflow
		wait = max(r.Max, r.First)
	}
	jitter := min(max(cmp.Or(r.Jitter, defaultJitter), 0), 1)
	return wait - time.Duration(jitter*chance(of, n)*float64(wait))
}

// chance returns a number in [0, 1) that depends on an id and a count. It is an FNV-1a hash, which
// allocates nothing.
func chance(of performatives.MessageID, n int) float64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for i := range len(of) {
		h = (h ^ uint64(of[i])) * prime
	}
	h = (h ^ uint64(n)) * prime
	h ^= h >> 32 // the low bits of FNV-1a are mixed better
	h *= prime
	return float64(h>>11) / (1 << 53)
}
