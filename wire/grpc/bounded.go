package grpc

import (
	"net"
	"sync"
)

// bounded is a listener with a bound on the number of connections, which gRPC lacks. It
// closes further connections at once. It can also close all open connections, because
// gRPC waits for those in their handshake.
type bounded struct {
	net.Listener
	most int

	mu   sync.Mutex
	open map[*counted]struct{}
	cut  bool
}

func newBounded(l net.Listener, most int) *bounded {
	return &bounded{Listener: l, most: most, open: make(map[*counted]struct{})}
}

// Accept returns the next connection that there is room for.
func (b *bounded) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := (&counted{Conn: c, of: b}); b.add(c) {
			return c, nil
		}
		_ = c.Close() // a connection beyond the bound
	}
}

func (b *bounded) add(c *counted) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cut || len(b.open) >= b.most {
		return false
	}
	b.open[c] = struct{}{}
	return true
}

func (b *bounded) remove(c *counted) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.open, c)
}

// cutOff closes all connections, also future ones.
func (b *bounded) cutOff() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cut = true
	for c := range b.open {
		_ = c.Conn.Close() // gRPC handles the error
	}
}

// counted is a connection that counts for the bound until it is closed.
type counted struct {
	net.Conn
	of *bounded
}

// Close closes the connection.
func (c *counted) Close() error {
	c.of.remove(c)
	return c.Conn.Close()
}
