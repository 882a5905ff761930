package actors

import (
	"fmt"
	"math"

	"github.com/asynkron/protoactor-go/actor"
)

// DefaultCapacity is the capacity of a band for which [MailboxOptions] says
// nothing.
const DefaultCapacity = 8192

// DefaultLongBytes is the bound on long messages for which [MailboxOptions] says nothing.
const DefaultLongBytes = 64 << 20

// MailboxOptions configures a [Mailbox]. The zero value works.
type MailboxOptions struct {
	// Capacity is the largest number of queued messages per band (not bytes);
	// the message that is being handled does not count. Zero means
	// [DefaultCapacity]. In a full band the places of handled messages may be
	// given back up to an eighth of Capacity, but no more than 64, late.
	//
	// System messages and a PoisonPill have no limit: they are few, and losing
	// one would lose an actor.
	Capacity int

	// LongBytes is how many bytes of long messages from outside, those that have a
	// [performatives.Message.Weight], may be queued in all bands together. One that is
	// longer than all of them gets in when no other waits. Zero means
	// [DefaultLongBytes].
	LongBytes int

	// OnRefuse gets each message that is not handled, once, as it was posted:
	// with its envelope, if it had one. It is called without a lock held: on the
	// poster's goroutine for a message that is refused when it is posted, on the
	// actor's for what was queued when the actor stopped. It must not panic, and
	// must not block.
	//
	// Nil answers an envelope's sender with a [*Refused], and sends what has no
	// sender to the actor system's dead letters.
	OnRefuse func(message any, reason Reason)
}

// withDefaults returns a copy with the zero values filled in.
func (o MailboxOptions) withDefaults() MailboxOptions {
	if o.Capacity == 0 {
		o.Capacity = DefaultCapacity
	}
	if o.LongBytes == 0 {
		o.LongBytes = DefaultLongBytes
	}
	return o
}

// validate reports the field that cannot be.
func (o MailboxOptions) validate() error {
	if o.Capacity < 1 || o.Capacity > math.MaxInt32/2 {
		return fmt.Errorf("actors: MailboxOptions.Capacity: want 1 to %d, got %d", math.MaxInt32/2, o.Capacity)
	}
	if o.LongBytes < 1 {
		return fmt.Errorf("actors: MailboxOptions.LongBytes: want 1 or more, got %d", o.LongBytes)
	}
	return nil
}

// mailboxConfig is what the mailboxes of one producer share.
type mailboxConfig struct {
	onRefuse  func(message any, reason Reason)
	onDrained func(actor.MessageInvoker) // called once the actor has stopped and all that was queued is refused; may be nil
	capacity  int32
	long      int32 // what LongBytes is, in units of 1 KiB
	step      int32 // how many places a band gives back at a time
}

// newMailboxConfig panics on options that cannot be.
func newMailboxConfig(o MailboxOptions) *mailboxConfig {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		panic(err)
	}
	capacity := int32(o.Capacity)
	return &mailboxConfig{
		onRefuse: o.OnRefuse,
		capacity: capacity,
		long:     units(o.LongBytes),
		step:     max(1, min(64, capacity/8)),
	}
}
