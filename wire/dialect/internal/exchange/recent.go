package exchange

import (
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// MaxRecent is the largest number of entries of a [Recent]. It has at least the latest half of
// them.
const MaxRecent = 1024

// recentLifetime is the time after which an entry of a [Recent] is no longer found.
const recentLifetime = 5 * time.Minute

// Recent is a map with the latest entries. The zero value is empty. It is not safe for concurrent
// use.
type Recent[K comparable, V any] struct {
	young, old map[K]dated[V] // half of the entries each; a key is in one of them
}

type dated[V any] struct {
	value   V
	expires time.Time
}

// Put adds an entry, or replaces the one with that key. When one half is full, the other, with the
// oldest entries, is dropped.
func (m *Recent[K, V]) Put(k K, v V, now time.Time) {
	if m.young == nil || len(m.young) >= MaxRecent/2 {
		m.young, m.old = make(map[K]dated[V]), m.young
	}
	delete(m.old, k)
	m.young[k] = dated[V]{v, now.Add(recentLifetime)}
}

// Get returns the entry with that key. It reports false if there is none, or if it has expired.
func (m *Recent[K, V]) Get(k K, now time.Time) (v V, ok bool) {
	e, ok := m.young[k]
	if !ok {
		e, ok = m.old[k]
	}
	return e.value, ok && !now.After(e.expires)
}

// Len returns the number of entries, with those that have expired.
func (m *Recent[K, V]) Len() int { return len(m.young) + len(m.old) }

// Withdrawn has the CANCELs of a peer that came before their requests, by the name of the request.
// It also has the names of the latest requests that have ended: a CANCEL of one of those is not for
// a later request of that name. The zero value is empty. It is not safe for concurrent use.
type Withdrawn struct {
	early Recent[Key, performatives.MessageID] // the request that has come since; empty = none
	ended Recent[Key, struct{}]                // without times: none expires
}

// End notes the end of a request.
func (w *Withdrawn) End(k Key) {
	if k != (Key{}) {
		w.ended.Put(k, struct{}{}, time.Time{})
	}
}

// Note notes a CANCEL whose request is not known.
func (w *Withdrawn) Note(k Key, now time.Time) {
	if _, over := w.ended.Get(k, time.Time{}); !over && k != (Key{}) {
		w.early.Put(k, "", now)
	}
}

// Len returns the number of CANCELs and of names: see [Recent.Len].
func (w *Withdrawn) Len() (early, ended int) { return w.early.Len(), w.ended.Len() }

// Overtook reports whether the CANCEL of a request came before it. A CANCEL is for the first
// request that comes after it, and for the copies of that. Now is called if there are CANCELs.
func (w *Withdrawn) Overtook(k Key, request performatives.MessageID, now func() time.Time) bool {
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

// Cancels has the CANCELs of this node that were to be written before their requests: a CANCEL has
// a higher priority than its request, so that it may overtake it. The zero value is empty. It is
// not safe for concurrent use.
type Cancels struct {
	early Recent[Party, struct{}] // by the message_id or the reply_with of the request
}

// Check notes a CANCEL of this node whose request is not known to be written. It returns the
// refusal of a request whose CANCEL was noted, or of a copy of that, and nil for any other message.
// A CANCEL without in_reply_to names no request, and is not noted. Now is called if there are any.
func (c *Cancels) Check(m *performatives.Message, known bool, now func() time.Time) *performatives.Refusal {
	if m.Performative() == performatives.ActCancel {
		if !known && m.InReplyTo() != "" {
			c.early.Put(Between(m.Sender(), m.Receiver(), m.InReplyTo()), struct{}{}, now())
		}
		return nil
	}
	if c.early.Len() == 0 {
		return nil
	}
	for _, name := range [...]string{string(m.ID()), m.ReplyWith()} {
		if _, early := c.early.Get(Between(m.Sender(), m.Receiver(), name), now()); early {
			return Canceled(m.ID())
		}
	}
	return nil
}

// Canceled returns the refusal of a request that comes after its CANCEL.
func Canceled(request performatives.MessageID) *performatives.Refusal {
	return &performatives.Refusal{Code: performatives.CodeCanceled, About: request, Text: performatives.CodeCanceled.Traits().Text}
}
