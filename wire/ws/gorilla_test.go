package ws

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// lengths are payload lengths at which the header format or the write path changes.
var lengths = []int{0, 1, 7, 125, 126, minDeflate - 1, minDeflate, 4 << 10, 0xffff, 0x10000, maxBuffer, maxBuffer + 1, 3*maxBuffer + 5}

// text returns n bytes that compress badly.
func text(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = 'a' + byte(i*i>>3)%26
	}
	return b
}

// gorillaPair is a connection with our code on one end and gorilla on the other.
type gorillaPair struct {
	ours   wire.Conn
	theirs *websocket.Conn
}

// pairs runs fn with our client and with our server, with and without compression.
func pairs(t *testing.T, fn func(t *testing.T, g gorillaPair)) {
	for _, compress := range []bool{false, true} {
		name := map[bool]string{false: "", true: ", compressed"}[compress]
		t.Run("client"+name, func(t *testing.T) { fn(t, againstServer(t, compress)) })
		t.Run("server"+name, func(t *testing.T) { fn(t, againstClient(t, compress)) })
	}
}

// againstServer connects our client to gorilla's server.
func againstServer(t *testing.T, compress bool) gorillaPair {
	t.Helper()
	theirs := make(chan *websocket.Conn, 1)
	up := websocket.Upgrader{EnableCompression: compress}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := up.Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
		}
		theirs <- c
	}))
	t.Cleanup(server.Close)
	ours, err := Dial(t.Context(), "ws"+strings.TrimPrefix(server.URL, "http"), DialOptions{Compression: compress})
	if err != nil {
		t.Fatal(err)
	}
	return between(t, ours, <-theirs)
}

// againstClient connects gorilla's client to our server.
func againstClient(t *testing.T, compress bool) gorillaPair {
	t.Helper()
	server, err := wire.NewServer(new(host).serverOptions(t))
	if err != nil {
		t.Fatal(err)
	}
	h, err := newHandler(server, Options{Compression: compress})
	if err != nil {
		t.Fatal(err)
	}
	ours := make(chan *conn, 1)
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := h.upgrade(w, r)
		if err != nil {
			t.Error(err)
		}
		ours <- c
	}))
	t.Cleanup(listener.Close)
	d := websocket.Dialer{EnableCompression: compress}
	theirs, r, err := d.DialContext(t.Context(), "ws"+strings.TrimPrefix(listener.URL, "http"), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	return between(t, <-ours, theirs)
}

func between(t *testing.T, ours wire.Conn, theirs *websocket.Conn) gorillaPair {
	t.Helper()
	t.Cleanup(func() { _, _ = ours.Close(), theirs.Close() })
	_ = theirs.SetReadDeadline(time.Now().Add(patience.Time))
	return gorillaPair{ours, theirs}
}

