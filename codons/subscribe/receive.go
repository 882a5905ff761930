package subscribe

// heard records that the publisher has agreed. An event implies the AGREE. It reports whether this
// is the first time.
func (s *Stream[T]) heard() (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first = !s.answered
	s.status.State, s.answered = StreamSubscribed, true
	if s.broken != nil {
		s.broken.Attempts = s.status.Attempts
	}
	s.status.Attempts = 0
	s.firstLocked()
	return first
}

// firstLocked ends the wait for the first answer of the publisher.
func (s *Stream[T]) firstLocked() {
	select {
	case <-s.first:
	default:
		close(s.first)
	}
}

// agreed applies the content of an AGREE.
func (s *Stream[T]) agreed(a Agreed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.enterLocked(a.Stream, a.From.Epoch, a.Resumed)
	if s.last.Epoch != a.From.Epoch { // else events of this epoch came before the AGREE
		s.last = a.From
	}
}

// enterLocked begins a run of events, unless it is the current one.
func (s *Stream[T]) enterLocked(run, epoch string, resumed bool) {
	if s.run == run {
		return
	}
	s.run, s.number = run, 0
	if s.last.Epoch != "" && !(resumed && s.last.Epoch == epoch) {
		s.uncounted = true
	}
}

// arrived adds an event to the backlog. It returns false for an event that is older than the
// latest. gone, if not nil, is called when there is room for another window after the event.
func (s *Stream[T]) arrived(p Published, v T, gone func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.enterLocked(p.Stream, p.Epoch, p.Resumed)
	if p.Number <= s.number {
		return false // a later event overtook it, and it was counted as lost
	}
	lost := p.Number - s.number - 1
	s.number = p.Number
	if s.last.Epoch == p.Epoch {
		if p.Seq <= s.last.Seq {
			return false // it arrived before the break
		}
		lost = min(lost, p.Seq-s.last.Seq-1)
	}
	s.last = p.Position
	s.putLocked(Event[T]{Position: p.Position, Value: v, Lost: lost}, gone)
	return true
}

// bare adds an event of a peer that sends no numbers.
func (s *Stream[T]) bare(v T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.putLocked(Event[T]{Value: v}, nil)
}

func (s *Stream[T]) putLocked(e Event[T], gone func()) {
	e.Uncounted, e.Break = s.uncounted, s.broken
	s.uncounted, s.broken = false, nil
	if gone = s.backlog.put(item[T]{e, gone}); gone != nil {
		gone()
	}
}
