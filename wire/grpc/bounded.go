package grpc

import (
	"net"
	"sync"
	"sync/atomic"
)

// bounded is a listener that closes at once the connections beyond a number: gRPC bounds
// what each may do, and not how many there are.
type bounded struct {
	net.Listener
	most, open atomic.Int64
}

func newBounded(l net.Listener, most int) *bounded {
	b := &bounded{Listener: l}
	b.most.Store(int64(most))
	return b
}

// Accept returns the next connection that there is room for.
func (b *bounded) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if b.open.Add(1) <= b.most.Load() {
			return &counted{Conn: c, release: sync.OnceFunc(func() { b.open.Add(-1) })}, nil
		}
		b.open.Add(-1)
		_ = c.Close() // there is nothing to be said
	}
}

// counted is a connection that counts until it is closed.
type counted struct {
	net.Conn
	release func()
}

// Close closes the connection.
func (c *counted) Close() error {
	c.release()
	return c.Conn.Close()
}
