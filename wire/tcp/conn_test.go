package tcp

import (
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/wire"
)

// pipeEnd is one end of a net.Pipe with an address.
type pipeEnd struct{ net.Conn }

func (pipeEnd) RemoteAddr() net.Addr { return &net.TCPAddr{} }

// A peer that reads slowly does not extend the deadline of a write.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			for buf := make([]byte, 64<<10); ; time.Sleep(10 * time.Second) {
				if _, err := far.Read(buf); err != nil {
					return
				}
			}
		}()
		c := newConn(pipeEnd{near}, pipeEnd{near}, connOptions{form: plain, limits: wire.Limits{}.WithDefaults()})
		frames := make([]wire.Frame, 64)
		for i := range frames {
			frames[i] = wire.Frame{Kind: wire.KindData, Data: make([]byte, 16<<10)}
		}
		began := time.Now()
		err := c.Write(frames)
		if took := time.Since(began); !errors.Is(err, wire.ErrSlow) || took != c.timeout {
			t.Errorf("%v after %v", err, took)
		}
		_ = c.Close()
		<-done
	})
}

// halfClosed counts the calls of CloseWrite.
type halfClosed struct {
	net.Conn
	n int
}

func (h *halfClosed) CloseWrite() error {
	h.n++
	return nil
}

// A CLOSE frame ends a plain connection, which stays open for the peer's last answers. TLS needs
// its close_notify, and the versioned form has no CLOSE frame.
func TestCloseWrite(t *testing.T) {
	for _, c := range []struct {
		form form
		tls  bool
		want int
	}{{plain, false, 0}, {flagged, false, 0}, {plain, true, 1}, {versioned, false, 1}, {versioned, true, 1}} {
		var h halfClosed
		one := conn{stream: &h, peer: wire.Peer{TLS: c.tls}, out: writer{form: c.form}}
		if one.closeWrite(); h.n != c.want {
			t.Errorf("form %d, TLS %t: CloseWrite was called %d times", c.form, c.tls, h.n)
		}
	}
}
