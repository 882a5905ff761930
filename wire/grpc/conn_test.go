package grpc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/grpc/ribosomev1"
)

// tape is a stream in memory: what it plays was recorded, and it records what is sent.
type tape struct {
	play [][]byte
	sent [][]byte
	stop chan struct{} // SendMsg waits for it, if it is not nil
	slow func() error  // SendMsg calls it, if it is not nil
}

func (s *tape) RecvMsg(m any) error {
	if len(s.play) == 0 {
		return io.EOF
	}
	b := s.play[0]
	s.play = s.play[1:]
	return proto.Unmarshal(b, m.(*carrier))
}

func (s *tape) SendMsg(m any) error {
	if s.stop != nil {
		<-s.stop
		return errors.New("the stream has ended")
	}
	if s.slow != nil {
		if err := s.slow(); err != nil {
			return err
		}
	}
	b, err := proto.Marshal(m.(*carrier))
	s.sent = append(s.sent, b)
	return err
}

func newTape(play ...[]byte) (*tape, *conn) {
	s := &tape{play: play}
	c := newConn(s, wire.Peer{}, wire.Limits{}.WithDefaults())
	c.abort, c.closing = func() {}, func(bool) {}
	c.lost = func(err error) error { return err }
	return s, c
}

// readAll lists what a connection reads, until its end.
func readAll(c *conn) (got []string, err error) {
	control := func(f wire.Frame) {
		text := string(f.Data)
		if f.Err != nil {
			text = f.Err.Error()
		}
		got = append(got, fmt.Sprintf("%d %s", f.Kind, text))
	}
	for {
		data, err := c.Read(control)
		if err != nil {
			return got, err
		}
		got = append(got, fmt.Sprintf("%x", data))
	}
}

// What is written in one message is read as it was written: envelopes in a row
// together, signals in their places.
func TestWrittenAndRead(t *testing.T) {
	one, two := appendSignal(nil, frameEnvelopes, []byte("\x0a\x011")), appendSignal(nil, frameEnvelopes, []byte("\x0a\x012"))
	s, c := newTape()
	refusal := &performatives.Refusal{Code: performatives.CodeBusy, Text: "no", About: "m-1", Field: "f"}
	if err := c.Write([]wire.Frame{
		{Kind: wire.KindPing, Data: []byte("now")},
		{Kind: wire.KindData, Data: one},
		{Kind: wire.KindData, Data: two},
		{Kind: wire.KindPong},
		{Kind: wire.KindData, Data: one},
		{Kind: wire.KindError, Err: refusal},
		{Kind: wire.KindError},
		{Kind: wire.KindClose, Data: []byte("bye")},
	}); err != nil {
		t.Fatal(err)
	}
	if len(s.sent) != 1 {
		t.Fatalf("%d messages for one write", len(s.sent))
	}
	_, reader := newTape(s.sent[0])
	got, err := readAll(reader)
	if !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	want := []string{
		"2 now", fmt.Sprintf("%x%x", one, two), "3 ", fmt.Sprintf("%x", one), "4 no (busy)",
		"4 the agent failed (internal_error)", "5 bye",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var f ribosomev1.Frame
	if err := proto.Unmarshal(s.sent[0], &f); err != nil || len(f.Envelopes) != 3 || string(f.Ping.Data) != "now" || f.Close.Reason != "bye" || f.Pong == nil {
		t.Errorf("generated code reads %v, %v", &f, err)
	}
}

// Batches are bounded, whatever is written, and nothing is lost or changed.
func TestBatches(t *testing.T) {
	racetest.Skip(t)
	rapid.Check(t, func(t *rapid.T) {
		s, c := newTape()
		sizes := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 200), rapid.IntRange(300_000, 1_200_000)), 1, 8).Draw(t, "sizes")
		var frames []wire.Frame
		var all []byte
		for i, n := range sizes {
			data := appendSignal(nil, frameEnvelopes, bytes.Repeat([]byte{byte(i)}, n))
			frames = append(frames, wire.Frame{Kind: wire.KindData, Data: data})
			all = append(all, data...)
		}
		if err := c.Write(frames); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(slices.Concat(s.sent...), all) {
			t.Fatal("other bytes than were written")
		}
		for i, b := range s.sent {
			if _, size := field(b); len(b) > maxBatch && size != len(b) {
				t.Fatalf("message %d has %d bytes and more than one frame", i, len(b))
			}
			if i > 0 && len(s.sent[i-1])+len(b) < maxBatch/2 {
				t.Fatalf("messages %d and %d could be one", i-1, i)
			}
		}
		buf := batches.Get().(*[]byte)
		if cap(*buf) > maxPooled {
			t.Fatalf("%d bytes are kept", cap(*buf))
		}
		batches.Put(buf)
	})
}

