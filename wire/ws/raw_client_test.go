package ws

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// rawClient is a peer that writes arbitrary bytes.
type rawClient struct {
	net.Conn
	r *bufio.Reader
}

// dialRaw opens a TCP connection.
func dialRaw(t testing.TB, h *host) *rawClient {
	t.Helper()
	c, err := net.Dial("tcp", h.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience.Time))
	return &rawClient{c, bufio.NewReader(c)}
}

// handshake is an upgrade request.
const handshake = "GET /mcp HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
	"Sec-WebSocket-Key: x3JJHMbDL1EzLkh9GBhXDw==\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n"

// dialUpgraded opens a connection and performs the handshake.
func dialUpgraded(t testing.TB, h *host) *rawClient {
	t.Helper()
	s := dialRaw(t, h)
	s.send(t, []byte(handshake))
	r, err := http.ReadResponse(s.r, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	if r.StatusCode != http.StatusSwitchingProtocols || r.Header.Get("Sec-Websocket-Accept") != "HSmrc0sMlYUkAGmm5OPpG2HaGWk=" {
		t.Fatalf("the upgrade is answered %s %v", r.Status, r.Header) // the key and its answer are those of RFC 6455 §1.3
	}
	return s
}

// send writes bytes. It ignores errors, because the server may have closed the connection.
func (s *rawClient) send(t testing.TB, b []byte) {
	t.Helper()
	_, _ = s.Write(b)
}

// frame returns a masked frame.
func frame(first byte, payload []byte) []byte {
	key := [4]byte{1, 2, 3, 4}
	b := append(appendHeader(nil, first, len(payload), true), key[:]...)
	b = append(b, payload...)
	mask(b[len(b)-len(payload):], key)
	return b
}

// announce returns the header of a frame with n bytes.
func announce(first byte, n uint64) []byte {
	return append(binary.BigEndian.AppendUint64([]byte{first, maskBit | 127}, n), 1, 2, 3, 4)
}

// receive reads a frame.
func (s *rawClient) receive(t testing.TB) (first byte, payload []byte) {
	t.Helper()
	var h [10]byte
	if _, err := io.ReadFull(s.r, h[:2]); err != nil {
		t.Fatalf("no frame: %v", err)
	}
	n := uint64(h[1])
	switch h[1] {
	case 126:
		_, _ = io.ReadFull(s.r, h[2:4])
		n = uint64(binary.BigEndian.Uint16(h[2:]))
	case 127:
		_, _ = io.ReadFull(s.r, h[2:10])
		n = binary.BigEndian.Uint64(h[2:])
	}
	payload = make([]byte, n)
	if _, err := io.ReadFull(s.r, payload); err != nil {
		t.Fatalf("half a frame: %v", err)
	}
	return h[0], payload
}

// receiveClose reads until the close frame and checks that nothing follows it.
func (s *rawClient) receiveClose(t testing.TB) (code int, reason string) {
	t.Helper()
	for {
		first, payload := s.receive(t)
		if first != 0x88 {
			continue
		}
		if len(payload) < 2 || len(payload) > 125 {
			t.Fatalf("a close frame with %q", payload)
		}
		_ = s.Conn.(*net.TCPConn).CloseWrite()
		if rest, err := io.ReadAll(s.r); err != nil || len(rest) > 0 {
			t.Errorf("after the close frame: %q, %v", rest, err)
		}
		return int(binary.BigEndian.Uint16(payload)), string(payload[2:])
	}
}

// compressedZeros returns n zeros compressed as one message.
func compressedZeros(t testing.TB, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, n)); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSuffix(b.Bytes(), tail)
}

// plain returns a message in the test dialect.
func plain(t testing.TB) []byte {
	t.Helper()
	codec, err := wiretest.Dialect{}.Open(codecOptions)
	if err != nil {
		t.Fatal(err)
	}
	b, err := codec.Encode(nil, wiretest.Ask(t, "a", "b", "hello"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
