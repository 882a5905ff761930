package wire

import (
	"net/netip"
	"strings"
	"sync"

	"golang.org/x/time/rate"

	"github.com/ribosome-agents/ribosome/performatives"
)

// rates holds one rate limiter per key, all with the same limit. A key is an agent id or a
// host.
type rates struct {
	limit Rate
	mu    sync.Mutex
	by    map[string]*rate.Limiter
}

// maxLimiters is the largest number of limiters. When it is reached, evict removes some.
const maxLimiters = 65_536

func newRates(r Rate) *rates { return &rates{limit: r, by: make(map[string]*rate.Limiter)} }

// allow counts one message of an agent.
func (r *rates) allow(id performatives.AgentID) error { return r.count(string(id.Fold())) }

// hostOf returns the host of an address: the IPv4 address, or the IPv6 /64 network, because
// one IPv6 host may use 2^64 addresses (RFC 4291 §2.5.1).
func hostOf(addr string) string {
	host, err := netip.ParseAddrPort(addr)
	if err != nil {
		return addr
	}
	ip := host.Addr().Unmap()
	if ip.Is4() {
		return ip.String()
	}
	return netip.PrefixFrom(ip.WithZone(""), 64).Masked().String()
}

// count counts one event of a key.
func (r *rates) count(key string) error {
	if r.limit.Messages == 0 {
		return nil
	}
	r.mu.Lock()
	l := r.by[key]
	if l == nil {
		if len(r.by) >= maxLimiters {
			r.evict()
		}
		l = newLimiter(r.limit)
		r.by[strings.Clone(key)] = l // cloned, because the key may be part of a message's buffer
	}
	r.mu.Unlock()
	return allow(l, r.limit)
}

// evict removes the limiters without recent use: a new limiter would behave the same. If too
// few are unused, it removes arbitrary limiters until a quarter of the capacity is free, so
// that the complete scan does not run for every new key.
func (r *rates) evict() {
	for key, l := range r.by {
		if l.Tokens() >= float64(r.limit.Messages) {
			delete(r.by, key)
		}
	}
	for key := range r.by {
		if len(r.by) <= maxLimiters*3/4 {
			return
		}
		delete(r.by, key)
	}
}
