package machine

import "slices"

// Cause is an event that a [Pair] of end states presupposes: an event of one side, or the loss of a
// message. The zero value is [Loss]. Causes compare with ==.
type Cause struct {
	Role Role
	On   Symbol // of the side; zero for the loss of a message
}

// At is an event of one side: the expiry of a timer that does not tick, the stop of its agent, the loss of
// its peer, or the refusal of one of its messages.
func At(role Role, on Symbol) Cause { return Cause{Role: role, On: on} }

// Loss is the loss of a message on its way, also of one that expires there.
func Loss() Cause { return Cause{} }

// String returns words such as "timeout deadline of the initiator" or "loss of a message".
func (c Cause) String() string {
	if c == Loss() {
		return "loss of a message"
	}
	return c.On.String() + " of the " + c.Role.String()
}

// checkCauses finds causes that cannot occur, because the side has no row for the event.
func (c *compiler) checkCauses(p Pair) {
	for i, cause := range p.After {
		switch {
		case slices.Contains(p.After[:i], cause):
			c.fault("the pair %s, %s names %s twice", p.Initiator, p.Responder, cause)
		case cause != Loss() && !c.takes(cause.Role, cause.On):
			c.fault("the pair %s, %s is declared to come after %s, which has no row", p.Initiator, p.Responder, cause)
		}
	}
}
