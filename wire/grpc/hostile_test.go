package grpc

import (
	"encoding/binary"
	"io"
	"math"
	"net"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// raw is an HTTP/2 client that sends what it likes (RFC 9113).
type raw struct {
	t testing.TB
	net.Conn
}

// The types and flags of HTTP/2 frames.
const (
	h2Data, h2Headers, h2Settings = 0x0, 0x1, 0x4
	h2EndHeaders                  = 0x4
)

// dialRaw connects, shakes hands, and reads and forgets what the server says.
func dialRaw(t testing.TB, addr string) *raw {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	r := &raw{t, c}
	forgotten := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, c)
		close(forgotten)
	}()
	t.Cleanup(func() {
		_ = c.Close()
		<-forgotten
	})
	r.write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
	r.frame(h2Settings, 0, 0, nil)
	return r
}

// write writes; the server may have hung up.
func (r *raw) write(b []byte) { _, _ = r.Conn.Write(b) }

// frame writes an HTTP/2 frame.
func (r *raw) frame(kind, flags byte, stream uint32, payload []byte) {
	head := make([]byte, 9, 9+len(payload))
	binary.BigEndian.PutUint32(head, uint32(len(payload))<<8)
	head[3], head[4] = kind, flags
	binary.BigEndian.PutUint32(head[5:], stream)
	r.write(append(head, payload...))
}

// call begins a call; extra are more headers.
func (r *raw) call(stream uint32, extra ...string) {
	var block []byte
	headers := append([]string{
		":method", "POST", ":scheme", "http", ":path", fullMethod, ":authority", "x", "content-type", "application/grpc", "te", "trailers",
	}, extra...)
	for i := 0; i < len(headers); i += 2 { // literal, without indexing (RFC 7541 §6.2.2)
		block = append(block, 0, byte(len(headers[i])))
		block = append(append(block, headers[i]...), byte(len(headers[i+1])))
		block = append(block, headers[i+1]...)
	}
	r.frame(h2Headers, h2EndHeaders, stream, block)
}

// message begins a gRPC message of that length, of which some has come.
func (r *raw) message(stream uint32, compressed byte, length uint32, some []byte) {
	head := append([]byte{compressed}, 0, 0, 0, 0)
	binary.BigEndian.PutUint32(head[1:], length)
	r.frame(h2Data, 0, stream, append(head, some...))
}

// stillServes checks that another is served.
func (h *host) stillServes(t *testing.T) {
	t.Helper()
	g := mustConnect(t, "grpc://"+h.addr, DialOptions{})
	send(t, g.Session, wiretest.Ask(t, "good", "b", "are you there?"))
	g.Await(t, 1)
}

// allocated is how many bytes the process has ever allocated.
func allocated() int64 {
	var stats goruntime.MemStats
	goruntime.ReadMemStats(&stats)
	return int64(stats.TotalAlloc)
}

// kept is how many bytes are in use.
func kept() int64 {
	var stats goruntime.MemStats
	goruntime.GC()
	goruntime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

func TestHostilePeers(t *testing.T) {
	const most = 4 << 20
	for name, c := range map[string]struct {
		attack func(*raw)
		end    string // of the session, if there is one
		litter bool   // each of its many frames makes some, so what counts is what is kept
	}{
		"4 GiB length": {func(r *raw) {
			r.call(1)
			r.message(1, 0, math.MaxUint32, []byte("x"))
		}, "longer than", false},
		"more than the limit": {func(r *raw) {
			r.call(1)
			r.message(1, 0, wire.DefaultMaxFrame+1, nil)
		}, "longer than", false},
		"compressed without saying so": {func(r *raw) {
			r.call(1)
			r.message(1, 1, 3, []byte("abc"))
		}, "no protobuf", false},
		"a bit that means nothing": {func(r *raw) {
			r.call(1)
			r.message(1, 7, 3, []byte("abc"))
		}, "no protobuf", false},
		"no protobuf": {func(r *raw) {
			r.call(1)
			r.message(1, 0, 3, []byte("\xff\xff\xff"))
		}, "no protobuf", false},
		"gzip": {func(r *raw) {
			r.call(1, "grpc-encoding", "gzip")
			r.message(1, 1, 3, []byte("abc"))
		}, "", false},
		"long headers": {func(r *raw) {
			for i := range 40 { // each block is within the limit of a frame
				r.call(uint32(2*i+1), "a", wiretest.Long(100), "b", wiretest.Long(100), "c", wiretest.Long(100))
			}
			r.frame(h2Headers, 0, 81, make([]byte, 16_000))
		}, "", false},
		"settings":         {func(r *raw) { flood(r, h2Settings) }, "", true},
		"no HTTP/2":        {func(r *raw) { r.write([]byte(wiretest.Long(100_000))) }, "", false},
		"half a frame":     {func(r *raw) { r.write([]byte{0, 0xff, 0xff, h2Data, 0}) }, "", false},
		"data of no call":  {func(r *raw) { r.message(99, 0, 5, []byte("hello")) }, "", false},
		"another service":  {func(r *raw) { r.call(1, ":path", "/x/y") }, "", false},
		"half a message":   {func(r *raw) { r.call(1); r.message(1, 0, 1<<20, []byte("x")); _ = r.Close() }, "", false},
		"nothing but ends": {func(r *raw) { _ = r.Close() }, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			h := serve(t, Options{}, func(o *wire.Options) { o.Limits.CloseTime = 10 * time.Millisecond })
			h.Answer = echo
			measure := allocated
			if c.litter {
				measure = kept
			}
			before := measure()
			r := dialRaw(t, h.addr)
			c.attack(r)
			if c.end != "" {
				if err := h.AwaitEnd(t, 1)[0]; err == nil || !strings.Contains(err.Error(), c.end) {
					t.Errorf("the session ended with %v", err)
				}
			}
			if took := measure() - before; took > most {
				t.Errorf("took %d bytes", took)
			}
			h.stillServes(t)
		})
	}
}

// flood sends many frames of nothing.
func flood(r *raw, kind byte) {
	for range 20_000 {
		r.frame(kind, 0, 0, nil)
	}
}

// Connections without a call count, too.
func TestConnectionsAreBounded(t *testing.T) {
	const most = 4
	h := serve(t, Options{}, func(o *wire.Options) { o.MaxConnections = most })
	h.Answer = echo
	var idle []*raw
	for range most {
		idle = append(idle, dialRaw(t, h.addr))
	}
	for _, r := range idle {
		r.call(1) // so that all of them have been accepted
	}
	for i := range most {
		h.Session(t, i)
	}
	c, err := net.Dial("tcp", h.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetReadDeadline(time.Now().Add(patience.Time))
	if n, err := c.Read(make([]byte, 1)); err == nil {
		t.Errorf("one too many is told %d bytes", n)
	}
	_ = idle[0].Close()
	h.AwaitEnd(t, 1)
}

func TestTooManyStreamsWait(t *testing.T) {
	h := serve(t, Options{MaxStreams: 2}, nil)
	r := dialRaw(t, h.addr)
	for i := range 5 {
		r.call(uint32(2*i + 1))
	}
	h.Session(t, 1)
	other := mustConnect(t, "grpc://"+h.addr, DialOptions{}) // after which the others would have come
	send(t, other.Session, wiretest.Message(t, "a", "b", "x"))
	h.Await(t, 1)
	if n := len(h.server.Sessions()); n != 3 {
		t.Errorf("%d sessions, want 2 of the first connection and 1 of the second", n)
	}
}
