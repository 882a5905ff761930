package wire

import "github.com/ribosome-agents/ribosome/performatives"

// Dismiss closes the session in order, as [Session.Stop] does, and tells the peer why. It
// does not wait, and may be called by the [Handler]. A nil why says nothing.
func (s *Session) Dismiss(why *performatives.Refusal) {
	e := event{what: stopping}
	if why != nil { // else err would be a nil that is none
		e.err = why
	}
	s.step(e)
}
