package tcp_test

import (
	"bufio"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/tcp"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// offeringDialect offers gzip with its first message. The first answer declines it.
type offeringDialect struct{ wiretest.Dialect }

// Open returns a codec that offers.
func (d offeringDialect) Open(o wire.CodecOptions) (wire.Codec, error) {
	c, err := d.Dialect.Open(o)
	return &offeringCodec{Codec: c}, err
}

type offeringCodec struct {
	wire.Codec
	sent    bool
	offered atomic.Bool
}

// Agreed returns nothing.
func (*offeringCodec) Agreed() string { return "" }

// Offered reports whether the offer is unanswered.
func (o *offeringCodec) Offered() bool { return o.offered.Load() }

// Encode offers once.
func (o *offeringCodec) Encode(dst []byte, m *performatives.Message) ([]byte, error) {
	if !o.sent {
		o.sent = true
		o.offered.Store(true)
	}
	return o.Codec.Encode(dst, m)
}

// Decode records the answer.
func (o *offeringCodec) Decode(frame []byte, take func(wire.Inbound)) {
	o.offered.Store(false)
	o.Codec.Decode(frame, take)
}

// offered returns a client that has sent three messages, of which the first offers gzip, and
// its server, which has read the first.
func offered(t *testing.T) (*client, raw) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	g := &client{}
	limits := wire.Limits{FrameTime: time.Hour, CloseTime: time.Hour} // so that no timeout ends the test
	o := wire.Options{Handler: &g.Recorder, Dialects: []wire.Dialect{offeringDialect{}}, Limits: limits}
	if g.Session, err = wire.Connect(dial(t, l.Addr().String(), tcp.DialOptions{Limits: limits}), o); err != nil {
		t.Fatal(err)
	}
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close()
		stop(t, g.Stop)
	})
	if err := c.SetDeadline(time.Now().Add(patience.Time)); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "two", "three"} {
		if err := g.Send(wiretest.Ask(t, "a", "b", text)); err != nil {
			t.Fatal(err)
		}
	}
	r := raw{c, t, bufio.NewReader(c)}
	if typ, p := r.read7(); typ != 1 || !strings.Contains(string(p), "one") {
		t.Fatalf("type %d: %s", typ, p)
	}
	return g, r
}

// A server that sends CLOSE instead of an answer has declined the offer. The client answers
// the CLOSE immediately and uncompressed.
func TestServerClosesInsteadOfAnsweringAnOffer(t *testing.T) {
	g, r := offered(t)
	r.write(frame7(5, "bye"))
	for _, want := range []string{"two", "three"} {
		if typ, p := r.read7(); typ != 1 || !strings.Contains(string(p), want) {
			t.Fatalf("type %d: %s, want %s", typ, p, want)
		}
	}
	if typ, p := r.read7(); typ != 5 {
		t.Fatalf("type %d: %s, want CLOSE", typ, p)
	}
	<-g.Done()
	if err := g.Err(); err != nil {
		t.Errorf("the session ended with %v", err)
	}
}

// After a framing violation the server's choice of compression is unknown: the queued
// messages are returned immediately.
func TestServerBreaksInsteadOfAnsweringAnOffer(t *testing.T) {
	g, r := offered(t)
	r.write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
	r.ends()
	<-g.Done()
	if n := len(g.Undeliverable()); n != 2 {
		t.Errorf("%d messages were returned, want 2", n)
	}
	if g.Err() == nil {
		t.Error("the session ended in order")
	}
}
