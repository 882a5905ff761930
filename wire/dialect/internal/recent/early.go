package recent

import (
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Early has the CANCELs of a peer that came before their requests, by what names a request, and the
// request that has come since. The zero value is empty.
type Early[K comparable] struct {
	requests Map[K, performatives.MessageID] // empty = none has come
}

// Note remembers a CANCEL.
func (e *Early[K]) Note(k K, now time.Time) { e.requests.Put(k, "", now) }

// Len returns the number of CANCELs: see [Map.Len].
func (e *Early[K]) Len() int { return e.requests.Len() }

// Overtook reports whether the CANCEL of a request came before it. A CANCEL is for the first
// request that comes after it, and for the copies of that.
func (e *Early[K]) Overtook(k K, request performatives.MessageID, now time.Time) bool {
	first, over := e.requests.Get(k, now)
	if !over || first != "" && first != request {
		return false
	}
	e.requests.Put(k, request, now)
	return true
}
