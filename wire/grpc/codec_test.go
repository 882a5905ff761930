package grpc

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/ribosome-agents/ribosome/internal/protofield"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/grpc/ribosomev1"
)

// Every act with every field comes back as it went, and is written the same again. What was read
// shares no memory with the frame.
func TestRoundTripOfEveryAct(t *testing.T) {
	racetest.Skip(t)
	c := newCodec(t)
	for act := range performatives.Performatives() {
		t.Run(act.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				m := drawMessage(t, act)
				frame := encode(t, c, m)
				received := bytes.Clone(frame)
				got := decodeOne(t, c, received)
				clear(received)
				if diff := difference(t, m, got); diff != "" {
					t.Fatalf("(-sent +read):\n%s", diff)
				}
				if again := encode(t, c, got); !bytes.Equal(again, frame) {
					t.Fatalf("written again:\n%x\n%x", frame, again)
				}
			})
		})
	}
}

// What this package writes means the same to generated code, and is what that writes.
func TestGeneratedCodeReadsAndWritesTheSame(t *testing.T) {
	c := newCodec(t)
	acts := rapid.SampledFrom(allActs())
	rapid.Check(t, func(t *rapid.T) {
		m := drawMessage(t, acts.Draw(t, "act"))
		frame := encode(t, c, m)
		var f ribosomev1.Frame
		if err := proto.Unmarshal(frame, &f); err != nil || len(f.Envelopes) != 1 {
			t.Fatalf("%v: %v", err, &f)
		}
		if len(f.Envelopes[0].ProtoReflect().GetUnknown()) > 0 {
			t.Fatalf("unknown fields in %v", &f)
		}
		compareGenerated(t, m, f.Envelopes[0])
		again, err := proto.MarshalOptions{Deterministic: true}.Marshal(&f)
		if err != nil || !bytes.Equal(again, frame) {
			t.Fatalf("written by generated code (%v):\n%x\n%x", err, frame, again)
		}
		if other, err := generatedEncode(nil, m, ""); err != nil || !bytes.Equal(other, frame) {
			t.Fatalf("written from the message by generated code (%v):\n%x\n%x", err, frame, other)
		}
	})
}

func allActs() (acts []performatives.Performative) {
	for act := range performatives.Performatives() {
		acts = append(acts, act)
	}
	return acts
}

// compareGenerated compares a message with an envelope of generated code.
func compareGenerated(t fataler, m *performatives.Message, e *ribosomev1.Envelope) {
	type row struct{ name, got, want string }
	clock := func(at time.Time) string {
		if at.IsZero() {
			return ""
		}
		return at.UTC().Format(time.RFC3339Nano)
	}
	replyBy := ""
	if e.ReplyBy != nil {
		replyBy = clock(e.ReplyBy.AsTime())
	}
	rows := []row{
		{"id", e.Id, string(m.ID())},
		{"performative", e.Performative.String(), "PERFORMATIVE_" + m.Performative().String()},
		{"sender", e.Sender, string(m.Sender())},
		{"receiver", e.Receiver, string(m.Receiver())},
		{"conversation", e.ConversationId, string(m.ConversationID())},
		{"protocol", e.Protocol, m.Protocol()},
		{"message type", e.MessageType, m.MessageType()},
		{"in_reply_to", e.InReplyTo, m.InReplyTo()},
		{"reply_with", e.ReplyWith, m.ReplyWith()},
		{"reply_by", replyBy, clock(m.ReplyBy())},
		{"timestamp", clock(e.Timestamp.AsTime()), clock(m.Timestamp())},
		{"language", e.Language, m.Language()},
		{"ontology", e.Ontology, m.Ontology()},
		{"priority", e.Priority.String(), "PRIORITY_" + strings.ToUpper(m.Priority().String())},
		{"trace", e.Trace, m.Trace()},
	}
	for _, r := range rows {
		if r.got != r.want {
			t.Fatalf("%s is %q, want %q", r.name, r.got, r.want)
		}
	}
	metadata := 0
	for name, value := range m.AllMetadata() {
		metadata++
		if string(e.Metadata[name]) != string(value) {
			t.Fatalf("metadata %q is %q, want %q", name, e.Metadata[name], value)
		}
	}
	if len(e.Metadata) != metadata {
		t.Fatalf("metadata %v", e.Metadata)
	}
	if !performatives.RawContent(e.Budget).Equal(m.Budget()) && (len(e.Budget) > 0 || !m.Budget().IsZero()) {
		t.Fatalf("budget %s", e.Budget)
	}
	var want []byte
	payload := m.Payload()
	if r, extra, ok := performatives.RefusalIn(payload); ok {
		if got := performatives.RetryAfterOf(e.RetryAfterMs); got != r.RetryAfter {
			t.Fatalf("retry_after_ms %v, want %v", got, r.RetryAfter)
		}
		r.RetryAfter = 0
		payload = r.Payload(extra)
	}
	if payload != nil {
		want, _ = json.Marshal(payload)
	}
	if !performatives.RawContent(e.Payload).Equal(performatives.RawContent(want)) && (len(e.Payload) > 0 || len(want) > 0) {
		t.Fatalf("payload %s, want %s", e.Payload, want)
	}
}

