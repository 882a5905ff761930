package tcp

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"testing"
	"testing/iotest"
	"time"

	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// Each violation is refused as soon as the invalid byte is read, with a text that names it.
func TestRefused(t *testing.T) {
	bomb := gzipped4MiB(t)
	for name, tt := range map[string]struct {
		form  form
		bytes []byte
		want  string
	}{
		"garbage":                  {undecided, []byte("G"), "a frame does not begin with 4D 43"},
		"garbage later":            {undecided, []byte("MX"), "a frame does not begin with 4D 43"},
		"an unknown type":          {undecided, unhex(t, "4D 43 06"), "the frame type 0x06 is unknown"},
		"type zero":                {undecided, unhex(t, "4D 43 00"), "the frame type 0x00 is unknown"},
		"4 GiB":                    {undecided, unhex(t, "4D 43 01 FF FF FF FF"), "the frame is longer than 1048576 bytes"},
		"a byte too many":          {plain, unhex(t, "4D 43 01 00 10 00 01"), "the frame is longer than 1048576 bytes"},
		"a long ping":              {plain, unhex(t, "4D 43 02 00 01 00 01"), "the frame is longer than 65536 bytes"},
		"16 bytes, in 7":           {plain, unhex(t, "4D 43 50 00"), "the frame type 0x50 is unknown"},
		"7 bytes, in 16":           {versioned, unhex(t, "4D 43 01"), "a frame does not begin with 4D 43 50 00"},
		"16 bytes, unknown type":   {undecided, unhex(t, "4D 43 50 00 00 01 00 08"), "the frame type 8 is unknown"},
		"16 bytes, type zero":      {undecided, unhex(t, "4D 43 50 00 00 01 00 00"), "the frame type 0 is unknown"},
		"16 bytes, version 2":      {undecided, unhex(t, "4D 43 50 00 00 02 00 01"), "version 2 of the frame header is not supported; version 1 is"},
		"16 bytes, reserved bits":  {undecided, unhex(t, "4D 43 50 00 00 01 00 01 00 00 00 80 00 00 00 00"), "the reserved bits 0x00000080 of the frame header are not zero"},
		"16 bytes, 4 GiB":          {undecided, unhex(t, "4D 43 50 00 00 01 00 01 00 00 00 00 FF FF FF FF"), "the frame is longer than 1048576 bytes"},
		"an acknowledgement":       {undecided, unhex(t, "4D 43 50 00 00 01 00 07 00 00 00 00 00 00 00 00"), "a version is acknowledged that was not proposed"},
		"an unknown flag":          {flagged, unhex(t, "4D 43 01 02"), "the frame flags 0x02 are unknown"},
		"a compressed ping":        {flagged, unhex(t, "4D 43 02 01 00 00 00 00"), "a frame is compressed that is not data"},
		"no gzip":                  {flagged, unhex(t, "4D 43 01 01 00 00 00 02 7B 7D"), "the payload is not gzip, although its header says so"},
		"half a gzip":              {flagged, frame(flagged, bomb[:len(bomb)/2])[:8+len(bomb)/2], "the frame is longer than 1048576 bytes after decompression"},
		"a broken gzip":            {flagged, frame(flagged, broken(bomb)), "the payload is corrupt gzip"},
		"a gzip bomb":              {flagged, frame(flagged, bomb), "the frame is longer than 1048576 bytes after decompression"},
		"two gzips, one too long":  {flagged, frame(flagged, append(gz(t, []byte("{}")), bomb...)), "the frame is longer than 1048576 bytes after decompression"},
		"a gzip with something on": {flagged, frame(flagged, append(gz(t, []byte("{}")), "x..........."...)), "the payload is corrupt gzip"},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := newScripted(bytes.NewReader(tt.bytes), tt.form, true, 1<<20)
			frames, err := readAll(c)
			var r *performatives.Refusal
			if !errors.As(err, &r) || r.Text != tt.want || r.Code != performatives.CodeParsingError || len(frames) != 0 {
				t.Errorf("read %d frames and %v, want the refusal %q", len(frames), err, tt.want)
			}
		})
	}
}

// frame returns a compressed frame.
func frame(f form, payload []byte) []byte {
	h := header{form: f, typ: 1, compressed: true, length: uint32(len(payload))}
	return append(h.append(nil), payload...)
}

func gz(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// gzipped4MiB returns 4 MiB of zeros, compressed.
func gzipped4MiB(t testing.TB) []byte { return gz(t, make([]byte, 4<<20)) }

func broken(b []byte) []byte {
	b = bytes.Clone(b)
	b[12] ^= 0xFF
	return b
}

// The end of the stream within a frame is io.ErrUnexpectedEOF.
func TestHalfFrames(t *testing.T) {
	for _, g := range goldens(t) {
		for n := 1; n < len(g.bytes); n++ {
			c, _ := newScripted(bytes.NewReader(g.bytes[:n]), g.form, true, 1<<20)
			if frames, err := readAll(c); len(frames) != 0 || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("%s, %d bytes: %d frames and %v", g.name, n, len(frames), err)
			}
		}
	}
}

