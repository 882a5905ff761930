package tcp_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/tcp"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// raw is a peer that writes and reads bytes.
type raw struct {
	net.Conn
	t  testing.TB
	in *bufio.Reader
}

func rawDial(t testing.TB, h *host) raw {
	t.Helper()
	c, err := net.Dial("tcp", h.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(3 * patience.Time)); err != nil {
		t.Fatal(err)
	}
	return raw{c, t, bufio.NewReaderSize(c, 64<<10)}
}

func (r raw) write(parts ...[]byte) {
	r.t.Helper()
	if _, err := r.Write(bytes.Join(parts, nil)); err != nil {
		r.t.Fatal(err)
	}
}

// read7, read8 and read16 read a frame of the form with that header length, and return its
// type and payload.
func (r raw) read7() (byte, []byte)   { h, p := r.frame(7); return h[2], p }
func (r raw) read8() ([]byte, []byte) { h, p := r.frame(8); return h[2:4], p }
func (r raw) read16() (uint16, []byte) {
	h, p := r.frame(16)
	return binary.BigEndian.Uint16(h[6:]), p
}

func (r raw) frame(header int) (h, payload []byte) {
	r.t.Helper()
	h = r.bytes(header)
	if h[0] != 0x4D || h[1] != 0x43 {
		r.t.Fatalf("a frame begins with % X", h)
	}
	return h, r.bytes(int(binary.BigEndian.Uint32(h[header-4:])))
}

func (r raw) bytes(n int) []byte {
	r.t.Helper()
	b := make([]byte, n)
	if _, err := io.ReadFull(r.in, b); err != nil {
		r.t.Fatal(err)
	}
	return b
}

// ends checks that the connection ends without more data.
func (r raw) ends() {
	r.t.Helper()
	if n, err := r.in.Read(make([]byte, 1)); n > 0 || err == nil {
		r.t.Error("there is more to read")
	}
}

// refused checks that the server sends an error and CLOSE, and closes the connection.
func (r raw) refused(code, text string) {
	r.t.Helper()
	typ, payload := r.read7()
	var said wire.ErrorObject
	if err := json.Unmarshal(payload, &said); typ != 4 || err != nil || said.Code != code || said.Message != text {
		r.t.Errorf("type %d: %s; want %s %q", typ, payload, code, text)
	}
	if typ, _ := r.read7(); typ != 5 {
		r.t.Errorf("type %d after the error, want CLOSE", typ)
	}
	r.ends()
	_ = r.Close() // the server lingers until the peer closes
}

func frame7(typ byte, payload string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0x4D, 0x43, typ}, uint32(len(payload))), payload...)
}

func frame8(typ, flags byte, payload string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0x4D, 0x43, typ, flags}, uint32(len(payload))), payload...)
}

func frame16(version, typ uint16, payload string) []byte {
	b := binary.BigEndian.AppendUint16([]byte{0x4D, 0x43, 0x50, 0}, version)
	b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(b, typ), 0)
	return append(binary.BigEndian.AppendUint32(b, uint32(len(payload))), payload...)
}