// golden is every field once; it must not change, for others have written their clients.
const golden = "0ad901" + "0a036d2d31" + "1017" + // Frame.envelopes: id m-1, TASK_REQUEST
	"1a0445646479" + "22054a756c6573" + // Eddy to Jules
	"2a03632d31" + "32047461736b" + "3a036d2d30" + "4203772d31" + // c-1, task, m-0, w-1
	"4a0b08fce6deca0610c096b102" + "520b08c0e6deca0610c096b102" + // reply_by, timestamp
	"5a106170706c69636174696f6e2f6a736f6e" + "620865783a7461736b73" + "6801" + // JSON, ex:tasks, HIGH
	"723730302d30616637363531393136636434336464383434386562323131633830333139632d623761643662373136393230333333312d3031" + // trace
	"7a1a7b227461736b5f74797065223a2264656275675f636f6465227d" + // {"task_type":"debug_code"}
	"82010c7b22746f6b656e73223a397d" + "8a01080a017812035b315d" + // {"tokens":9}, x: [1]
	"920106736563726574" // secret

func TestGoldenEnvelope(t *testing.T) {
	m := message(t, performatives.Envelope{
		ID: "m-1", Sender: "Eddy", Receiver: "Jules", ConversationID: "c-1", Protocol: "task", InReplyTo: "m-0", ReplyWith: "w-1",
		ReplyBy: noon.Add(time.Minute), Timestamp: noon, Language: performatives.LanguageJSON, Ontology: "ex:tasks",
		Priority: performatives.High, Trace: traceparent, Budget: performatives.ContentOf(map[string]int{"tokens": 9}),
		Metadata: performatives.Members{"x": json.RawMessage(`[1]`)}, Payload: performatives.TaskRequest{TaskType: "debug_code"},
	})
	c := newCodec(t)
	c.opts.Token = func() string { return "secret" }
	frame := encode(t, c, m)
	if got := hex.EncodeToString(frame); got != golden {
		t.Errorf("got  %s\nwant %s", got, golden)
	}
	all := decodeAll(c, frame)
	if len(all) != 1 || all[0].Token != "secret" {
		t.Fatalf("read %+v", all)
	}
	if diff := difference(t, m, all[0].Message); diff != "" {
		t.Errorf("(-sent +read):\n%s", diff)
	}
}

