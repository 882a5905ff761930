package sockets

import (
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"
)

// Listen listens on host:port of TCP. Accept of what it returns fails once that is closed,
// and else never: what is wrong for a while (no file descriptor or no memory is left, a
// peer has gone again, the network is down) log gets, and the next attempt comes later.
func Listen(addr string, log *slog.Logger) (net.Listener, error) {
	l, err := net.Listen("tcp", addr) // TCP_NODELAY and keep-alive are on by default
	if err != nil {
		return nil, err
	}
	return newPatient(l, log), nil
}

// patient is a listener that tries again.
type patient struct {
	net.Listener
	log    *slog.Logger
	once   sync.Once
	closed chan struct{}
}

func newPatient(l net.Listener, log *slog.Logger) *patient {
	return &patient{Listener: l, log: log, closed: make(chan struct{})}
}

// How long the listener waits after a failure, and at most after the next ones.
const (
	minPause = 5 * time.Millisecond
	maxPause = time.Second
)

// Accept returns the next connection, or an error once the listener is closed.
func (p *patient) Accept() (net.Conn, error) {
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		c, err := p.Listener.Accept()
		if err == nil || errors.Is(err, net.ErrClosed) {
			return c, err
		}
		p.log.Warn("connection not accepted", "err", err)
		if !p.wait(pause) {
			return nil, net.ErrClosed
		}
	}
}

// wait reports false when the listener is closed meanwhile.
func (p *patient) wait(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-p.closed:
		return false
	}
}

// Close ends Accept.
func (p *patient) Close() error {
	p.once.Do(func() { close(p.closed) })
	return p.Listener.Close()
}
