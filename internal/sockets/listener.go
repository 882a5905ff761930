package sockets

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"
)

// Listen listens on a TCP address. Accept of the returned listener fails only after Close. It
// logs every other error (no file descriptors or memory left, the peer has disconnected, the
// network is down) and retries after a pause.
func Listen(addr string, log *slog.Logger) (net.Listener, error) {
	l, err := net.Listen("tcp", addr) // TCP_NODELAY and keep-alive are on by default
	if err != nil {
		return nil, err
	}
	return newRetryingListener(l, log), nil
}

// retryingListener is a listener whose Accept retries after errors.
type retryingListener struct {
	net.Listener
	log    *slog.Logger
	once   sync.Once
	closed chan struct{}
}

func newRetryingListener(l net.Listener, log *slog.Logger) *retryingListener {
	return &retryingListener{Listener: l, log: log, closed: make(chan struct{})}
}

// The first and the longest pause between retries. The pause doubles after each failure.
const (
	minPause = 5 * time.Millisecond
	maxPause = time.Second
)

// Accept returns the next connection, or net.ErrClosed after Close.
func (p *retryingListener) Accept() (net.Conn, error) {
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		c, err := p.Listener.Accept()
		if err == nil {
			Shorten(c)
			return c, nil
		}
		if errors.Is(err, net.ErrClosed) {
			return nil, err
		}
		p.log.Warn("connection not accepted", "err", err)
		if !p.wait(pause) {
			return nil, net.ErrClosed
		}
	}
}

// buffer is the size of the buffers of a connection in the kernel, in bytes. Linux doubles it, for
// its own use, and lets a buffer of which it chooses the size itself grow to 4 or 6 MB.
const buffer = 128 << 10

// Shorten bounds the bytes that wait in the kernel while one program writes faster than the other
// one reads: messages queued there can no longer be overtaken or refused. At a round-trip time of
// 100 ms a connection still carries 1 MB a second. Other connections than TCP stay as they are.
func Shorten(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetReadBuffer(buffer)  // a longer one works, too
		_ = t.SetWriteBuffer(buffer) // the same
	}
}

// wait sleeps for d. It returns false if the listener is closed in the meantime.
func (p *retryingListener) wait(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-p.closed:
		return false
	}
}

// Join returns when wait has returned, or with the cause of ctx when ctx ends before.
func Join(ctx context.Context, wait func()) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close closes the listener and ends Accept.
func (p *retryingListener) Close() error {
	p.once.Do(func() { close(p.closed) })
	return p.Listener.Close()
}