// envelopes is the frame of envelopes that generated code has written.
func envelopes(t testing.TB, all ...*ribosomev1.Envelope) []byte {
	t.Helper()
	b, err := proto.Marshal(&ribosomev1.Frame{Envelopes: all})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func inform(id string) *ribosomev1.Envelope {
	return &ribosomev1.Envelope{Id: id, Performative: ribosomev1.Performative_PERFORMATIVE_INFORM, Sender: "a", Payload: []byte(`{}`)}
}

func TestDecodeSaysWhatIsWrong(t *testing.T) {
	change := func(f func(*ribosomev1.Envelope)) []byte {
		e := inform("m-1")
		f(e)
		return envelopes(t, e)
	}
	deep := strings.Repeat(`{"a":`, maxDepth+1) + "1" + strings.Repeat("}", maxDepth+1)
	for _, c := range []struct {
		name  string
		frame []byte
		code  performatives.Code
		field string
	}{
		{"no act", change(func(e *ribosomev1.Envelope) { e.Performative = 0 }), performatives.CodeUnknownPerformative, "performative"},
		{"an act of the future", change(func(e *ribosomev1.Envelope) { e.Performative = 300 }), performatives.CodeUnknownPerformative, "performative"},
		{"a negative act", change(func(e *ribosomev1.Envelope) { e.Performative = -1 }), performatives.CodeUnknownPerformative, "performative"},
		{"no sender", change(func(e *ribosomev1.Envelope) { e.Sender = "" }), performatives.CodeInvalidPayload, "sender"},
		{"no id", change(func(e *ribosomev1.Envelope) { e.Id = "" }), performatives.CodeInvalidPayload, "message_id"},
		{"a line break", change(func(e *ribosomev1.Envelope) { e.Receiver = "a\nb" }), performatives.CodeInvalidID, "receiver"},
		{"a priority of the future", change(func(e *ribosomev1.Envelope) { e.Priority = 4 }), performatives.CodeInvalidPayload, "priority"},
		{"a negative priority", change(func(e *ribosomev1.Envelope) { e.Priority = -1 }), performatives.CodeInvalidPayload, "priority"},
		{"a message type of two words", change(func(e *ribosomev1.Envelope) { e.MessageType = "REVIEW REQUEST" }), performatives.CodeInvalidPayload, "message_type"},
		{"a trace that is none", change(func(e *ribosomev1.Envelope) { e.Trace = "x" }), performatives.CodeInvalidPayload, "trace"},
		{"a time beyond all years", change(func(e *ribosomev1.Envelope) { e.ReplyBy = &timestamppb.Timestamp{Seconds: maxSeconds + 1} }), performatives.CodeInvalidPayload, "reply_by"},
		{"nanoseconds below zero", change(func(e *ribosomev1.Envelope) { e.Timestamp = &timestamppb.Timestamp{Nanos: -1} }), performatives.CodeInvalidPayload, "timestamp"},
		{"a second of nanoseconds", change(func(e *ribosomev1.Envelope) { e.Timestamp = &timestamppb.Timestamp{Nanos: 1_000_000_000} }), performatives.CodeInvalidPayload, "timestamp"},
		{"no JSON", change(func(e *ribosomev1.Envelope) { e.Payload = []byte(`{"a":}`) }), performatives.CodeInvalidPayload, "payload"},
		{"no object", change(func(e *ribosomev1.Envelope) { e.Payload = []byte(`[]`) }), performatives.CodeInvalidPayload, "payload"},
		{"no UTF-8", change(func(e *ribosomev1.Envelope) { e.Payload = []byte("{\"a\":\"\xff\"}") }), performatives.CodeInvalidPayload, "payload"},
		{"deep", change(func(e *ribosomev1.Envelope) { e.Payload = []byte(deep) }), performatives.CodeInvalidPayload, "payload"},
		{"a budget that is no JSON", change(func(e *ribosomev1.Envelope) { e.Budget = []byte(`x`) }), performatives.CodeInvalidPayload, "budget"},
		{"metadata without a value", change(func(e *ribosomev1.Envelope) { e.Metadata = map[string][]byte{"a": nil} }), performatives.CodeInvalidPayload, "metadata"},
		{"another payload", change(func(e *ribosomev1.Envelope) {
			e.Performative, e.Payload = ribosomev1.Performative_PERFORMATIVE_TASK_REQUEST, []byte(`{"task_type":7}`)
		}), performatives.CodeInvalidPayload, "payload.task_type"},
		{"no payload", change(func(e *ribosomev1.Envelope) {
			e.Performative, e.Payload = ribosomev1.Performative_PERFORMATIVE_TASK_REQUEST, nil
		}), performatives.CodeInvalidPayload, "payload"},
		{"half an envelope", append(appendSignal(nil, frameEnvelopes, []byte("\x0a\x03m-1\x1a\x01a\x08")), 0), performatives.CodeParsingError, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			codec := newCodec(t)
			in := decodeAll(codec, c.frame)[0]
			if in.Message != nil || in.Err == nil || in.Err.Code != c.code || in.Err.Field != c.field || in.Err.Text == "" {
				t.Fatalf("got %+v, %+v", in.Message, in.Err)
			}
			answer := decodeOne(t, codec, in.Answer)
			if answer.Performative() != performatives.ActNotUnderstood || answer.Sender() != "system" || answer.AsRefusal().Code != c.code {
				t.Errorf("answered by %+v", answer.Envelope())
			}
			if to := answer.Receiver(); to != "a" && c.name != "no sender" {
				t.Errorf("answered to %q", to)
			}
			if about := answer.InReplyTo(); about != "m-1" && c.name != "no id" {
				t.Errorf("answer to %q", about)
			}
		})
	}
}

