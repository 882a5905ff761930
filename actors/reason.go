package actors

import "fmt"

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

// Refused is the reply to a refused request when [MailboxOptions] has no OnRefuse. [Ask]
// returns it as the error.
type Refused struct {
	Message any    // the refused message, without its envelope
	Reason  Reason // why it was refused
}

// Error returns the text of the reason's error.
func (r *Refused) Error() string { return r.Reason.Err().Error() }

// Unwrap returns the reason's error.
func (r *Refused) Unwrap() error { return r.Reason.Err() }
