package wire

import "github.com/ribosome-agents/ribosome/performatives"

// Dismiss closes the session in order, as [Session.Stop] does, and sends why to the peer as an
// error, so that its session ends with a [PeerError]. A nil why sends no error. Dismiss does not
// block and may be called by the [Handler].
func (s *Session) Dismiss(why *performatives.Refusal) {
	e := event{kind: stopRequested}
	if why != nil { // a nil *Refusal in err would be a non-nil error
		e.err, e.refusal = why, why
	}
	s.step(e)
}
