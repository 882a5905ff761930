package tcp

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// fuzzLimit is the longest payload in the fuzz targets.
const fuzzLimit = 256 << 10

func FuzzPlain(f *testing.F)     { fuzzForm(f, plain) }
func FuzzFlagged(f *testing.F)   { fuzzForm(f, flagged) }
func FuzzVersioned(f *testing.F) { fuzzForm(f, versioned) }

// FuzzDetect has a server find out the form, and negotiate a version.
func FuzzDetect(f *testing.F) {
	f.Add(header{form: versioned, typ: typePropose, length: uint32(len(proposePayload))}.append(nil), uint16(16))
	f.Add(append(header{form: versioned, typ: typePropose, length: uint32(len(proposePayload))}.append(nil), proposePayload...), uint16(3))
	f.Add(append(header{form: versioned, typ: typeAgree, length: uint32(len(agreePayload))}.append(nil), agreePayload...), uint16(1))
	fuzzForm(f, undecided)
}

// fuzzForm checks a decoder: where the bytes are split makes no difference, memory is
// bounded by what has come, and what was read can be written and is read the same.
func fuzzForm(f *testing.F, start form) {
	for _, g := range goldens(f) {
		f.Add(g.bytes, uint16(len(g.bytes)/2))
		f.Add(append(bytes.Clone(g.bytes), g.bytes...), uint16(5))
	}
	f.Add([]byte("GET / HTTP/1.1\r\n"), uint16(1))
	f.Fuzz(func(t *testing.T, b []byte, at uint16) {
		whole, f, answers, why := decode(t, start, bytes.NewReader(b), len(b))
		bytewise, _, answers1, why1 := decode(t, start, iotest.OneByteReader(bytes.NewReader(b)), len(b))
		cut := min(int(at), len(b))
		halves, _, answers2, why2 := decode(t, start, io.MultiReader(bytes.NewReader(b[:cut]), bytes.NewReader(b[cut:])), len(b))
		for _, other := range [][]wire.Frame{bytewise, halves} {
			if diff := cmp.Diff(whole, other); diff != "" {
				t.Fatalf("split elsewhere, other frames:\n%s", diff)
			}
		}
		if why1 != why || why2 != why || !bytes.Equal(answers, answers1) || !bytes.Equal(answers, answers2) {
			t.Fatalf("split elsewhere, another end: %q, %q, %q", why, why1, why2)
		}
		again(t, max(f, plain), whole)
	})
}

// decode reads a stream, and returns what came, in which form, what was answered and how
// it ended.
func decode(t *testing.T, start form, src io.Reader, size int) (frames []wire.Frame, f form, answers []byte, why string) {
	t.Helper()
	c, tape := play(src, start, true, fuzzLimit)
	frames, err := heard(c)
	var r *performatives.Refusal
	if !errors.As(err, &r) && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("an error of another kind: %v", err)
	}
	if n := len(c.in.buf.b); n > max(busyBuffer, 2*size) {
		t.Fatalf("a buffer of %d bytes for %d", n, size)
	}
	if n := cap(c.in.plain); n > 2*fuzzLimit+smallBuffer {
		t.Fatalf("%d bytes for what was compressed", n)
	}
	return frames, c.form(), tape.out.Bytes(), err.Error()
}

// again writes what was read, and reads it once more.
func again(t *testing.T, f form, frames []wire.Frame) {
	t.Helper()
	var want []wire.Frame
	for _, frame := range frames {
		if f == versioned && frame.Kind == wire.KindClose || frame.Err != nil && frame.Err.Text == "" {
			continue // not written; not written as it came
		}
		if f == versioned && frame.Kind != wire.KindData && frame.Err == nil {
			frame.Data = healthPayload
		}
		want = append(want, frame)
	}
	c, _ := play(bytes.NewReader(written(f, want...)), f, true, fuzzLimit)
	got, err := heard(c)
	if f == versioned && len(got) > 0 { // the end of the stream
		got = got[:len(got)-1]
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || !errors.Is(err, io.EOF) {
		t.Fatalf("read again (%v):\n%s", err, diff)
	}
}
