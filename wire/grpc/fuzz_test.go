package grpc

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/grpc/ribosomev1"
)

// FuzzDecode: no input makes the decoder panic; what it reads is what generated code
// reads, and is the same when it is written and read again; what it does not read is
// answered.
func FuzzDecode(f *testing.F) {
	c := newCodec(f)
	for i, act := range allActs() {
		frame := encode(f, c, rapid.Custom(func(t *rapid.T) *performatives.Message { return drawMessage(t, act) }).Example(i))
		f.Add(frame)
		f.Add(frame[:len(frame)*2/3])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		all := decodeAll(c, data)
		for _, in := range all {
			if in.Message == nil {
				checkAnswer(t, c, in)
				continue
			}
			again := decodeOne(t, c, encode(t, c, in.Message))
			if diff := difference(t, in.Message, again); diff != "" {
				t.Fatalf("(-first +second):\n%s", diff)
			}
		}
		checkGenerated(t, data, all)
	})
}

// checkAnswer checks that an error has a code and a text, and that its answer is a message.
func checkAnswer(t *testing.T, c *codec, in wire.Inbound) {
	if in.Err == nil || !in.Err.Code.Known() || in.Err.Text == "" {
		t.Fatalf("got %+v", in)
	}
	if in.Answer != nil && decodeOne(t, c, in.Answer).Performative() != performatives.ActNotUnderstood {
		t.Fatalf("answer %x", in.Answer)
	}
}

// checkGenerated checks that generated code reads what was read, and the same.
func checkGenerated(t *testing.T, data []byte, all []wire.Inbound) {
	for len(all) > 0 {
		num, size := field(data)
		if size < 0 {
			return // of which the last of all tells
		}
		if num == frameEnvelopes {
			_, _, tag := protowire.ConsumeTag(data)
			body, _ := protowire.ConsumeBytes(data[tag:])
			compareEnvelope(t, body, all[0].Message)
			all = all[1:]
		}
		data = data[size:]
	}
}

func compareEnvelope(t *testing.T, data []byte, m *performatives.Message) {
	if m == nil {
		return // generated code is content with less, or does not read it either
	}
	var e ribosomev1.Envelope
	err := proto.Unmarshal(data, &e)
	if err != nil && strings.Contains(err.Error(), "UTF-8") {
		return // of a text that a later one replaces, which only generated code looks at
	}
	if err != nil {
		t.Fatalf("generated code does not read %x: %v", data, err)
	}
	if e.Timestamp == nil || e.Timestamp.AsTime().IsZero() || e.ReplyBy != nil && e.ReplyBy.AsTime().IsZero() {
		return // a zero time stands for none
	}
	if e.ConversationId == "" {
		e.ConversationId = e.Id
	}
	switch m.Payload().(type) {
	case nil, performatives.Raw:
	default: // decoding may change the case of a task_status and the spelling of a number
		e.Payload = jsonOf(t, m.Payload())
	}
	compareGenerated(t, m, &e)
}
