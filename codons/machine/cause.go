package machine

import "slices"

// Cause is an event that a [Pair] of end states presupposes. The zero value is [Lost]. Causes
// compare with ==. Make them with the functions below.
type Cause struct {
	Kind CauseKind
	Role Role   // zero for the loss of a message
	On   Symbol // of [CauseEvent]
}

// CauseKind is a kind of cause. The zero value is [CauseLoss].
type CauseKind uint8

// The kinds of causes.
const (
	CauseLoss      CauseKind = iota // the network loses a message
	CauseEvent                      // an event of one side
	CauseForgotten                  // a side that has ended forgets its replies
)

// At is an event of one side: the expiry of a timer that does not tick, the stop of its agent, the
// loss of its peer, or the refusal of one of its messages.
func At(role Role, on Symbol) Cause { return Cause{Kind: CauseEvent, Role: role, On: on} }

// Lost is the loss of a message on its way, also of one that expires there.
func Lost() Cause { return Cause{} }

// Forgotten is the loss of the replies that a side keeps for duplicates after its end: it tells a
// duplicate that the conversation has ended, and not how.
func Forgotten(role Role) Cause { return Cause{Kind: CauseForgotten, Role: role} }

// String returns words such as "timeout deadline of the initiator", "loss of a message" or "loss of
// the responder's replies".
func (c Cause) String() string {
	switch c.Kind {
	case CauseLoss:
		return "loss of a message"
	case CauseForgotten:
		return "loss of the " + c.Role.String() + "'s replies"
	case CauseEvent:
	}
	return c.On.String() + " of the " + c.Role.String()
}

// Allowed reports whether a conversation may end in the pair after the events of its sides: the
// pair is not rough, or one of its causes has occurred. The loss of a message or of replies is no
// event of a side, and always possible.
func (p Pair) Allowed(occurred func(Role, Symbol) bool) bool {
	return !p.Rough() || slices.ContainsFunc(p.After, func(c Cause) bool { return c.Kind != CauseEvent || occurred(c.Role, c.On) })
}

// checkCauses finds causes that cannot occur, because the side has no row for the event.
func (c *compiler) checkCauses(p Pair) {
	for i, cause := range p.After {
		switch {
		case slices.Contains(p.After[:i], cause):
			c.fault("the pair %s, %s names %s twice", p.Initiator, p.Responder, cause)
		case cause.Kind == CauseEvent && !c.table.Takes(cause.Role, cause.On):
			c.fault("the pair %s, %s is declared to come after %s, which has no row", p.Initiator, p.Responder, cause)
		}
	}
}