// The first and the last time of the years 1 to 9999 are read.
func TestTimesAtTheBounds(t *testing.T) {
	for _, at := range []*timestamppb.Timestamp{{Seconds: minSeconds}, {Seconds: minSeconds, Nanos: 1}, {Seconds: maxSeconds, Nanos: 999_999_999}, {}} {
		e := inform("m-1")
		e.ReplyBy, e.Timestamp = at, at
		m := decodeOne(t, newCodec(t), envelopes(t, e))
		want := at.AsTime()
		if !m.ReplyBy().Equal(want) || !want.IsZero() && !m.Timestamp().Equal(want) {
			t.Errorf("%v is read as %v and %v", want, m.Timestamp(), m.ReplyBy())
		}
	}
	for _, seconds := range []int64{minSeconds - 1, maxSeconds + 1} {
		e := inform("m-1")
		e.ReplyBy = &timestamppb.Timestamp{Seconds: seconds}
		if in := decodeAll(newCodec(t), envelopes(t, e))[0]; in.Message != nil || in.Err.Field != "reply_by" {
			t.Errorf("%d seconds: %+v", seconds, in)
		}
	}
}

// Fields of another type than in the schema change nothing, nor do those in a Timestamp.
func TestFieldsOfAnotherType(t *testing.T) {
	c := newCodec(t)
	of := rapid.Custom(func(t *rapid.T) *performatives.Message { return drawMessage(t, performatives.ActRefuse) })
	for i := range 100 {
		want := of.Example(i)
		body := []byte{}
		for num := protowire.Number(1); num <= 30; num++ {
			body = protowire.AppendFixed32(protowire.AppendTag(body, num, protowire.Fixed32Type), 7)
			if num == fieldPerformative || num == fieldPriority || num == fieldRetryAfter {
				body = appendSignal(body, num, []byte("x"))
			} else {
				body = protofield.AppendNumber(body, num, 7)
			}
		}
		nested := protowire.AppendFixed32(protowire.AppendTag(appendSignal(nil, timestampSeconds, []byte("x")), timestampNanos, protowire.Fixed32Type), 7)
		body = appendSignal(body, fieldTimestamp, nested)
		frame := encode(t, c, want)
		_, envelope, _, _ := protofield.Next(frame)
		if diff := difference(t, want, decodeOne(t, c, appendSignal(nil, frameEnvelopes, append(bytes.Clone(envelope), body...)))); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
}

// One bad envelope costs its neighbours nothing, and what is no protobuf is said once.
func TestDecodeOfMany(t *testing.T) {
	bad := inform("2")
	bad.Sender = ""
	frame := envelopes(t, inform("1"), bad, inform("3"))
	frame = append(frame, 0xff)
	var got []string
	for _, in := range decodeAll(newCodec(t), frame) {
		switch {
		case in.Message != nil:
			got = append(got, string(in.Message.ID()))
		default:
			got = append(got, string(in.Err.Code))
		}
	}
	if diff := cmp.Diff([]string{"1", "invalid_payload_structure", "3", "parsing_error"}, got); diff != "" {
		t.Error(diff)
	}
}

// A NOT_UNDERSTOOD is not answered by another, however bad it is.
func TestNotUnderstoodIsNotAnswered(t *testing.T) {
	bad := inform("1")
	bad.Performative = ribosomev1.Performative_PERFORMATIVE_NOT_UNDERSTOOD
	if in := decodeAll(newCodec(t), envelopes(t, bad))[0]; in.Err == nil || in.Answer != nil {
		t.Errorf("got %+v", in)
	}
}

func TestTokensAreBare(t *testing.T) {
	for _, written := range []string{"secret", "Bearer secret", "bearer  secret"} {
		e := inform("1")
		e.AuthToken = written
		in := decodeAll(newCodec(t), envelopes(t, e))[0]
		if in.Token != "secret" {
			t.Errorf("%q: %q", written, in.Token)
		}
		for name := range in.Message.AllMetadata() {
			t.Errorf("the message has %s", name)
		}
	}
}

func TestTimestampOfArrival(t *testing.T) {
	if m := decodeOne(t, newCodec(t), envelopes(t, inform("1"))); !m.Timestamp().Equal(noon) {
		t.Errorf("the timestamp is %v", m.Timestamp())
	}
}

// A refusal answers what expects a reply, and says how long to wait.
func TestRefuse(t *testing.T) {
	c := newCodec(t)
	request := message(t, performatives.Envelope{
		ID: "m-1", Timestamp: noon, Sender: "a", Receiver: "b", Payload: performatives.TaskRequest{TaskType: "x"},
	})
	limit := &wire.LimitError{Limit: wire.Rate{Messages: 100, Window: time.Minute}, RetryAfter: 45 * time.Second}
	answer := decodeOne(t, c, c.Refuse(nil, wire.Inbound{Message: request}, limit))
	p, err := performatives.PayloadAs[performatives.TaskReject](answer)
	if err != nil || p.ReasonCode != performatives.CodeRateLimited || answer.Receiver() != "a" || answer.InReplyTo() != "m-1" {
		t.Fatalf("got %+v, %v", answer.Envelope(), err)
	}
	if got := string(p.Extra["details"]); got != `{"limit":100,"window":"1m","retry_after":45}` {
		t.Errorf("details %s", got)
	}
	told := decodeOne(t, c, envelopes(t, inform("1")))
	if got := c.Refuse([]byte("x"), wire.Inbound{Message: told}, limit); string(got) != "x" {
		t.Errorf("a message that expects no reply is answered by %x", got)
	}
	if got := c.Refuse([]byte("x"), wire.Inbound{}, limit); string(got) != "x" {
		t.Errorf("nothing is answered by %x", got)
	}
}

// What cannot be written leaves the buffer as it was.
func TestEncodeRefusesWhatCannotBeRead(t *testing.T) {
	c := newCodec(t)
	for name, change := range map[string]func(*performatives.Envelope){
		"function":  func(e *performatives.Envelope) { e.Payload = map[string]any{"f": func() {}} },
		"raw":       func(e *performatives.Envelope) { e.Payload = performatives.Raw(`{"a":}`) },
		"metadata":  func(e *performatives.Envelope) { e.Metadata = performatives.Members{"a": json.RawMessage("x")} },
		"budget":    func(e *performatives.Envelope) { e.Budget = performatives.RawContent(json.RawMessage("x")) },
		"year":      func(e *performatives.Envelope) { e.Timestamp = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC) },
		"key UTF-8": func(e *performatives.Envelope) { e.Metadata = performatives.Members{"\xff": json.RawMessage("1")} },
	} {
		e := performatives.Envelope{ID: "1", Timestamp: noon, Sender: "a", Performative: performatives.ActInform}
		change(&e)
		dst := []byte("before")
		got, err := c.Encode(dst, message(t, e))
		if err == nil || string(got) != "before" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// application is a payload type of an application's.
type application struct {
	Colour string `json:"colour"`
}

func TestRegisteredPayload(t *testing.T) {
	var registry performatives.Registry
	if err := performatives.Register[application](&registry, performatives.ActInform, "ex:colours"); err != nil {
		t.Fatal(err)
	}
	c := newCodec(t)
	c.opts.Registry = &registry
	e := inform("1")
	e.Ontology, e.Payload = "ex:colours", []byte(`{"colour":"red"}`)
	if p, ok := decodeOne(t, c, envelopes(t, e)).Payload().(application); !ok || p.Colour != "red" {
		t.Errorf("got %#v", p)
	}
	e.Payload = []byte(`{"colour":1}`)
	if in := decodeAll(c, envelopes(t, e))[0]; !errors.Is(in.Err, performatives.CodeInvalidPayload) {
		t.Errorf("got %+v", in)
	}
}

func TestRegisteredMessageType(t *testing.T) {
	var registry performatives.Registry
	if err := performatives.RegisterMessageType[application](&registry, "PAINT", performatives.ActTaskRequest); err != nil {
		t.Fatal(err)
	}
	c := newCodec(t)
	c.opts.Registry = &registry
	e := inform("1")
	e.Performative, e.MessageType, e.Payload = ribosomev1.Performative_PERFORMATIVE_TASK_REQUEST, "PAINT", []byte(`{"colour":"red"}`)
	m := decodeOne(t, c, envelopes(t, e))
	if p, ok := m.Payload().(application); !ok || p.Colour != "red" || m.MessageType() != "PAINT" {
		t.Errorf("got %q with %#v", m.MessageType(), m.Payload())
	}
}

func TestRecognizes(t *testing.T) {
	if frame := envelopes(t, inform("1")); !(Dialect{}).Recognizes(frame) {
		t.Errorf("%x is not recognized", frame)
	}
	for _, other := range []string{"", "{", `{"performative":"INFORM"}`, "\x0a\xff", "\x0a", "\x12\x00"} {
		if (Dialect{}).Recognizes([]byte(other)) {
			t.Errorf("%q is recognized", other)
		}
	}
}

// The time after which to come again is a field of the envelope, and is none of the payload of
// another message.
func TestRetryAfter(t *testing.T) {
	c := newCodec(t)
	refusal := func(act performatives.Performative, payload string, millis uint64) *ribosomev1.Envelope {
		return &ribosomev1.Envelope{
			Id: "m", Performative: ribosomev1.Performative(act), Sender: "a", Receiver: "b", InReplyTo: "r", Payload: []byte(payload), RetryAfterMs: millis,
		}
	}
	acts := []performatives.Performative{performatives.ActTaskReject, performatives.ActRefuse, performatives.ActRejectProposal, performatives.ActFailure}
	for _, act := range acts {
		for _, tt := range []struct {
			payload string
			millis  uint64
			want    time.Duration
		}{
			{`{}`, 0, 0},
			{`{}`, 250, 250 * time.Millisecond},
			{`{"retry_after_ms":9,"x":1}`, 0, 9 * time.Millisecond},
			{`{"retry_after_ms":9}`, 250, 250 * time.Millisecond},
			{`{"retry_after_ms":-9}`, 0, 0},
			{`{}`, math.MaxUint64, performatives.MaxRetryAfter},
		} {
			m := decodeOne(t, c, envelopes(t, refusal(act, tt.payload, tt.millis)))
			if r := m.AsRefusal(); r.RetryAfter != tt.want {
				t.Errorf("%s %s with %d: %+v", act, tt.payload, tt.millis, r)
			}
			if again := decodeOne(t, c, encode(t, c, m)).AsRefusal(); again.RetryAfter != tt.want {
				t.Errorf("%s %s with %d: written and read again %+v", act, tt.payload, tt.millis, again)
			}
		}
	}
	m := decodeOne(t, c, envelopes(t, refusal(performatives.ActNotUnderstood, `{}`, 250)))
	if out := string(encode(t, c, m)); strings.Contains(out, performatives.MemberRetryAfter) || m.AsRefusal().RetryAfter != 0 {
		t.Errorf("NOT_UNDERSTOOD is %+v", m.AsRefusal())
	}
}

// listing is a payload whose MarshalJSON makes no object.
type listing struct{}

func (listing) MarshalJSON() ([]byte, error) { return []byte(`[1]`), nil }

func TestPayloadThatIsNoObject(t *testing.T) {
	if out, err := appendPayload([]byte("before"), listing{}); !errors.Is(err, errNoObject) {
		t.Errorf("got %q, %v", out, err)
	}
}
