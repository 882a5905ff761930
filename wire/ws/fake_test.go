package ws

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/wire"
)

// fake is a network that says what it was told to, and keeps what is written to it.
type fake struct {
	net.Conn
	in      io.Reader
	out     []byte
	writes  int
	largest int
	wait    func() // before each read
	timed   bool   // a read deadline is set
}

func (f *fake) Read(p []byte) (int, error) {
	if f.wait != nil {
		f.wait()
	}
	return f.in.Read(p)
}

func (f *fake) Write(p []byte) (int, error) {
	f.writes++
	f.largest = max(f.largest, len(p))
	f.out = append(f.out, p...)
	return len(p), nil
}

func (f *fake) Close() error                     { return nil }
func (f *fake) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (f *fake) SetDeadline(time.Time) error      { return nil }
func (f *fake) SetWriteDeadline(time.Time) error { return nil }
func (f *fake) SetReadDeadline(t time.Time) error {
	f.timed = !t.IsZero()
	return nil
}

// response is one whose connection is a fake.
type response struct {
	*httptest.ResponseRecorder
	fake *fake
}

func (r response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return r.fake, bufio.NewReadWriter(bufio.NewReader(r.fake), bufio.NewWriter(r.fake)), nil
}

// serverOn returns a server's end on a fake, with that limit.
func serverOn(t testing.TB, f *fake, compress bool, limit int) *conn {
	t.Helper()
	server, err := wire.NewServer(new(host).serverOptions(t))
	if err != nil {
		t.Fatal(err)
	}
	h, err := newHandler(server, Options{Compression: compress})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "http://x/mcp", nil)
	for name, value := range map[string]string{
		"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
		"Sec-WebSocket-Key": "x3JJHMbDL1EzLkh9GBhXDw==", "Sec-WebSocket-Extensions": "permessage-deflate",
	} {
		r.Header.Set(name, value)
	}
	c, err := h.upgrade(response{httptest.NewRecorder(), f}, r)
	if err != nil {
		t.Fatal(err)
	}
	c.SetLimit(limit)
	f.out, f.writes, f.largest = nil, 0, 0
	return c
}
