package sockets

import (
	"log/slog"
	"net"
	"syscall"
	"testing"
)

// The buffers of an accepted connection are bounded.
func TestBuffers(t *testing.T) {
	l, err := Listen("127.0.0.1:0", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // nothing is lost
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // nothing is lost
	s, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // nothing is lost
	raw, err := s.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for name, option := range map[string]int{"receive": syscall.SO_RCVBUF, "send": syscall.SO_SNDBUF} {
		var size int
		if err := raw.Control(func(fd uintptr) { size, err = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, option) }); err != nil || size != 2*buffer {
			t.Errorf("%s: %d bytes, %v", name, size, err)
		}
	}
}
