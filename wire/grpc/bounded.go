package grpc

import (
	"net"
	"sync"
)

// bounded is a listener that closes at once the connections beyond a number: gRPC bounds
// what each may do, and not how many there are. It closes those that there are, too,
// since gRPC waits for those in their handshake.
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
		_ = c.Close() // there is nothing to be said
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

// cutOff closes all connections, and those that are still to come.
func (b *bounded) cutOff() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cut = true
	for c := range b.open {
		_ = c.Conn.Close() // gRPC finds out
	}
}

// counted is a connection that counts until it is closed.
type counted struct {
	net.Conn
	of *bounded
}

// Close closes the connection.
func (c *counted) Close() error {
	c.of.remove(c)
	return c.Conn.Close()
}
