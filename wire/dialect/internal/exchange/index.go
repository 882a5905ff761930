package exchange

import "slices"

// Index finds the requests of a [Pending] by another key than their id.
type Index[K comparable, R request] struct {
	key     func(R) K
	entries map[K]entry[R]
}

// entry has the requests with one key. Nearly all keys have one request, which takes no slice.
type entry[R any] struct {
	latest R
	before []R // the oldest first
}

// IndexOf returns an index of p, to which no request has been added yet. A request whose key is the
// zero value is not in it. The key of a request must not change.
func IndexOf[K comparable, R request](p *Pending[R], key func(R) K) *Index[K, R] {
	i := &Index[K, R]{key: key, entries: make(map[K]entry[R])}
	p.indexes = append(p.indexes, i)
	return i
}

func (i *Index[K, R]) put(x R, in bool) {
	var none R
	var zero K
	k := i.key(x)
	e := i.entries[k]
	switch {
	case k == zero:
		return
	case in && e.latest == none:
		e.latest = x
	case in:
		e.before, e.latest = append(e.before, e.latest), x
	case e.latest != x:
		e.before = slices.DeleteFunc(e.before, func(y R) bool { return y == x })
	case len(e.before) == 0:
		delete(i.entries, k)
		return
	default:
		last := len(e.before) - 1
		e.latest, e.before = e.before[last], e.before[:last]
	}
	i.entries[k] = e
}

// Latest returns the request with that key that was added last, or nil.
func (i *Index[K, R]) Latest(k K) R { return i.entries[k].latest }

// Oldest returns the request with that key that was added first, or nil.
func (i *Index[K, R]) Oldest(k K) R {
	if e := i.entries[k]; len(e.before) > 0 {
		return e.before[0]
	}
	return i.entries[k].latest
}

// Any returns the oldest request with that key for which fits reports true, or nil.
func (i *Index[K, R]) Any(k K, fits func(R) bool) R {
	var none R
	e := i.entries[k]
	if at := slices.IndexFunc(e.before, fits); at >= 0 {
		return e.before[at]
	}
	if e.latest != none && fits(e.latest) {
		return e.latest
	}
	return none
}

// Len returns the number of keys.
func (i *Index[K, R]) Len() int { return len(i.entries) }