// gorilla reads what our end writes.
func TestGorillaReads(t *testing.T) {
	pairs(t, func(t *testing.T, g gorillaPair) {
		var pings []string
		g.theirs.SetPingHandler(func(s string) error {
			pings = append(pings, s)
			return nil
		})
		var frames []wire.Frame
		for _, n := range lengths {
			frames = append(frames, wire.Frame{Kind: wire.KindData, Data: text(n)}, wire.Frame{Kind: wire.KindPing, Data: text(n)})
		}
		done := make(chan error, 1)
		go func() { done <- g.ours.Write(frames) }()
		for i, n := range lengths {
			kind, got, err := g.theirs.ReadMessage()
			if err != nil {
				t.Fatal(err)
			}
			if kind != websocket.TextMessage || !bytes.Equal(got, text(n)) {
				t.Errorf("message %d of %d bytes arrived as %d bytes of kind %d", i, n, len(got), kind)
			}
			if i > 0 && pings[i-1] != string(text(min(125, lengths[i-1]))) {
				t.Errorf("ping %d arrived as %q", i-1, pings[i-1])
			}
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestGorillaWrites(t *testing.T) {
	pairs(t, func(t *testing.T, g gorillaPair) {
		done := make(chan error, 1)
		go func() {
			for i, n := range lengths {
				if err := g.theirs.WriteControl(websocket.PongMessage, []byte{byte(i)}, time.Time{}); err != nil {
					done <- err
				}
				w, err := g.theirs.NextWriter(websocket.TextMessage + i%2)
				if err != nil {
					done <- err
				}
				_, _ = w.Write(text(n))
				if err := w.Close(); err != nil {
					done <- err
				}
			}
			done <- g.theirs.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(1001, "bye"), time.Time{})
		}()
		var control []wire.Frame
		hear := func(f wire.Frame) { control = append(control, f) }
		for i, n := range lengths {
			got, err := g.ours.Read(hear)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, text(n)) {
				t.Errorf("message %d of %d bytes arrived as %d bytes", i, n, len(got))
			}
			if len(control) != i+1 || control[i].Kind != wire.KindPong || control[i].Data[0] != byte(i) {
				t.Fatalf("before message %d arrived %v", i, control)
			}
		}
		for range 2 {
			if _, err := g.ours.Read(hear); err == nil || err.Error() != "EOF" {
				t.Errorf("after the close frame: %v", err)
			}
		}
		if last := control[len(control)-1]; len(control) != len(lengths)+1 || last.Kind != wire.KindClose || string(last.Data) != "bye" {
			t.Errorf("the last frame is %v", last)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func refusal(code performatives.Code, text string) *performatives.Refusal {
	return &performatives.Refusal{Code: code, Text: text}
}

// Every end of a session writes exactly one close frame with the right code.
func TestCloseFrames(t *testing.T) {
	for _, c := range []struct {
		frames []wire.Frame
		code   int // of the server; zero with a client's
		client int
		reason string
	}{
		{[]wire.Frame{{Kind: wire.KindClose}}, 1001, 1000, ""},
		{[]wire.Frame{{Kind: wire.KindClose, Data: []byte("bye")}}, 1001, 1000, "bye"},
		{[]wire.Frame{{Kind: wire.KindError, Err: refusal(performatives.CodeUnauthorized, "who are you?")}, {Kind: wire.KindClose}}, 1008, 1008, "UNAUTHORIZED: who are you?"},
		{[]wire.Frame{{Kind: wire.KindError, Err: refusal(performatives.CodeRateLimited, "")}}, 1008, 1008, "RATE_LIMIT_EXCEEDED: too many messages"},
		{[]wire.Frame{{Kind: wire.KindError, Err: refusal(performatives.CodeBusy, "")}}, 1013, 1013, "SERVICE_UNAVAILABLE: the agent is busy"},
		{[]wire.Frame{{Kind: wire.KindError, Err: refusal(performatives.CodeParsingError, "")}}, 1007, 1007, "INVALID_REQUEST: the message cannot be parsed"},
		{[]wire.Frame{{Kind: wire.KindError, Err: refusal(performatives.CodeInternal, "")}}, 1011, 1011, "INTERNAL_ERROR: the agent failed"},
		{[]wire.Frame{{Kind: wire.KindError}}, 1011, 1011, ""},
		{[]wire.Frame{{Kind: wire.KindClose, Data: []byte(strings.Repeat("ü", 100))}}, 1001, 1000, strings.Repeat("ü", 61)},
		{[]wire.Frame{{Kind: wire.KindClose}, {Kind: wire.KindPing}, {Kind: wire.KindClose}}, 1001, 1000, ""},
	} {
		for want, g := range map[int]gorillaPair{c.code: againstClient(t, false), -c.client: againstServer(t, false)} {
			if err := g.ours.Write(c.frames); err != nil {
				t.Fatal(err)
			}
			if err := g.ours.Write([]wire.Frame{{Kind: wire.KindData}}); err == nil {
				t.Error("something is written after a close frame")
			}
			_ = g.ours.Close()
			_, _, err := g.theirs.ReadMessage()
			if !websocket.IsCloseError(err, max(want, -want)) || !strings.HasSuffix(err.Error(), c.reason) {
				t.Errorf("%v: %v; want %d %q", c.frames, err, want, c.reason)
			}
		}
	}
}

// The peer's close code determines the error of the session.
func TestPeerCloses(t *testing.T) {
	for _, c := range []struct {
		code   int
		reason string
		want   performatives.Code // empty: in order
	}{
		{1000, "", ""},
		{1001, "bye", ""},
		{1005, "", ""},
		{1002, "RSV1", performatives.CodeParsingError},
		{1003, "", performatives.CodeParsingError},
		{1007, "", performatives.CodeParsingError},
		{1008, "no", performatives.CodeForbidden},
		{1008, "UNAUTHORIZED: who are you?", performatives.CodeUnauthorized},
		{1008, "RATE_LIMIT_EXCEEDED: too many", performatives.CodeRateLimited},
		{1009, "", performatives.CodeInvalidPayload},
		{1011, "", performatives.CodeFailed},
		{1013, "", performatives.CodeBusy},
		{4000, "own: words", performatives.CodeFailed},
	} {
		g := againstClient(t, false)
		if err := g.theirs.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(c.code, c.reason), time.Time{}); err != nil {
			t.Fatal(err)
		}
		var got []wire.Frame
		_, err := g.ours.Read(func(f wire.Frame) { got = append(got, f) })
		if err == nil || err.Error() != "EOF" || len(got) != 1 {
			t.Fatalf("%d: %v, %v", c.code, got, err)
		}
		switch f := got[0]; {
		case c.want == "" && (f.Kind != wire.KindClose || string(f.Data) != c.reason):
			t.Errorf("%d arrived as %+v", c.code, f)
		case c.want != "" && (f.Kind != wire.KindError || f.Err.Code != c.want || !strings.HasSuffix(c.reason, f.Err.Text)):
			t.Errorf("%d arrived as %+v", c.code, f.Err)
		}
	}
}

// A gorilla client can use a session: it receives text frames.
func TestSessionWithGorilla(t *testing.T) {
	h := start(t, Options{}, nil)
	theirs, r, err := websocket.DefaultDialer.DialContext(t.Context(), h.URL(), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	defer func() { _ = theirs.Close() }()
	if err := theirs.WriteMessage(websocket.BinaryMessage, plain(t)); err != nil {
		t.Fatal(err)
	}
	kind, got, err := theirs.ReadMessage()
	if err != nil || kind != websocket.TextMessage || !(wiretest.Dialect{}).Recognizes(got) {
		t.Errorf("the answer is %q of kind %d, %v", got, kind, err)
	}
	stopped := make(chan error)
	go func() { stopped <- h.Server.Stop(context.Background()) }()
	if _, _, err := theirs.ReadMessage(); !websocket.IsCloseError(err, 1001) { // gorilla answers the close frame itself
		t.Errorf("the server's close frame arrived as %v", err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}
