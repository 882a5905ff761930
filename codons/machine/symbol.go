package machine

import (
	"fmt"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Kind is the origin of an event.
type Kind uint8

// The kinds of symbols. The zero value is none of them.
const (
	KindReceive       Kind = iota + 1 // a message with a new id
	KindDuplicate                     // a message with an id that was received before
	KindStale                         // a reply to an earlier request than the latest, or an overtaken request
	KindCommand                       // a command of this side's agent or of one of its jobs
	KindTimeout                       // the expiry of an armed timer
	KindUndeliverable                 // the runtime could not deliver one copy of a message of this side
	KindUndelivered                   // no copy of the latest message of an act of this side can have arrived
	KindPeerLost                      // the destination of the peer has gone

	kindOtherRequest // a wildcard: fresh messages that expect a reply
	kindOtherNotice  // a wildcard: fresh messages that expect no reply
	kindOtherRepeat  // a wildcard: duplicates
	kindOtherRefused // a wildcard: refused copies of messages of this side, and its undelivered messages
)

var kindNames = [...]string{
	KindReceive: "receive", KindDuplicate: "duplicate", KindStale: "stale", KindCommand: "command", KindTimeout: "timeout",
	KindUndeliverable: "undeliverable", KindUndelivered: "undelivered", KindPeerLost: "peer lost",
	kindOtherRequest: "any other request", kindOtherNotice: "any other notice",
	kindOtherRepeat: "any other duplicate", kindOtherRefused: "any other refused copy",
}

// String returns the name in lower case.
func (k Kind) String() string {
	if k == 0 || int(k) >= len(kindNames) {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return kindNames[k]
}

// Symbol is the part of an event that a row matches: its time and id are left out.
// Symbols compare with ==. Make them with the functions below.
type Symbol struct {
	Kind Kind
	Act  performatives.Performative // of the message; zero for commands, timeouts and a lost peer
	Name string                     // the command or the timer; for a message its tag, mostly empty
}

// Receive is the arrival of a message with a new id.
func Receive(act performatives.Performative) Symbol { return Symbol{Kind: KindReceive, Act: act} }

// ReceiveTagged is [Receive] of a message whose content decides which row applies,
// such as an INFORM_RESULT that asks for input (addenda §3). Where the state has no
// row for the tag, the row for the act without a tag applies.
func ReceiveTagged(act performatives.Performative, tag string) Symbol {
	return Symbol{Kind: KindReceive, Act: act, Name: tag}
}

// Duplicate is the arrival of a message whose id was received before in the
// conversation: the peer has sent it again because it got no reply, or the network
// has delivered it twice.
func Duplicate(act performatives.Performative) Symbol { return Symbol{Kind: KindDuplicate, Act: act} }

// Stale is the arrival of a reply with a new id whose InReplyTo names an earlier
// request of this side than its latest request of the same act: a late reply of a
// finished round. At the responder it is the arrival of a request that a later request
// of the same act has overtaken. As an event it keeps the tag of the message. Where the state has
// no row for it, the row for [Receive] applies.
func Stale(act performatives.Performative) Symbol { return Symbol{Kind: KindStale, Act: act} }

// StaleTagged is [Stale] of a message whose content decides which row applies, as [ReceiveTagged]
// says.
func StaleTagged(act performatives.Performative, tag string) Symbol {
	return Symbol{Kind: KindStale, Act: act, Name: tag}
}

// Commanded is a command of the agent on this side, or of one of its jobs.
func Commanded(name string) Symbol { return Symbol{Kind: KindCommand, Name: name} }

// Timeout is the expiry of an armed timer.
func Timeout(timer string) Symbol { return Symbol{Kind: KindTimeout, Name: timer} }

// Undeliverable is a refusal by the runtime of one copy of a message of that act
// that this side has sent: the peer's mailbox was full, its agent had stopped or
// was unreachable, or the copy had expired. It is not a reply of the peer, and
// another copy of the message can still arrive: where none can, the event is
// [Undelivered] in its place.
func Undeliverable(act performatives.Performative) Symbol {
	return Symbol{Kind: KindUndeliverable, Act: act}
}

// Undelivered is a refusal by the runtime after which no copy of this side's latest
// message of that act can have arrived: the runtime has refused every copy, and no
// message of the peer has come since the first. A full mailbox is never the last
// refusal of a CANCEL, because the work that it withdraws goes on.
func Undelivered(act performatives.Performative) Symbol {
	return Symbol{Kind: KindUndelivered, Act: act}
}

// PeerLost is the loss of the peer's destination: its agent has stopped, or its
// session or node has gone. A table needs no rows for it.
func PeerLost() Symbol { return Symbol{Kind: KindPeerLost} }

// The wildcards below stand, in a [Row], for all events of a kind that no other row of
// the same state names. Those of receptions cover all acts, including those that the
// protocol does not use. [Table.Compile] expands them; they are not events.

// OtherRequests stands for the fresh receptions of acts that expect a reply.
func OtherRequests() Symbol { return Symbol{Kind: kindOtherRequest} }

// OtherNotices stands for the fresh receptions of acts that expect no reply.
func OtherNotices() Symbol { return Symbol{Kind: kindOtherNotice} }

// OtherDuplicates stands for the duplicates.
func OtherDuplicates() Symbol { return Symbol{Kind: kindOtherRepeat} }

// OtherRefusedCopies stands for [Undeliverable] and [Undelivered] of the acts of this side
// of which a refusal is reported: those that expect a reply, and those that open the
// conversation.
func OtherRefusedCopies() Symbol { return Symbol{Kind: kindOtherRefused} }

// String returns words such as "receive TASK_ACCEPT", "timeout deadline",
// "undeliverable TASK_REQUEST" or "peer lost".
func (s Symbol) String() string {
	text := s.Kind.String()
	if s.Act != 0 {
		text += " " + s.Act.String()
	}
	switch {
	case s.Name == "":
		return text
	case s.Act != 0:
		return text + " (" + s.Name + ")"
	}
	return text + " " + s.Name
}

// MarshalText returns the text of String.
func (s Symbol) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// wildcard reports whether the symbol is a wildcard.
func (s Symbol) wildcard() bool { return s.Kind >= kindOtherRequest }