// A limit holds from the next frame on, also in the middle of a message.
func TestLimitChangesInsideAMessage(t *testing.T) {
	short, long := appendSignal(nil, frameEnvelopes, make([]byte, 10)), appendSignal(nil, frameEnvelopes, make([]byte, 1000))
	_, c := newTape(slices.Concat(short, long))
	c.SetLimit(100)
	if got, err := c.Read(nil); err != nil || !bytes.Equal(got, short) {
		t.Fatalf("%x, %v", got, err)
	}
	c.SetLimit(2000)
	if got, err := c.Read(nil); err != nil || !bytes.Equal(got, long) {
		t.Fatalf("%x, %v", got, err)
	}
	_, c = newTape(slices.Concat(short, long))
	c.SetLimit(100)
	_, _ = c.Read(nil)
	if _, err := c.Read(nil); !errors.Is(err, performatives.CodeParsingError) || !strings.Contains(err.Error(), "longer than 100 bytes") {
		t.Errorf("got %v", err)
	}
}

func TestLimitHoldsForSignals(t *testing.T) {
	_, c := newTape(appendSignal(nil, framePing, make([]byte, 1000)))
	c.SetLimit(100)
	if got, err := readAll(c); len(got) > 0 || !errors.Is(err, performatives.CodeParsingError) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestReadOfWhatIsNoSignal(t *testing.T) {
	for name, b := range map[string][]byte{
		"ping":  appendSignal(nil, framePing, []byte{0xff}),
		"error": appendSignal(nil, frameError, []byte{0x0a}),
	} {
		_, c := newTape(b)
		if got, err := readAll(c); len(got) > 0 || !errors.Is(err, performatives.CodeParsingError) {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
}

// Fields of later versions, and empty messages, are passed over.
func TestUnknownFieldsAreIgnored(t *testing.T) {
	frame, err := proto.Marshal(&ribosomev1.Frame{Envelopes: []*ribosomev1.Envelope{inform("1")}})
	if err != nil {
		t.Fatal(err)
	}
	future := []byte{6 << 3, 42, 7<<3 | 2, 1, 'x', 2 << 3, 1} // fields 6, 7, and a ping of another type
	_, c := newTape(nil, slices.Concat(future, frame, future))
	data, err := c.Read(func(f wire.Frame) { t.Errorf("signal %+v", f) })
	if err != nil {
		t.Fatal(err)
	}
	if m := decodeOne(t, newCodec(t), data); m.ID() != "1" {
		t.Errorf("read %v", m.Envelope())
	}
}

// What a peer says of its error may end up in a log.
func TestErrorsOfPeersAreLegible(t *testing.T) {
	b, err := proto.Marshal(&ribosomev1.Error{Code: "busy", Text: "a\nb", About: strings.Repeat("x", 5000), Field: "f"})
	if err != nil {
		t.Fatal(err)
	}
	f, ok := signal(frameError, appendSignal(nil, frameError, b))
	if diff := cmp.Diff(&performatives.Refusal{Code: "busy", Text: "a b", Field: "f"}, f.Err); !ok || diff != "" {
		t.Error(diff)
	}
	for _, code := range []codes.Code{codes.Unavailable, codes.PermissionDenied} {
		if err := refusalOf(status.Error(code, "a\x1b[31mb"+strings.Repeat("x", 10_000))); strings.Contains(err.Error(), "\x1b") || len(err.Error()) > 600 {
			t.Errorf("%v: %q", code, err)
		}
	}
}

// After Close nothing is read, though the stream goes on until the peer has ended it.
func TestNothingIsReadAfterClose(t *testing.T) {
	_, c := newTape(appendSignal(nil, framePing, nil), appendSignal(nil, frameEnvelopes, []byte("\x0a\x011")))
	_ = c.Close()
	_ = c.Close()
	if got, err := readAll(c); len(got) > 0 || !errors.Is(err, io.EOF) {
		t.Errorf("got %v, %v", got, err)
	}
}

// A write that the peer does not take ends the stream, and is not waited for longer.
func TestWriteGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := newTape()
		s.stop = make(chan struct{})
		c.abort = func() { close(s.stop) }
		began := time.Now()
		err := c.Write([]wire.Frame{{Kind: wire.KindPing}})
		if !errors.Is(err, wire.ErrSlow) || time.Since(began) != c.patience {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
	})
}

// A peer that takes a message now and then does not make a write of many take longer.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := newTape()
		aborted := make(chan struct{})
		c.abort = func() { close(aborted) }
		s.slow = func() error {
			select {
			case <-time.After(20 * time.Second):
				return nil
			case <-aborted:
				return errors.New("the stream has ended")
			}
		}
		began := time.Now()
		long := wire.Frame{Kind: wire.KindData, Data: make([]byte, maxBatch)}
		err := c.Write([]wire.Frame{long, long, long})
		if took := time.Since(began); !errors.Is(err, wire.ErrSlow) || took != c.patience {
			t.Errorf("got %v after %v", err, took)
		}
	})
}

