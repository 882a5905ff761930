package events

// OnOrLost is [On] with a second function. It is called for each event of the type that finds the
// queue full, so that the event can be counted. The publisher calls lost with the stream locked:
// calls come one at a time, perhaps while fn runs. lost must be short, and must neither publish,
// subscribe, nor call a method of Batches.
func OnOrLost[E Event](fn func(seq uint64, ev *E), lost func(ev E)) Column {
	return &column[E]{fn: fn, lost: lost}
}

// loseLocked passes a lost event to the function for it, if there is one. The stream is locked.
func (c *column[E]) loseLocked(ev Event) {
	if e, ok := ev.(E); ok && c.lost != nil {
		c.lost(e)
	}
}
