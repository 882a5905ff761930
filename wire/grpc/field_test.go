package grpc

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/ribosome-agents/ribosome/internal/protofield"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/grpc/ribosomev1"
)

// Generated code reads fields up to the largest number of protobuf, and so does this package, in a
// frame and in an envelope.
func TestLargestFieldNumber(t *testing.T) {
	for _, c := range []struct {
		num protowire.Number
		ok  bool
	}{
		{1 << 11, true},
		{protowire.MaxValidNumber, true},
		{protowire.MaxValidNumber + 1, false},
		{math.MaxInt32, false},
	} {
		data := protowire.AppendBytes(protowire.AppendVarint(nil, uint64(c.num)<<3|uint64(protowire.BytesType)), []byte("text"))
		if err := proto.Unmarshal(data, &ribosomev1.Frame{}); (err == nil) != c.ok {
			t.Errorf("field %d: generated code says %v", c.num, err)
		}
		if _, size := field(data); (size == len(data)) != c.ok || (size < 0) == c.ok {
			t.Errorf("field %d of a frame has a size of %d bytes", c.num, size)
		}
		if num, text, _, size := protofield.Next(data); (num == c.num && string(text) == "text" && size == len(data)) != c.ok || (size < 0) == c.ok {
			t.Errorf("field %d of an envelope: got %d, %q, a size of %d bytes", c.num, num, text, size)
		}
	}
}

// An envelope is as generated code writes it, whatever the size of its length.
func TestLengthOfAnEnvelope(t *testing.T) {
	racetest.Skip(t)
	c := newCodec(t)
	sizes := make(map[int]bool)
	for _, around := range []int{1 << 7, 1 << 14, 1 << 21} {
		for payload := max(around-80, len(`{"x":""}`)); payload < around+4; payload++ {
			m := message(t, performatives.Envelope{
				ID: "1", Sender: "a", Performative: performatives.ActInform, Timestamp: noon, InReplyTo: "0",
				Payload: performatives.Raw(`{"x":"` + strings.Repeat("x", payload-len(`{"x":""}`)) + `"}`),
			})
			frame := encode(t, c, m)
			var f ribosomev1.Frame
			if err := proto.Unmarshal(frame, &f); err != nil || len(f.Envelopes) != 1 {
				t.Fatalf("a payload of %d bytes: %v", payload, err)
			}
			again, err := proto.MarshalOptions{Deterministic: true}.Marshal(&f)
			if err != nil || !bytes.Equal(again, frame) {
				t.Fatalf("a payload of %d bytes: generated code writes %d bytes, not %d: %v", payload, len(again), len(frame), err)
			}
			sizes[protowire.SizeBytes(proto.Size(f.Envelopes[0]))-proto.Size(f.Envelopes[0])] = true
		}
	}
	for size := 1; size <= 4; size++ {
		if !sizes[size] {
			t.Errorf("no length had %d bytes", size)
		}
	}
}

// The names of an envelope take memory once.
func TestDecodeAllocs(t *testing.T) {
	c := newCodec(t)
	const id, conversation = "019ac0de-7b1e-7d2a-9f41-6f1d2c3b4a59", "019ac0de-7b1e-7d2a-9f41-000000000001"
	request := performatives.Envelope{
		ID: id, ConversationID: id, ReplyWith: id, Sender: "Eddy", Receiver: "Jules", Performative: performatives.ActRequest,
		Timestamp: noon, ReplyBy: noon, Language: performatives.LanguageJSON, Payload: performatives.Raw(`{"x":1}`),
	}
	reply := request
	reply.Performative, reply.ConversationID, reply.InReplyTo, reply.ReplyWith = performatives.ActInform, conversation, conversation, ""
	long := request
	long.Protocol, long.ReplyWith = strings.Repeat("p", 180), strings.Repeat("r", 180)
	for name, want := range map[string]struct {
		e performatives.Envelope
		n float64
	}{
		"a request":  {request, 4}, // the message, the names, the payload and its interface
		"a reply":    {reply, 4},
		"long names": {long, 6}, // two names by themselves
	} {
		frame := encode(t, c, message(t, want.e))
		if got := testing.AllocsPerRun(100, func() { c.Decode(frame, func(wire.Inbound) {}) }); got != want.n {
			t.Errorf("%s: %v allocations, want %v", name, got, want.n)
		}
	}
}

// The names of a message are those of its envelope, also long ones. They are parts of one text, which
// is as long as they are, if they have at most maxNames bytes.
func TestNames(t *testing.T) {
	c := newCodec(t)
	for length := 1; length <= performatives.MaxIDLength; length++ {
		name := strings.Repeat("n", length)
		want := message(t, performatives.Envelope{
			ID: performatives.MessageID(name), ConversationID: "c", ReplyWith: name, InReplyTo: name + "2"[:min(1, performatives.MaxIDLength-length)],
			Sender: performatives.AgentID(name), Receiver: "Jules", Protocol: name, Performative: performatives.ActRequest, Timestamp: noon,
		})
		frame := encode(t, c, want)
		c.Decode(frame, func(in wire.Inbound) {
			if in.Err != nil {
				t.Fatal(in.Err)
			}
			clear(frame) // the message does not refer to it
			m, all, kept := in.Message, 0, 0
			first := uintptr(unsafe.Pointer(unsafe.StringData(string(m.ID()))))
			for _, name := range []string{string(m.ID()), string(m.Sender()), string(m.Receiver()), string(m.ConversationID()), m.Protocol(), m.InReplyTo(), m.ReplyWith()} {
				all += len(name)
				if at := uintptr(unsafe.Pointer(unsafe.StringData(name))); at == first+uintptr(kept) {
					kept += len(name)
				}
			}
			if all <= maxNames && kept != all {
				t.Errorf("of names of %d bytes, %d are in one text", all, kept)
			}
			if diff := cmp.Diff(want.Envelope(), in.Message.Envelope()); diff != "" {
				t.Errorf("names of %d bytes (-want +got):\n%s", length, diff)
			}
		})
	}
}
