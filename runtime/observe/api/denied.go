package api

import (
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/runtime/observe"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/auth"
)

// The bounds of refused requests. The credentials of each request are checked before any of them: a
// client with a valid token is served at once, whatever others at the same address do.
const (
	freeRefusals = 5                // of an address within refusalRow; those after them are answered refusalWait later
	refusalWait  = time.Second      //
	refusalRow   = time.Minute      // without a refusal, after which the address is forgotten
	mostWaiting  = 16               // requests of an address that wait; further ones are answered 429 at once, and their connection closed
	refusalNews  = 10 * time.Second // between two events about an address
	mostAddrs    = 1024             // with counts of their own; all others share one
)

// refusals counts the requests with wrong credentials, or without the right that they need, by the
// addresses of their clients.
type refusals struct {
	publish func(observe.OperatorRefused)
	log     *slog.Logger

	mu     sync.Mutex
	by     map[netip.Prefix]*refused // the zero prefix is that of all addresses beyond mostAddrs
	closed bool                      // no timer publishes any more
}

// refused has the refusals of an address.
type refused struct {
	row     int // refusals, without a pause of refusalRow
	last    time.Time
	waiting int
	latest  observe.OperatorRefused // with the number of refusals that no event has
	timer   *time.Timer             // of the next event; nil if none is due
}

// note counts a refusal, and reports whether its answer has to wait, and whether too many wait
// already. A wait ends with a call of done.
func (s *refusals) note(e observe.OperatorRefused) (wait, many bool, done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.of(addressOf(e.Host), e.Time)
	e.Count = r.latest.Count + 1
	r.latest = e
	if r.timer == nil {
		s.tell(r)
	}
	if r.row++; r.row <= freeRefusals {
		return false, false, nil
	}
	if r.waiting >= mostWaiting {
		return false, true, nil
	}
	r.waiting++
	return true, false, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		r.waiting--
	}
}

// of returns the refusals of an address, and forgets old ones when there are too many.
func (s *refusals) of(address netip.Prefix, now time.Time) *refused {
	if s.by[address] == nil && len(s.by) >= mostAddrs {
		for other, r := range s.by {
			if now.Sub(r.last) >= refusalRow && r.waiting == 0 && r.timer == nil {
				delete(s.by, other)
			}
		}
		if len(s.by) >= mostAddrs {
			address = netip.Prefix{}
		}
	}
	r := s.by[address]
	if r == nil {
		r = &refused{}
		s.by[address] = r
	}
	if now.Sub(r.last) >= refusalRow {
		r.row = 0
	}
	r.last = now
	return r
}

// tell publishes and logs the refusals that no event has, and does so again after refusalNews if
// there are more by then.
func (s *refusals) tell(r *refused) {
	e := r.latest
	s.publish(e)
	s.log.Warn("operator refused", "host", e.Host, "who", e.Who, "right", e.Right, "of", e.Of, "err", e.Code, "count", e.Count)
	r.latest.Count = 0
	r.timer = time.AfterFunc(refusalNews, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.timer = nil; r.latest.Count > 0 && !s.closed {
			s.tell(r)
		}
	})
}

// close publishes the remaining counts.
func (s *refusals) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, r := range s.by {
		if r.timer != nil && r.timer.Stop() && r.latest.Count > 0 {
			s.tell(r)
			r.timer.Stop()
		}
	}
	clear(s.by)
}

// addressOf returns the address of a client, of IPv6 its network: one client has all addresses of
// that.
func addressOf(host string) netip.Prefix {
	ip, _ := netip.ParseAddr(host)
	bits := ip.Unmap().BitLen()
	if ip.Unmap().Is6() {
		bits = 64
	}
	network, _ := ip.Unmap().WithZone("").Prefix(bits) // without an address, the zero prefix
	return network
}

// refuse counts a request that is refused, and returns its answer. A login or an act that fails
// again and again is answered later.
func (h *Handler) refuse(r *http.Request, who wire.Identity, right auth.Right, f *failure) *failure {
	read := f.status != http.StatusUnauthorized && r.Method == http.MethodGet
	if read && r.Header.Get(viaHeader) != "" { // a part of a view, which says so
		return f
	}
	wait, many, done := h.denied.note(observe.OperatorRefused{
		At: now(), Who: string(who.Name), Host: hostOf(r.RemoteAddr), Right: string(right), Of: r.Method + " " + r.URL.Path, Code: f.Error.Code,
	})
	switch {
	case wait:
		defer done()
		if !read {
			h.pause(r)
		}
	case many && !read:
		return failed(http.StatusTooManyRequests, "busy", "too many requests of this address were refused; correct the token, and try again later")
	}
	return f
}

// pause waits for refusalWait, or until the client or the interface has gone.
func (h *Handler) pause(r *http.Request) {
	select {
	case <-time.After(refusalWait):
	case <-r.Context().Done():
	case <-h.closed:
	}
}
