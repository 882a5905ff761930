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

// fakeNet is a network connection with scripted input. It records its output.
type fakeNet struct {
	net.Conn
	in          io.Reader
	out         []byte
	writes      int
	largest     int
	wait        func() // called before each read
	deadlineSet bool   // a read deadline is set
}

func (f *fakeNet) Read(p []byte) (int, error) {
	if f.wait != nil {
		f.wait()
	}
	return f.in.Read(p)
}

func (f *fakeNet) Write(p []byte) (int, error) {
	f.writes++
	f.largest = max(f.largest, len(p))
	f.out = append(f.out, p...)
	return len(p), nil
}

func (f *fakeNet) Close() error                     { return nil }
func (f *fakeNet) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (f *fakeNet) SetDeadline(time.Time) error      { return nil }
func (f *fakeNet) SetWriteDeadline(time.Time) error { return nil }
func (f *fakeNet) SetReadDeadline(t time.Time) error {
	f.deadlineSet = !t.IsZero()
	return nil
}

// hijackResponse is a ResponseWriter whose connection is a fakeNet.
type hijackResponse struct {
	*httptest.ResponseRecorder
	fake *fakeNet
}

func (r hijackResponse) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return r.fake, bufio.NewReadWriter(bufio.NewReader(r.fake), bufio.NewWriter(r.fake)), nil
}

// serverOn returns a server's connection over f with the given message limit.
func serverOn(t testing.TB, f *fakeNet, compress bool, limit int) *conn {
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
	c, err := h.upgrade(hijackResponse{httptest.NewRecorder(), f}, r)
	if err != nil {
		t.Fatal(err)
	}
	c.SetLimit(limit)
	f.out, f.writes, f.largest = nil, 0, 0
	return c
}
