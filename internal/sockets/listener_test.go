package sockets

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/internal/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// failingListener is a listener that fails a number of times before it accepts.
type failingListener struct {
	left     int
	attempts int
	err      error
}

func (f *failingListener) Accept() (net.Conn, error) {
	f.attempts++
	if f.left == 0 {
		a, b := net.Pipe()
		return a, b.Close()
	}
	f.left--
	return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", f.err)}
}

func (f *failingListener) Close() error   { return nil }
func (f *failingListener) Addr() net.Addr { return &net.TCPAddr{} }

// After an error, Accept retries with pauses. net.Error.Temporary is not true for all errors
// from which a listener recovers.
func TestAcceptRetries(t *testing.T) {
	for _, err := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EPROTO, syscall.ENETDOWN, syscall.EPERM} {
		synctest.Test(t, func(t *testing.T) {
			var log strings.Builder
			p := newRetryingListener(&failingListener{left: 20, err: err}, slog.New(slog.NewTextHandler(&log, nil)))
			began := time.Now()
			c, got := p.Accept()
			if got != nil {
				t.Fatalf("%v ended the listener: %v", err, got)
			}
			_ = c.Close()
			if took := time.Since(began); took < 10*time.Second || took > 20*time.Second { // virtual time
				t.Errorf("%v: 20 attempts in %v", err, took)
			}
			if n := strings.Count(log.String(), "\n"); n != 20 || !strings.Contains(log.String(), err.Error()) {
				t.Errorf("%v: %d lines in the log:\n%s", err, n, &log)
			}
		})
	}
}

func TestCloseEndsThePause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &failingListener{left: 1 << 30, err: syscall.EMFILE}
		p := newRetryingListener(f, slog.New(slog.DiscardHandler))
		ended := make(chan error)
		go func() {
			_, err := p.Accept()
			ended <- err
		}()
		time.Sleep(time.Minute)
		synctest.Wait()
		before := f.attempts
		for range 2 {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := <-ended; !errors.Is(err, net.ErrClosed) || f.attempts != before {
			t.Errorf("%v after %d attempts more", err, f.attempts-before)
		}
	})
}

func TestListen(t *testing.T) {
	if _, err := Listen("nowhere", slog.New(slog.DiscardHandler)); err == nil {
		t.Error("listens nowhere")
	}
	l, err := Listen("127.0.0.1:0", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = accepted.Close()
	if _, err := io.ReadAll(c); err != nil {
		t.Error(err)
	}
	_ = c.Close()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept after Close: %v", err)
	}
}
