package ws

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

var update = flag.Bool("update", false, "write the table of docs/websocket.md")

// echo is a dialect that sends each data frame back.
type echo struct{}

func (echo) Name() string                               { return "echo" }
func (echo) Recognizes([]byte) bool                     { return true }
func (echo) Open(wire.CodecOptions) (wire.Codec, error) { return echoCodec{}, nil }

type echoCodec struct{}

// Decode answers with the frame behind a colon, because an empty answer would not be sent.
func (echoCodec) Decode(frame []byte, take func(wire.Inbound)) {
	take(wire.Inbound{Answer: append([]byte(":"), frame...)})
}

func (echoCodec) Encode(dst []byte, _ *performatives.Message) ([]byte, error) { return dst, nil }
func (echoCodec) Refuse(dst []byte, _ wire.Inbound, _ error) []byte           { return dst }

// autobahnCase is a case after one of the Autobahn test suite.
type autobahnCase struct {
	id, name string
	compress bool
	writes   [][]byte // each is one network write
	want     []string // frames before the close frame, as heard renders them
	code     int      // of the close frame
}

// Each case gets the frames and the close frame that the suite requires, and docs/websocket.md
// lists what was received.
func TestAutobahn(t *testing.T) {
	echoes := func(o *wire.Options) { o.Dialects = []wire.Dialect{echo{}} }
	hosts := map[bool]*host{false: start(t, Options{}, echoes), true: start(t, Options{Compression: true}, echoes)}
	var table strings.Builder
	table.WriteString("| case | input | received |\n|---|---|---|\n")
	seen := make(map[string]bool)
	ran, cases := 0, autobahnCases(t)
	for _, c := range cases {
		if seen[c.id] {
			t.Fatalf("there are two cases %s", c.id)
		}
		seen[c.id] = true
		t.Run(c.id, func(t *testing.T) {
			ran++
			got, code := c.run(t, hosts[c.compress])
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: received (-want +got):\n%.2000s", c.name, diff)
			}
			if code != c.code {
				t.Errorf("%s: closed with %d, want %d", c.name, code, c.code)
			}
			fmt.Fprintf(&table, "| %s | %s | %s |\n", c.id, c.name, summary(got, code))
		})
	}
	if !t.Failed() && ran == len(cases) { // -run may select some
		compareTable(t, table.String())
	}
}

// summary describes received frames for the table.
func summary(frames []string, code int) string {
	var kinds []string
	count := make(map[string]int)
	for _, f := range frames {
		kind, _, _ := strings.Cut(f, " ")
		if count[kind]++; count[kind] == 1 {
			kinds = append(kinds, kind)
		}
	}
	text := ""
	for _, kind := range kinds {
		if text += kind; count[kind] > 1 {
			text += " × " + strconv.Itoa(count[kind])
		}
		text += ", "
	}
	return text + "close " + strconv.Itoa(code)
}

// compareTable compares the table with that of docs/websocket.md.
func compareTable(t *testing.T, table string) {
	t.Helper()
	const name, begin, end = "../../docs/websocket.md", "<!-- autobahn -->\n", "<!-- /autobahn -->\n"
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), begin)
	old, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no table", name)
	}
	if *update {
		if err := os.WriteFile(name, []byte(before+begin+table+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(table, old); diff != "" {
		t.Errorf("docs/websocket.md is not up to date, run the test with -update: %s", diff)
	}
}

// run plays the case and returns the received frames and the code of the close frame.
func (c autobahnCase) run(t *testing.T, h *host) (frames []string, code int) {
	t.Helper()
	s := dialRaw(t, h)
	request := handshake
	if !c.compress {
		request = strings.Replace(handshake, "Sec-WebSocket-Extensions: permessage-deflate\r\n", "", 1)
	}
	s.send(t, []byte(request))
	r, err := http.ReadResponse(s.r, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	if got := r.Header.Get("Sec-Websocket-Extensions") != ""; r.StatusCode != http.StatusSwitchingProtocols || got != c.compress {
		t.Fatalf("the upgrade is answered %s, compression %v", r.Status, got)
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for _, w := range c.writes {
			_, _ = s.Write(w) // fails when the server has closed the connection, which the frames show
		}
	}()
	for {
		first, payload := s.receive(t)
		if first == 0x88 {
			<-sent
			_ = s.Close()
			if len(payload) < 2 {
				t.Fatalf("a close frame with %q", payload)
			}
			return frames, int(binary.BigEndian.Uint16(payload))
		}
		frames = append(frames, heard(t, first, payload))
	}
}

// heard renders a received frame.
func heard(t *testing.T, first byte, payload []byte) string {
	t.Helper()
	switch first {
	case 0x81:
		return "text " + string(payload)
	case 0xc1:
		b, err := io.ReadAll(flate.NewReader(io.MultiReader(bytes.NewReader(payload), bytes.NewReader(tail), bytes.NewReader([]byte{1, 0, 0, 0xff, 0xff}))))
		if err != nil {
			t.Errorf("the compressed text: %v", err)
		}
		return "text " + string(b)
	case 0x8a:
		return "pong " + string(payload)
	}
	return fmt.Sprintf("%#x %s", first, payload)
}
