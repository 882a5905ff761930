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

// fuzzLimit is the largest payload in the fuzz targets.
const fuzzLimit = 256 << 10

func FuzzPlain(f *testing.F)     { fuzzForm(f, plain) }
func FuzzFlagged(f *testing.F)   { fuzzForm(f, flagged) }
func FuzzVersioned(f *testing.F) { fuzzForm(f, versioned) }

// FuzzDetect tests a server that detects the form and negotiates the version.
func FuzzDetect(f *testing.F) {
	f.Add(header{form: versioned, typ: typePropose, length: uint32(len(proposePayload))}.append(nil), uint16(16))
	f.Add(append(header{form: versioned, typ: typePropose, length: uint32(len(proposePayload))}.append(nil), proposePayload...), uint16(3))
	f.Add(append(header{form: versioned, typ: typeAgree, length: uint32(len(agreePayload))}.append(nil), agreePayload...), uint16(1))
	fuzzForm(f, undecided)
}

// fuzzForm checks a decoder: the result does not depend on how the input is split, memory is
// bounded by the input, and decoded frames are encoded and decoded to the same frames.
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
				t.Fatalf("another split gives other frames:\n%s", diff)
			}
		}
		if why1 != why || why2 != why || !bytes.Equal(answers, answers1) || !bytes.Equal(answers, answers2) {
			t.Fatalf("another split gives another error: %q, %q, %q", why, why1, why2)
		}
		again(t, max(f, plain), whole)
	})
}

// decode reads a stream. It returns the frames, the form, the written answers and the final
// error.
func decode(t *testing.T, start form, src io.Reader, size int) (frames []wire.Frame, f form, answers []byte, why string) {
	t.Helper()
	c, network := newScripted(src, start, true, fuzzLimit)
	frames, err := readAll(c)
	var r *performatives.Refusal
	if !errors.As(err, &r) && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("unexpected type of error: %v", err)
	}
	if n := len(c.in.buf.b); n > max(busyBuffer, 2*size) {
		t.Fatalf("a buffer of %d bytes for %d", n, size)
	}
	if n := cap(c.in.decompressed); n > 2*fuzzLimit+smallBuffer {
		t.Fatalf("a buffer of %d bytes for decompressed data", n)
	}
	return frames, c.form(), network.out.Bytes(), err.Error()
}

// again encodes frames and decodes the result.
func again(t *testing.T, f form, frames []wire.Frame) {
	t.Helper()
	var want []wire.Frame
	for _, frame := range frames {
		if f == versioned && frame.Kind == wire.KindClose || frame.Err != nil && frame.Err.Text == "" {
			continue // frames of this kind are not written, or not as they arrived
		}
		if f == versioned && frame.Kind != wire.KindData && frame.Err == nil {
			frame.Data = healthPayload
		}
		want = append(want, frame)
	}
	c, _ := newScripted(bytes.NewReader(encoded(f, want...)), f, true, fuzzLimit)
	got, err := readAll(c)
	if f == versioned && len(got) > 0 { // the end of the stream
		got = got[:len(got)-1]
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || !errors.Is(err, io.EOF) {
		t.Fatalf("decoded again (%v):\n%s", err, diff)
	}
}