// requestFrame returns a message in the test dialect.
func requestFrame(text string) string {
	b, err := json.Marshal(map[string]any{"ID": "1", "act": "REQUEST", "From": "a", "To": "b", "Time": 1, "Payload": map[string]string{"text": text}})
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestRaw7(t *testing.T) {
	h := serve(t, tcp.Options{}, nil)
	r := rawDial(t, h)
	r.write(frame7(1, requestFrame("hello")), frame7(2, "12345678"))
	for range 2 {
		switch typ, p := r.read7(); {
		case typ == 3 && string(p) == "12345678":
		case typ == 1 && strings.Contains(string(p), "hello"):
		default:
			t.Fatalf("type %d: %s", typ, p)
		}
	}
	r.write(frame7(5, "bye"))
	if typ, p := r.read7(); typ != 5 || len(p) != 0 {
		t.Errorf("type %d: %s, want CLOSE", typ, p)
	}
	r.ends()
	if err := h.AwaitEnd(t, 1)[0]; err != nil {
		t.Errorf("the session ended with %v", err)
	}
}

// Every frame type may have an empty payload, and frames after CLOSE are ignored.
func TestEmptyFramesAndLast(t *testing.T) {
	h := serve(t, tcp.Options{}, nil)
	r := rawDial(t, h)
	r.write(frame7(1, ""), frame7(2, ""), frame7(3, ""), frame7(1, requestFrame("hello")))
	var pongs, answers int
	for range 3 {
		switch typ, p := r.read7(); {
		case typ == 3 && len(p) == 0:
			pongs++
		case typ == 1:
			answers++
		default:
			t.Fatalf("type %d: %s", typ, p)
		}
	}
	if pongs != 1 || answers != 2 {
		t.Errorf("%d pongs and %d answers", pongs, answers)
	}
	r.write(frame7(5, ""), frame7(1, requestFrame("late")), frame7(9, "nonsense"))
	if typ, _ := r.read7(); typ != 5 {
		t.Errorf("type %d, want CLOSE", typ)
	}
	if err := h.AwaitEnd(t, 1)[0]; err != nil {
		t.Errorf("the session ended with %v", err)
	}
	if got := h.Received(); len(got) != 1 || wiretest.Text(got[0]) != "hello" {
		t.Errorf("%d messages were received", len(got))
	}
}

// The reserved bytes of the versioned form are written as zero.
func TestRaw16Reserved(t *testing.T) {
	h := serve(t, tcp.Options{}, nil)
	r := rawDial(t, h)
	r.write(frame16(1, 1, requestFrame("hello")))
	if header, p := r.frame(16); !bytes.Equal(header[8:12], make([]byte, 4)) || !strings.Contains(string(p), "hello") {
		t.Errorf("% X: %s", header, p)
	}
}

// A flagged frame is not recognized before gzip was negotiated.
func TestRaw8WithoutNegotiation(t *testing.T) {
	h := serve(t, tcp.Options{}, func(o *wire.Options) { o.Limits.Frame = 1 << 20 })
	r := rawDial(t, h)
	r.write(frame8(1, 1, zipped(t, requestFrame(wiretest.Long(1000))))) // as a plain frame it announces 16 MiB
	r.refused("INVALID_REQUEST", "the frame is longer than 1048576 bytes")
	if got := h.Received(); len(got) != 0 {
		t.Errorf("%d messages were received", len(got))
	}
}

// The agreeing answer has a 7-byte header, every later frame an 8-byte one, in both
// directions.
func TestRawGzip(t *testing.T) {
	h := serve(t, tcp.Options{}, func(o *wire.Options) { o.Dialects = []wire.Dialect{zipDialect{on: true}} })
	r := rawDial(t, h)
	r.write(frame7(1, requestFrame("gzip?")))
	if typ, p := r.read7(); typ != 1 || !strings.Contains(string(p), "gzip?") {
		t.Fatalf("type %d: %s", typ, p)
	}
	r.write(frame8(1, 0, requestFrame("short")))
	if flags, p := r.read8(); flags[0] != 1 || flags[1] != 0 || !strings.Contains(string(p), "short") {
		t.Fatalf("% X: %s", flags, p)
	}
	long := wiretest.Long(10_000)
	r.write(frame8(1, 1, zipped(t, requestFrame(long))))
	flags, p := r.read8()
	if flags[0] != 1 || flags[1] != 1 || len(p) > 1000 || !strings.Contains(unzipped(t, p), long) {
		t.Fatalf("% X and %d bytes", flags, len(p))
	}
}

func zipped(t testing.TB, s string) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func unzipped(t testing.TB, b []byte) string {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

const proposal = `{"max_version":1,"min_version":1,"preferred_version":1,"supported_versions":[1]}`

func TestRaw16(t *testing.T) {
	h := serve(t, tcp.Options{}, nil)
	r := rawDial(t, h)
	r.write(frame16(1, 6, proposal))
	want := frame16(1, 7, `{"agreed_version":1}`)
	if got := r.bytes(len(want)); !bytes.Equal(got, want) {
		t.Fatalf("acknowledgement % X, want % X", got, want)
	}
	for _, typ := range []uint16{1, 3, 2} {
		r.write(frame16(1, typ, requestFrame("hello")))
		if typ, p := r.read16(); typ != 2 || !strings.Contains(string(p), "hello") {
			t.Fatalf("type %d: %s", typ, p)
		}
	}
	r.write(frame16(1, 4, "{}"))
	if typ, p := r.read16(); typ != 4 || string(p) != "{}" {
		t.Fatalf("type %d: %s, want a health check", typ, p)
	}
	if err := r.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	r.ends()
	if err := h.AwaitEnd(t, 1)[0]; err != nil {
		t.Errorf("the session ended with %v", err)
	}
}

// A versioned peer may omit the negotiation.
func TestRaw16WithoutNegotiation(t *testing.T) {
	r := rawDial(t, serve(t, tcp.Options{}, nil))
	r.write(frame16(1, 1, requestFrame("hello")))
	if typ, p := r.read16(); typ != 2 || !strings.Contains(string(p), "hello") {
		t.Fatalf("type %d: %s", typ, p)
	}
}

// A versioned server closes its direction and waits for the peer to close too.
func TestRaw16ServerCloses(t *testing.T) {
	h := serve(t, tcp.Options{}, func(o *wire.Options) { o.Limits.CloseTime = time.Hour })
	r := rawDial(t, h)
	r.write(frame16(1, 1, requestFrame("hello")))
	r.read16()
	done := make(chan struct{})
	go func() {
		defer close(done)
		stop(t, h.Session(t, 0).Stop)
	}()
	if _, err := r.in.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("read %v, want the end", err)
	}
	_ = r.Close()
	<-done
	if err := h.AwaitEnd(t, 1)[0]; err != nil {
		t.Errorf("the session ended with %v", err)
	}
}

// A refusal in the versioned form is an error frame with plain text, followed by the end.
func TestRaw16Refused(t *testing.T) {
	h := serve(t, tcp.Options{}, nil)
	for name, tt := range map[string]struct {
		bytes []byte
		want  string
	}{
		"no common version":       {frame16(1, 6, `{"supported_versions":[2,3]}`), "none of the proposed versions is supported; version 1 is"},
		"bounds above":            {frame16(1, 6, `{"min_version":2,"max_version":3}`), "none of the proposed versions is supported; version 1 is"},
		"bounds below":            {frame16(1, 6, `{"max_version":0}`), "none of the proposed versions is supported; version 1 is"},
		"an unreadable one":       {frame16(1, 6, `[1]`), "the version negotiation cannot be parsed"},
		"an unknown type":         {frame16(1, 9, ``), "the frame type 9 is unknown"},
		"a proposal of version 2": {frame16(2, 6, proposal), "version 2 of the frame header is not supported; version 1 is"},
		"a header of version 2":   {frame16(2, 1, ``), "version 2 of the frame header is not supported; version 1 is"},
		"7 bytes later":           {append(frame16(1, 6, proposal), frame7(2, "")...), "a frame does not begin with 4D 43 50 00"},
	} {
		r := rawDial(t, h)
		r.t = t
		r.write(tt.bytes)
		typ, p := r.read16()
		if typ == 7 { // answer to a proposal
			typ, p = r.read16()
		}
		if typ != 5 || string(p) != tt.want {
			t.Errorf("%s: type %d: %s, want %s", name, typ, p, tt.want)
		}
		r.ends()
	}
}

// A proposal that includes version 1 is accepted, whatever else it holds.
func TestRaw16Proposals(t *testing.T) {
	h := serve(t, tcp.Options{}, nil)
	for _, p := range []string{`{}`, `{"supported_versions":[3,1]}`, `{"min_version":1,"max_version":7}`, `{"max_version":1}`} {
		r := rawDial(t, h)
		r.write(frame16(1, 6, p))
		if typ, said := r.read16(); typ != 7 {
			t.Errorf("%s: type %d: %s", p, typ, said)
		}
		_ = r.Close()
	}
}
