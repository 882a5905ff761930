package tcp

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// golden is one line of testdata/frames.txt.
type golden struct {
	name     string
	form     form
	readOnly bool
	frame    wire.Frame
	bytes    []byte
}

var (
	formNames = map[string]form{"plain": plain, "flagged": flagged, "versioned": versioned}
	kindNames = map[string]wire.Kind{
		"DATA": wire.KindData, "PING": wire.KindPing, "PONG": wire.KindPong, "ERROR": wire.KindError, "CLOSE": wire.KindClose,
	}
)

func goldens(t testing.TB) []golden {
	t.Helper()
	text, err := os.ReadFile("testdata/frames.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []golden
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		all = append(all, parseGolden(t, strings.Split(strings.TrimSuffix(line, "\n"), " | ")))
	}
	return all
}

func parseGolden(t testing.TB, field []string) golden {
	t.Helper()
	g := golden{name: field[0] + " " + field[2] + ": " + field[5], form: formNames[field[0]], readOnly: field[1] == "<"}
	g.frame = wire.Frame{Kind: kindNames[field[2]], Data: []byte(field[3])}
	if h, ok := strings.CutPrefix(field[3], "hex:"); ok {
		g.frame.Data = unhex(t, h)
	}
	if g.frame.Kind == wire.KindError {
		code, text, _ := strings.Cut(field[3], " ")
		text, at, _ := strings.Cut(strings.TrimSuffix(text, ")"), " (")
		g.frame.Data, g.frame.Err = nil, &performatives.Refusal{Code: performatives.Code(code), Text: text, Field: at}
	}
	g.bytes = unhex(t, field[4])
	return g
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestGolden(t *testing.T) {
	for _, g := range goldens(t) {
		t.Run(g.name, func(t *testing.T) {
			start := g.form
			if start == plain || start == versioned {
				start = undecided // the reader detects the form
			}
			c, _ := newScripted(bytes.NewReader(g.bytes), start, true, wire.DefaultMaxFrame)
			got, err := readAll(c)
			want := []wire.Frame{g.frame}
			if g.form == versioned { // the end of the stream is its CLOSE
				want = append(want, wire.Frame{Kind: wire.KindClose})
			}
			if diff := cmp.Diff(want, got, cmp.Transformer("text", func(b []byte) string { return string(b) })); diff != "" || !errors.Is(err, io.EOF) {
				t.Errorf("read %v:\n%s", err, diff)
			}
			if g.readOnly {
				return
			}
			if got := encoded(g.form, g.frame); !bytes.Equal(got, g.bytes) {
				t.Errorf("wrote %X, want %X", got, g.bytes)
			}
		})
	}
}

// The bytes of the Binary Encoding Example in the wire specification.
func TestExampleOfTheSpecification(t *testing.T) {
	b := encoded(plain, wire.Frame{Kind: wire.KindData, Data: bytes.Repeat([]byte("x"), 348)})
	if want := unhex(t, "4D 43 01 00 00 01 5C"); !bytes.Equal(b[:7], want) || len(b) != 7+348 {
		t.Errorf("DATA: % X and %d bytes, want % X and 348", b[:7], len(b)-7, want)
	}
	b = encoded(plain, wire.Frame{Kind: wire.KindPing, Data: unhex(t, "00 00 01 8D 9F 3A 4B 28")})
	if want := unhex(t, "4D 43 02 00 00 00 08 00 00 01 8D 9F 3A 4B 28"); !bytes.Equal(b, want) {
		t.Errorf("PING: % X, want % X", b, want)
	}
}

// Long payloads are compressed if that makes them shorter, and decompress to the original.
func TestGzipForm(t *testing.T) {
	long := bytes.Repeat([]byte(`{"text":"ribosome"}`), 5000)
	noise := make([]byte, 10_000)
	for i, x := 0, uint32(1); i < len(noise); i++ {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		noise[i] = byte(x)
	}
	for name, tt := range map[string]struct {
		payload []byte
		flags   byte
	}{
		"short":            {[]byte(`{}`), 0},
		"long":             {long, 1},
		"incompressible":   {noise, 0},
		"just too short":   {long[:minCompressed-1], 0},
		"just long enough": {long[:minCompressed], 1},
	} {
		b := encoded(flagged, wire.Frame{Kind: wire.KindData, Data: tt.payload})
		if b[3] != tt.flags || tt.flags == 1 && len(b) >= len(tt.payload) {
			t.Errorf("%s: flags %d and %d bytes of %d", name, b[3], len(b), len(tt.payload))
		}
		c, _ := newScripted(bytes.NewReader(b), flagged, true, len(tt.payload))
		if got, err := readAll(c); !errors.Is(err, io.EOF) || len(got) != 1 || !bytes.Equal(got[0].Data, tt.payload) {
			t.Errorf("%s: read %d frames, %v", name, len(got), err)
		}
	}
}

// The code of an error is preserved on the way to a peer, if the wire specification has an
// equivalent code.
func TestErrorCodes(t *testing.T) {
	for _, row := range performatives.Codes() {
		r := parseError(errorPayload(&performatives.Refusal{Code: row.Code, Text: "why", Field: "sender"}, plain))
		if wire.ErrorCodes.Of(r.Code) != wire.ErrorCodes.Of(row.Code) || r.Text != "why" || r.Field != "sender" {
			t.Errorf("%s arrives as %+v", row.Code, r)
		}
	}
	if r := parseError([]byte(`{"error":{"code":"OWN_WORDS","message":"a\u0000b"}}`)); r.Code != performatives.CodeInternal || r.Text != "a b" {
		t.Errorf("an unknown code arrives as %+v", r)
	}
}
