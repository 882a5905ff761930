package actors

import (
	"cmp"
	"fmt"
	"math"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/performatives"
)

// DefaultCapacity is the default of [MailboxOptions].Capacity, in messages per band.
const DefaultCapacity = 8192

// DefaultLongBytes is the default of [MailboxOptions].LongBytes.
const DefaultLongBytes = 64 << 20

// MailboxOptions configures a [Mailbox]. The zero value works.
type MailboxOptions struct {
	// Capacity is the largest number of queued messages per band (not bytes). The message
	// that is being handled does not count. Zero means [DefaultCapacity]. Slots of
	// handled messages are released in groups of up to an eighth of Capacity, at most 64,
	// so a band may be full with that many messages fewer.
	//
	// A request of NORMAL or LOW priority finds its band full, too, when 256 messages are queued of
	// which the oldest has waited for 5 s, or for a quarter of the time until the request's
	// ReplyBy.
	//
	// System messages and a PoisonPill have no limit: they are few, and an actor that
	// loses one may never end.
	Capacity int

	// LongBytes is the largest total size, in bytes, of queued long messages from remote
	// peers, in all bands together. A long message is one with a
	// [performatives.Message.Weight]. A message larger than LongBytes is accepted when no
	// other long message is queued. Zero means [DefaultLongBytes].
	LongBytes int

	// OnRefuse is called once with each message that is not handled, in its envelope if
	// it had one. It is called without a lock held, on the poster's goroutine for a
	// message refused on arrival, and on the actor's goroutine for a message that was
	// queued when the actor stopped. It must not panic and must not block.
	//
	// Nil sends a [*MailboxRefusal] to the sender of an envelope. A message without a sender
	// goes to the dead letters of the actor system.
	OnRefuse func(message any, reason Reason)
}

// withDefaults returns a copy with the zero values filled in.
func (o MailboxOptions) withDefaults() MailboxOptions {
	o.Capacity = cmp.Or(o.Capacity, DefaultCapacity)
	o.LongBytes = cmp.Or(o.LongBytes, DefaultLongBytes)
	return o
}

// validate returns an error that names the first invalid field.
func (o MailboxOptions) validate() error {
	if o.Capacity < 1 || o.Capacity > math.MaxInt32/2 {
		return fmt.Errorf("actors: MailboxOptions.Capacity: want 1 to %d, got %d", math.MaxInt32/2, o.Capacity)
	}
	if o.LongBytes < 1 {
		return fmt.Errorf("actors: MailboxOptions.LongBytes: want 1 or more, got %d", o.LongBytes)
	}
	return nil
}

// mailboxConfig is the configuration that the mailboxes of one producer share.
type mailboxConfig struct {
	onRefuse  func(message any, reason Reason)
	onDrained func(actor.MessageInvoker) // called once the actor has stopped and all queued messages are refused; may be nil
	capacity  int32
	longLimit int32 // LongBytes in KiB, rounded up
	step      int32 // number of slots that a band releases at a time
}

// newMailboxConfig panics on invalid options.
func newMailboxConfig(o MailboxOptions) *mailboxConfig {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		panic(err)
	}
	capacity := int32(o.Capacity)
	return &mailboxConfig{
		onRefuse:  o.OnRefuse,
		capacity:  capacity,
		longLimit: kibibytes(o.LongBytes),
		step:      max(1, min(64, capacity/8)),
	}
}

// Reason is the reason why a mailbox refused a message. The zero Reason means that the
// message was accepted.
type Reason uint8

// The reasons.
const (
	ReasonFull    Reason = iota + 1 // the band is at its capacity
	ReasonStopped                   // the actor has stopped
)

// String returns accepted, full or stopped.
func (r Reason) String() string {
	switch r {
	case 0:
		return "accepted"
	case ReasonFull:
		return "full"
	case ReasonStopped:
		return "stopped"
	}
	return fmt.Sprintf("Reason(%d)", uint8(r))
}

// Err returns [ErrMailboxFull] or [ErrStopped], and nil for an accepted message.
func (r Reason) Err() error {
	switch r {
	case ReasonFull:
		return ErrMailboxFull
	case ReasonStopped:
		return ErrStopped
	}
	return nil
}

// MailboxRefusal is the reply to a refused request when [MailboxOptions] has no OnRefuse. [Ask]
// returns it as the error.
type MailboxRefusal struct {
	Message any    // the refused message, without its envelope
	Reason  Reason // why it was refused
}

// Error returns the text of the reason's error.
func (r *MailboxRefusal) Error() string { return r.Reason.Err().Error() }

// Unwrap returns the reason's error.
func (r *MailboxRefusal) Unwrap() error { return r.Reason.Err() }

// kibibytes returns a size in units of 1 KiB, rounded up.
func kibibytes(bytes int) int32 { return int32(min((bytes+1023)>>10, math.MaxInt32/2)) }

// pushLong queues a message that has a weight, if LongBytes allows it.
func (m *Mailbox) pushLong(message *performatives.Message, at posting) Reason {
	n := kibibytes(message.Weight())
	if !m.reserveLong(n) {
		return ReasonFull
	}
	reason := m.push(message, at, m.config.capacity)
	if reason != 0 {
		m.longQueued.Add(-n)
	}
	return reason
}

// reserveLong adds n KiB to longQueued, and reports whether the limit allows it. The
// limit does not apply while no other long message is queued, nor before Start, because
// the invoker that refusals need is unknown until then.
func (m *Mailbox) reserveLong(n int32) bool {
	for {
		held := m.longQueued.Load()
		if held > 0 && held+n > m.config.longLimit && m.state.Load()&stateStarted != 0 {
			return false
		}
		if m.longQueued.CompareAndSwap(held, held+n) {
			return true
		}
	}
}
