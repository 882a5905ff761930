package recent

import (
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Withdrawn has the CANCELs of a peer that came before their requests, by what names a request, and
// the names of the latest requests that have ended: a CANCEL of one of those is not for a later
// request of that name. The zero value is empty. It is not safe for concurrent use.
type Withdrawn[K comparable] struct {
	early Map[K, performatives.MessageID] // the request that has come since; empty = none
	ended Map[K, struct{}]                // without times: none expires
}

// End notes the end of a request.
func (w *Withdrawn[K]) End(k K) { w.ended.Put(k, struct{}{}, time.Time{}) }

// Note notes a CANCEL whose request is not known.
func (w *Withdrawn[K]) Note(k K, now time.Time) {
	if _, over := w.ended.Get(k, time.Time{}); !over {
		w.early.Put(k, "", now)
	}
}

// Len returns the number of CANCELs and of names: see [Map.Len].
func (w *Withdrawn[K]) Len() (early, ended int) { return w.early.Len(), w.ended.Len() }

// Overtook reports whether the CANCEL of a request came before it. A CANCEL is for the first
// request that comes after it, and for the copies of that. Now is called if there are CANCELs.
func (w *Withdrawn[K]) Overtook(k K, request performatives.MessageID, now func() time.Time) bool {
	if w.early.Len() == 0 {
		return false
	}
	at := now()
	first, over := w.early.Get(k, at)
	if !over || first != "" && first != request {
		return false
	}
	w.early.Put(k, request, at)
	return true
}
