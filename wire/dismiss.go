package wire

import "github.com/ribosome-agents/ribosome/performatives"

// Dismiss closes the session in order, as [Session.Stop] does, and tells the peer why. It
// does not wait, and may be called by the [Handler].
func (s *Session) Dismiss(why *performatives.Refusal) {
	s.step(event{what: stopping, err: why})
}
