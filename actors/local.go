package actors

import "sync"

// Local returns what the agent keeps under key for a codon, such as what one side of
// its conversations must know of the other; of several values that are made for a key,
// the first stays. It outlives restarts of the agent, and nobody else has it. key must
// be comparable, and of a type of the codon's own. fresh must not call Local.
func (s Self) Local(key any, fresh func() any) any {
	l := s.c.locals.Load()
	if l == nil {
		s.c.locals.CompareAndSwap(nil, &sync.Map{})
		l = s.c.locals.Load()
	}
	if v, ok := l.Load(key); ok {
		return v
	}
	v, _ := l.LoadOrStore(key, fresh())
	return v
}
