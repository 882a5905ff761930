package codons

// heard is told that the publisher has agreed, or has informed, which implies it. It
// reports whether that is the first time.
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

// firstLocked lets go who waits for the publisher's first word.
func (s *Stream[T]) firstLocked() {
	select {
	case <-s.first:
	default:
		close(s.first)
	}
}

// agreed takes what the publisher says of its run of events.
func (s *Stream[T]) agreed(a Agreed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.enterLocked(a.Stream, a.From.Epoch, a.Resumed)
	if s.last.Epoch != a.From.Epoch { // what has come since would have said so
		s.last = a.From
	}
}

// enterLocked begins to follow a run of events, if it is a new one.
func (s *Stream[T]) enterLocked(run, epoch string, resumed bool) {
	if s.run == run {
		return
	}
	s.run, s.number = run, 0
	if s.last.Epoch != "" && !(resumed && s.last.Epoch == epoch) {
		s.uncounted = true
	}
}

// arrived takes an event, and reports whether it is news. gone, if not nil, is called
// when it is read, or lost.
func (s *Stream[T]) arrived(p Published, v T, gone func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.enterLocked(p.Stream, p.Epoch, p.Resumed)
	if p.Number <= s.number {
		return false // it was overtaken, and counted as lost
	}
	lost := p.Number - s.number - 1
	s.number = p.Number
	if s.last.Epoch == p.Epoch {
		if p.Seq <= s.last.Seq {
			return false // it came before the break
		}
		lost = min(lost, p.Seq-s.last.Seq-1)
	}
	s.last = p.Position
	s.putLocked(Event[T]{Position: p.Position, Value: v, Lost: lost}, gone)
	return true
}

// bare takes an event of a peer that counts nothing.
func (s *Stream[T]) bare(v T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.putLocked(Event[T]{Value: v}, nil)
}

func (s *Stream[T]) putLocked(e Event[T], gone func()) {
	e.Uncounted, e.Break = s.uncounted, s.broken
	s.uncounted, s.broken = false, nil
	if dropped := s.backlog.put(item[T]{e, gone}); dropped != nil {
		dropped()
	}
}
