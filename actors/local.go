package actors

import "sync"

// Local returns the value that a codon has stored with the agent under key. On the first
// call for a key it stores the result of fresh; of concurrent first calls, one result is
// stored and returned to all. The value survives restarts of the agent. key must be
// comparable, and its type must be unexported by the codon's package, so that no other
// package uses the same key. fresh must not call Local.
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
