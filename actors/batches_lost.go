package actors

// OnOrLost is [On] with a second function, which is called for each event of the type that finds the queue full, so that something of it can be counted. Its
// publisher calls it, and waits for it with the stream locked: it must be short, and must neither publish nor subscribe. Several publishers may call it at once.
func OnOrLost[E Event](fn func(seq uint64, ev *E), lost func(ev E)) Column {
	return &column[E]{fn: fn, lost: lost}
}

// loseLocked passes a lost event to the function for it, if there is one. Events.mu is held.
func (c *column[E]) loseLocked(ev Event) {
	if e, ok := ev.(E); ok && c.lost != nil {
		c.lost(e)
	}
}