// A header allocates nothing for its payload, the memory of a long frame is released with the
// frame, and the memory of a burst is released after it.
func TestMemory(t *testing.T) {
	const limit = 16 << 20
	announced := []byte{magic0, magic1, 1, 0x01, 0, 0, 0} // 16 MiB
	c, _ := newScripted(bytes.NewReader(announced), undecided, true, limit)
	if _, err := readAll(c); !errors.Is(err, io.ErrUnexpectedEOF) || len(c.in.buf.b) != smallBuffer {
		t.Errorf("announced: %v, and a buffer of %d bytes", err, len(c.in.buf.b))
	}
	part := append(announced, make([]byte, 100_000)...)
	c, _ = newScripted(bytes.NewReader(part), undecided, true, limit)
	if _, err := readAll(c); !errors.Is(err, io.ErrUnexpectedEOF) || len(c.in.buf.b) > 2*len(part) {
		t.Errorf("100 kB of 16 MiB: %v, and a buffer of %d bytes", err, len(c.in.buf.b))
	}
	long := encoded(plain, wire.Frame{Kind: wire.KindData, Data: make([]byte, 600<<10)}, wire.Frame{Kind: wire.KindPing})
	c, _ = newScripted(iotest.OneByteReader(bytes.NewReader(long)), undecided, true, limit)
	peak := 0
	if _, err := c.Read(func(wire.Frame) {}); err != nil {
		t.Fatal(err)
	}
	peak = len(c.in.buf.b)
	if _, err := c.Read(func(wire.Frame) {}); !errors.Is(err, io.EOF) || peak > 600<<10 || len(c.in.buf.b) != smallBuffer {
		t.Errorf("a long frame: %v, a buffer of %d bytes, then of %d", err, peak, len(c.in.buf.b))
	}
}

// Decompression allocates at most the limit.
func TestGzipMemory(t *testing.T) {
	bomb := gzipped4MiB(t)
	dst, err := gunzip(nil, bomb, 64<<10)
	if err == nil || cap(dst) > 256<<10 {
		t.Errorf("%v, and %d bytes for 64 KiB", err, cap(dst))
	}
}

// Reading small frames or long frames does not allocate per frame.
func TestReadAllocatesNothing(t *testing.T) {
	for _, size := range []int{0, 100, 1 << 10, 3 << 10, 5 << 10, 40 << 10} {
		b := encoded(plain, wire.Frame{Kind: wire.KindData, Data: make([]byte, size)}, wire.Frame{Kind: wire.KindPing})
		c, _ := newScripted(&loop{b: b}, plain, true, 1<<20)
		pings := 0
		control := func(wire.Frame) { pings++ }
		if n := testing.AllocsPerRun(2000, func() {
			if got, err := c.Read(control); err != nil || len(got) != size {
				t.Fatal(len(got), err)
			}
		}); n > 0.1 && !racetest.Enabled {
			t.Errorf("%d bytes: %v allocations a frame", size, n)
		}
		if pings < 2000 {
			t.Errorf("%d pings", pings)
		}
	}
}

// loop is a reader that repeats its bytes.
type loop struct {
	b  []byte
	at int
}

func (l *loop) Read(p []byte) (int, error) {
	n := copy(p, l.b[l.at:])
	l.at = (l.at + n) % len(l.b)
	return n, nil
}

// The deadline is set once for each frame that arrives in parts, and cleared between frames.
func TestDeadlines(t *testing.T) {
	one := encoded(plain, wire.Frame{Kind: wire.KindData, Data: []byte("0123456789")})
	parts := &script{parts: [][]byte{one, one[:3], one[3:9], one[9:], append(bytes.Clone(one), one...), append(bytes.Clone(one), one[:1]...), one[1:]}}
	c, network := newScripted(parts, plain, true, 1<<20)
	frames, err := readAll(c)
	if !errors.Is(err, io.EOF) || len(frames) != 6 {
		t.Fatalf("%d frames, %v", len(frames), err)
	}
	var got []bool
	for _, at := range network.deadlines {
		got = append(got, at.IsZero())
		if d := time.Until(at); !at.IsZero() && (d > time.Minute || d < 0) {
			t.Errorf("a deadline after %v", d)
		}
	}
	// Set in the first frame that arrives in parts and cleared after it. Set again in the frame
	// whose first byte arrived with another frame, and cleared before the end.
	if want := []bool{false, true, false, true}; len(got) != len(want) || got[0] || !got[1] || got[2] || !got[3] {
		t.Errorf("cleared deadlines: %v, want %v", got, want)
	}
}

// script is a reader that returns one part per call.
type script struct{ parts [][]byte }

func (s *script) Read(p []byte) (int, error) {
	if len(s.parts) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.parts[0])
	if s.parts[0] = s.parts[0][n:]; len(s.parts[0]) == 0 {
		s.parts = s.parts[1:]
	}
	return n, nil
}
