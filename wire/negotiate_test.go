package wire_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// zipConn records whether Compress was called.
type zipConn struct {
	wire.Conn
	on atomic.Bool
}

// Compressions returns one method.
func (*zipConn) Compressions() []string { return []string{"zip"} }

// Compress records the call.
func (c *zipConn) Compress(_ string, frames []wire.Frame) error {
	c.on.Store(true)
	return c.Write(frames)
}

// zipDialect agrees on zip with its first frame.
type zipDialect struct{ wiretest.Dialect }

// Open returns a negotiating codec.
func (d zipDialect) Open(o wire.CodecOptions) (wire.Codec, error) {
	c, err := d.Dialect.Open(o)
	return &zipCodec{Codec: c, method: "zip"}, err
}

type zipCodec struct {
	wire.Codec
	method  string
	offered atomic.Bool
}

// Agreed returns the method once.
func (c *zipCodec) Agreed() string {
	method := c.method
	c.method = ""
	return method
}

// A client starts to compress before its handler can reply to the message that carried the
// agreement, because the server assumes that everything after its own answer is compressed.
func TestClientCompressesBeforeItReplies(t *testing.T) {
	near, far := wiretest.Pipe()
	conn := &zipConn{Conn: near}
	on := make(chan bool, 1)
	r := &wiretest.Recorder{Answer: func(*wire.Session, *performatives.Message) error {
		on <- conn.on.Load()
		return nil
	}}
	s, err := wire.Connect(conn, wire.Options{Handler: r, Dialects: []wire.Dialect{zipDialect{}}})
	if err != nil {
		t.Fatal(err)
	}
	frame := `{"act":"INFORM","ID":"1","From":"a","To":"b","Time":1,"Payload":{}}`
	if err := far.Write([]wire.Frame{{Kind: wire.KindData, Data: []byte(frame)}}); err != nil {
		t.Fatal(err)
	}
	if !<-on {
		t.Error("the handler received the message before compression was on")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = s.Stop(ctx) // ends the session immediately
}

// Offered returns false unless the test's codec offers.
func (c *zipCodec) Offered() bool { return c.offered.Load() }

// offeringDialect offers a compression with its first message and agrees with the first frame
// that it decodes.
type offeringDialect struct{ wiretest.Dialect }

// Open returns an offering codec.
func (d offeringDialect) Open(o wire.CodecOptions) (wire.Codec, error) {
	c, err := d.Dialect.Open(o)
	return &offeringCodec{zipCodec: zipCodec{Codec: c}}, err
}

type offeringCodec struct {
	zipCodec
	said bool
}

// Encode offers once.
func (o *offeringCodec) Encode(dst []byte, m *performatives.Message) ([]byte, error) {
	if !o.said {
		o.said = true
		o.offered.Store(true)
	}
	return o.zipCodec.Encode(dst, m)
}

// Decode agrees.
func (o *offeringCodec) Decode(frame []byte, take func(wire.Inbound)) {
	if o.offered.Swap(false) {
		o.method = "zip"
	}
	o.zipCodec.Decode(frame, take)
}

// offer makes a client send three messages, of which the first offers a compression, and
// returns after the peer has read the first.
func offer(t *testing.T, keep wire.KeepAlive) (*wire.Session, *wiretest.Recorder, *zipConn, peer) {
	t.Helper()
	near, far := wiretest.Pipe()
	conn, r := &zipConn{Conn: near}, &wiretest.Recorder{}
	s, err := wire.Connect(conn, wire.Options{Handler: r, Dialects: []wire.Dialect{offeringDialect{}}, KeepAlive: keep})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "two", "three"} {
		if err := s.Send(wiretest.Message(t, "a", "b", text)); err != nil {
			t.Fatal(err)
		}
	}
	p := peer{far, t}
	if got := p.receive(); !strings.Contains(got, "one") {
		t.Fatalf("heard %s", got)
	}
	return s, r, conn, p
}

// Nothing is written between an offer of compression and its answer, not even a ping: the
// peer may already have answered, and assumes that everything after its answer is compressed.
func TestNothingIsWrittenBeforeAnOfferIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, conn, far := offer(t, wire.KeepAlive{Interval: time.Second, Timeout: -1})
		heard := make(chan string)
		go func() {
			data, err := far.Read(func(f wire.Frame) {
				if !conn.on.Load() {
					t.Errorf("a frame of kind %d before the answer", f.Kind)
				}
			})
			if err == nil {
				heard <- string(data)
			}
			close(heard)
		}()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		select {
		case text := <-heard:
			t.Fatalf("before the answer: %s", text)
		default:
		}
		far.send(hello)
		if text := <-heard; !strings.Contains(text, "two") || !conn.on.Load() {
			t.Errorf("after the answer: %s, compressed: %v", text, conn.on.Load())
		}
		if text := far.receive(); !strings.Contains(text, "three") {
			t.Errorf("then: %s", text)
		}
		_ = far.Close()
		<-s.Done()
	})
}

// A client waits for the answer to its offer of compression for at most FrameTime, and for at
// most CloseTime when the session closes. The unsent messages are returned.
func TestUnansweredOffer(t *testing.T) {
	for name, end := range map[string]func(*wire.Session){
		"neither":   func(*wire.Session) {},
		"stopped":   func(s *wire.Session) { _ = s.Stop(context.Background()) },
		"dismissed": func(s *wire.Session) { s.Dismiss(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, r, _, _ := offer(t, wire.KeepAlive{Interval: -1, Timeout: -1})
				end(s)
				<-s.Done()
				if n := len(r.Undeliverable()); n != 2 {
					t.Errorf("%d messages were returned, want 2", n)
				}
				if name == "neither" && s.Err() == nil {
					t.Error("the session ended in order")
				}
			})
		})
	}
}
