package wire

import (
	"net/netip"
	"strings"
	"sync"

	"golang.org/x/time/rate"

	"github.com/ribosome-agents/ribosome/performatives"
)

// rates limits many parties to the same rate, each by itself.
type rates struct {
	limit Rate
	mu    sync.Mutex
	by    map[string]*rate.Limiter
}

// maxLimiters is how many parties are remembered; beyond it, those whose allowance is
// full again are forgotten.
const maxLimiters = 65_536

func newRates(r Rate) *rates { return &rates{limit: r, by: make(map[string]*rate.Limiter)} }

// allow counts a message of an agent.
func (r *rates) allow(id performatives.AgentID) error { return r.count(string(id.Fold())) }

// hostOf returns whose address that is. Of IPv6 it is the network, since a host is given
// 2^64 addresses (RFC 4291 §2.5.1).
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

func (r *rates) count(who string) error {
	if r.limit.Messages == 0 {
		return nil
	}
	r.mu.Lock()
	l := r.by[who]
	if l == nil {
		if len(r.by) >= maxLimiters {
			r.forget()
		}
		l = newLimiter(r.limit)
		r.by[strings.Clone(who)] = l // and nothing of the message that it came with
	}
	r.mu.Unlock()
	return allow(l, r.limit)
}

// forget drops those who have not used any of their allowance lately, since a new limiter
// would treat them alike; and then any, until a quarter of the room is free: it looks at
// all, and must not have to for each new party.
func (r *rates) forget() {
	for who, l := range r.by {
		if l.Tokens() >= float64(r.limit.Messages) {
			delete(r.by, who)
		}
	}
	for who := range r.by {
		if len(r.by) <= maxLimiters*3/4 {
			return
		}
		delete(r.by, who)
	}
}
