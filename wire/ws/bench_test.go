package ws

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// bareDialect is a dialect whose messages consist of their payload, so that a benchmark
// measures sessions and transports.
type bareDialect struct{}

func (bareDialect) Name() string                                      { return "bare" }
func (bareDialect) Recognizes([]byte) bool                            { return true }
func (bareDialect) Open(wire.CodecOptions) (wire.Codec, error)        { return bareDialect{}, nil }
func (bareDialect) Refuse(dst []byte, _ wire.Inbound, _ error) []byte { return dst }

func (bareDialect) Decode(frame []byte, take func(wire.Inbound)) {
	m, err := performatives.New(performatives.Envelope{
		ID: "1", Sender: "a", Receiver: "b", ConversationID: "c", Performative: performatives.ActInform,
		Timestamp: time.Unix(1, 0), Payload: performatives.Raw(bytes.Clone(frame)),
	})
	if err != nil {
		panic(err)
	}
	take(wire.Inbound{Message: m})
}

func (bareDialect) Encode(dst []byte, m *message) ([]byte, error) {
	return append(dst, m.Payload().(performatives.Raw)...), nil
}

// receiver is a handler that calls a function for each message.
type receiver func(s *wire.Session, m *message) error

func (receiver) Opened(*wire.Session)                                        {}
func (r receiver) Receive(s *wire.Session, m *message) error                 { return r(s, m) }
func (receiver) Undelivered(*wire.Session, *message, *performatives.Refusal) {}
func (receiver) Closed(*wire.Session, error)                                 {}

// BenchmarkEcho sends 1 KiB back and forth: through plain gorilla with one WriteMessage per
// message, and through sessions on both ends. The window is the number of messages in flight.
func BenchmarkEcho(b *testing.B) {
	payload := []byte(`{"text":"` + strings.Repeat("x", 1013) + `"}`)
	for _, window := range []int{1, 64} {
		b.Run(fmt.Sprintf("window=%d/gorilla", window), func(b *testing.B) { echoGorilla(b, window, payload) })
		b.Run(fmt.Sprintf("window=%d/session", window), func(b *testing.B) { echoSession(b, window, payload) })
	}
}

// run sends b.N messages and waits for those in flight.
func run(b *testing.B, window, size int, back chan struct{}, send func()) {
	b.Helper()
	for range window {
		back <- struct{}{}
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		<-back
		send()
	}
	for range window {
		<-back
	}
}

func echoGorilla(b *testing.B, window int, payload []byte) {
	server := httptest.NewServer(gorillaEcho(b))
	defer server.Close()
	c, r, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(server.URL, "http"), nil)
	if err != nil {
		b.Fatal(err)
	}
	_ = r.Body.Close()
	back, done := make(chan struct{}, window), make(chan struct{})
	go func() {
		defer close(done)
		for {
			if _, _, err := c.ReadMessage(); err != nil {
				return
			}
			back <- struct{}{}
		}
	}()
	run(b, window, len(payload), back, func() {
		if err := c.WriteMessage(websocket.TextMessage, payload); err != nil {
			b.Error(err)
		}
	})
	_ = c.Close()
	<-done
}

func gorillaEcho(b *testing.B) http.Handler {
	var up websocket.Upgrader
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := up.Upgrade(w, r, nil)
		if err != nil {
			b.Error(err)
			return
		}
		defer func() { _ = c.Close() }()
		for {
			kind, data, err := c.ReadMessage()
			if err != nil || c.WriteMessage(kind, data) != nil {
				return
			}
		}
	})
}

func echoSession(b *testing.B, window int, payload []byte) {
	h := start(b, Options{}, func(o *wire.Options) {
		o.Dialects, o.Handler = []wire.Dialect{bareDialect{}}, receiver(func(s *wire.Session, m *message) error { return s.Send(m) })
	})
	conn, err := Dial(b.Context(), h.URL(), DialOptions{})
	if err != nil {
		b.Fatal(err)
	}
	back := make(chan struct{}, window)
	s, err := wire.Connect(conn, wire.Options{Dialects: []wire.Dialect{bareDialect{}}, Handler: receiver(func(*wire.Session, *message) error {
		back <- struct{}{}
		return nil
	})})
	if err != nil {
		b.Fatal(err)
	}
	var m *message
	bareDialect{}.Decode(payload, func(in wire.Inbound) { m = in.Message })
	run(b, window, len(payload), back, func() {
		if err := s.Send(m); err != nil {
			b.Error(err)
		}
	})
	if err := s.Stop(b.Context()); err != nil {
		b.Error(err)
	}
}
