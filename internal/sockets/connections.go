package sockets

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
)

// Spare is the number of connections beyond the bounds of a [Connections] whose requests are read.
// They can be refused with an HTTP answer, or served, as probes are. The request has to be read
// before the answer, after the TLS handshake if there is one: closing a connection with unread data
// sends a reset, and an earlier answer could be lost by it. Reading takes a goroutine and buffers
// for as long as the header of a request may take. A further connection takes the place of the
// oldest one, which is closed without an answer: slow clients in all places do not keep out a
// probe, which needs its place for milliseconds.
const Spare = 128

// Connections counts and bounds the connections of one [http.Server], whose ConnContext and
// ConnState are its methods Context and State, or call them. Invariant: at most Most + Spare of
// them are open, save those that are just being closed. A hijacked connection does not count.
type Connections struct {
	Most    int // connections whose requests are served; it must not change
	PerHost int // of one address of another machine; zero means no bound; it must not change

	mu      sync.Mutex
	open    int
	hosts   map[netip.Addr]int
	surplus []net.Conn // the oldest first; at most Spare
}

// Open returns the number of open connections.
func (c *Connections) Open() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open
}

// surplusKey is the key of a context value that marks the requests of a connection beyond the
// bounds.
type surplusKey struct{}

// Context marks the requests of a connection beyond the bounds, and closes the oldest such
// connection if there are too many. The HTTP server calls it before State, on the goroutine that
// accepts, which is the only one that adds connections.
func (c *Connections) Context(ctx context.Context, conn net.Conn) context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	host := otherHost(conn)
	if c.open < c.Most && (c.PerHost == 0 || !host.IsValid() || c.hosts[host] < c.PerHost) {
		return ctx
	}
	if len(c.surplus) == Spare {
		_ = Raw(c.surplus[0]).Close() // without a farewell of TLS, for which Close would wait; the HTTP server notices and reports StateClosed
		c.surplus = slices.Delete(c.surplus, 0, 1)
	}
	c.surplus = append(c.surplus, conn)
	return context.WithValue(ctx, surplusKey{}, true)
}

// State counts a connection.
func (c *Connections) State(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		c.add(conn, 1)
	case http.StateHijacked, http.StateClosed:
		c.add(conn, -1)
	case http.StateActive, http.StateIdle:
	}
}

func (c *Connections) add(conn net.Conn, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open += n
	if i := slices.Index(c.surplus, conn); n < 0 && i >= 0 {
		c.surplus = slices.Delete(c.surplus, i, i+1)
	}
	host := otherHost(conn)
	if c.PerHost == 0 || !host.IsValid() {
		return
	}
	if c.hosts == nil {
		c.hosts = make(map[netip.Addr]int)
	}
	if c.hosts[host] += n; c.hosts[host] <= 0 {
		delete(c.hosts, host)
	}
}

// otherHost returns the address of the other end, of IPv6 that of its network (/64). It is invalid
// for one on this machine, whose clients may be those of a proxy.
func otherHost(conn net.Conn) netip.Addr {
	at, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	ip := at.Addr().Unmap().WithZone("")
	if err != nil || ip.IsLoopback() {
		return netip.Addr{}
	}
	if ip.Is6() {
		network, _ := ip.Prefix(64) // each IPv6 address has one
		return network.Addr()
	}
	return ip
}

// Surplus reports whether a request came by a connection beyond the bounds, by the context of the
// request.
func Surplus(ctx context.Context) bool { return ctx.Value(surplusKey{}) != nil }