// Nothing follows a CLOSE: not in the same message, and not in another.
func TestNothingFollowsClose(t *testing.T) {
	e := appendSignal(nil, frameEnvelopes, []byte("\x0a\x011"))
	_, c := newTape(append(appendSignal(bytes.Clone(e), frameClose, nil), e...), e)
	var kinds []wire.Kind
	control := func(f wire.Frame) { kinds = append(kinds, f.Kind) }
	if b, err := c.Read(control); err != nil || !bytes.Equal(b, e) {
		t.Fatalf("got % X, %v", b, err)
	}
	b, err := c.Read(control)
	if len(b) > 0 || !errors.Is(err, io.EOF) || !slices.Equal(kinds, []wire.Kind{wire.KindClose}) {
		t.Errorf("after CLOSE: % X, %v, signals %v", b, err, kinds)
	}
}

// FuzzRead: whatever is received, reading ends in order or with a refusal, gives every
// envelope to the codec, and nothing is longer than the limit.
func FuzzRead(f *testing.F) {
	f.Add(appendSignal(appendSignal(nil, framePing, []byte("x")), frameEnvelopes, []byte("\x0a\x011")), 10)
	f.Add(appendWire(appendWire(nil, wire.Frame{Kind: wire.KindError, Err: &performatives.Refusal{Code: "busy"}}), wire.Frame{Kind: wire.KindClose}), 100)
	f.Fuzz(func(t *testing.T, b []byte, limit int) {
		_, c := newTape(b)
		c.SetLimit(limit)
		var envelopes []byte
		for {
			data, err := c.Read(func(f wire.Frame) {
				if len(f.Data) > limit {
					t.Fatalf("a signal of %d bytes", len(f.Data))
				}
			})
			if err != nil {
				break
			}
			envelopes = append(envelopes, data...)
		}
		for len(envelopes) > 0 {
			num, size := field(envelopes)
			if size < 0 || size > limit || num > frameEnvelopes {
				t.Fatalf("field %d of %d bytes in data", num, size)
			}
			envelopes = envelopes[size:]
		}
	})
}
