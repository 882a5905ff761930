package sockets

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
)

// Spare is the number of connections beyond the bound of a [Connections] whose requests are read, so that they can be refused with an HTTP answer.
// Connections beyond these are closed without an answer: an answer needs the request to be read first, after the TLS handshake if there is one (an
// answer before it could be lost by the reset that closing a connection with unread data sends), and that takes a goroutine and buffers for as long as
// the header of a request may take.
const Spare = 128

// Connections counts and bounds the connections of one [http.Server], whose ConnContext and ConnState are its methods Context and State, or call them.
// Invariant: at most Most + Spare of them are open. A hijacked connection does not count.
type Connections struct {
	Most int // connections whose requests are served; it must not change

	open atomic.Int64
}

// Open returns the number of open connections.
func (c *Connections) Open() int { return int(c.open.Load()) }

// surplusKey is the key of a context value that marks the requests of a connection beyond Most.
type surplusKey struct{}

// Context marks the requests of a connection beyond Most. The HTTP server calls it before State, on the goroutine that accepts, which is the only one that
// adds connections.
func (c *Connections) Context(ctx context.Context, _ net.Conn) context.Context {
	if c.open.Load() < int64(c.Most) {
		return ctx
	}
	return context.WithValue(ctx, surplusKey{}, true)
}

// State counts a connection, and closes it if there are too many.
func (c *Connections) State(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		if c.open.Add(1) > int64(c.Most)+Spare {
			_ = conn.Close() // the HTTP server notices and reports StateClosed
		}
	case http.StateHijacked, http.StateClosed:
		c.open.Add(-1)
	case http.StateActive, http.StateIdle:
	}
}

// Surplus reports whether a request came by a connection beyond the bound, by the context of the request.
func Surplus(ctx context.Context) bool { return ctx.Value(surplusKey{}) != nil }
