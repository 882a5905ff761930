package bridge

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// extended returns a session of the node n1 in which agent-1 has agreed to all extensions, and
// agent-2 to none.
func extended(t testing.TB, o wire.CodecOptions) *peer {
	t.Helper()
	if o.Stamper == nil {
		o.Stamper = &clock{}
	}
	codec, err := Dialect{Node: "n1"}.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, codec: codec}
	offer := strings.TrimSuffix(handshake("agent-1"), "}") + `,"extensions":{"progress":{},"compression":{"methods":["zip","gzip"]},"routing":{},"acknowledgement":{},"batching":{}}}`
	got := read(t, p.send(answered(t, p.message(frame("hello-1", "handshake_request", "agent-1", "", "", offer)).Message, performatives.InformCapabilities{Capabilities: &performatives.Capabilities{}})))
	if want := "map[acknowledgement:map[] batching:map[] compression:map[methods:[gzip]] progress:map[] routing:map[]]"; fmt.Sprint(got.Payload["extensions"]) != want {
		t.Fatalf("agreed: %v", got.Payload["extensions"])
	}
	second := p.message(frame("hello-2", "handshake_request", "agent-2", "", "", handshake("agent-2"))).Message
	p.send(answered(t, second, performatives.InformCapabilities{Capabilities: &performatives.Capabilities{}}))
	return p
}

// beside returns a frame with further members of the envelope.
func beside(text, members string) string { return strings.TrimSuffix(text, "}") + "," + members + "}" }

var long = strings.Repeat("a line of code\n", 1000)

// A long payload is compressed for the agent that has agreed to that, and read again.
func TestCompression(t *testing.T) {
	p := extended(t, wire.CodecOptions{Local: "node", MaxBytes: 1 << 16})
	request := asked(t, performatives.TaskRequest{TaskType: "debug", Parameters: performatives.ContentOf(map[string]string{"code": long})})
	sent := p.send(request)
	got := read(t, sent)
	if len(sent) > len(long)/4 || got.Payload["tool_name"] != nil || !strings.Contains(sent, `"payload_encoding":"gzip"`) {
		t.Fatalf("got %.400s", sent)
	}
	q := extended(t, wire.CodecOptions{Local: "node", MaxBytes: 1 << 16})
	came := strings.NewReplacer(`"n1"`, `"n9"`, `"Eddy"`, `"agent-1"`, `"agent-1"`, `"Bob"`).Replace(sent)
	in := q.all(came)[0]
	if in.Message == nil {
		t.Fatalf("refused: %v", in.Err)
	}
	read, err := performatives.PayloadAs[performatives.TaskRequest](in.Message)
	if _, marked := in.Message.Metadata(memberEncoding); err != nil || marked || read.TaskType != "debug" || !read.Parameters.Equal(performatives.ContentOf(map[string]string{"code": long})) {
		t.Errorf("got %+v, %v", read, err)
	}
	if !json.Valid(in.Content) || strings.Contains(string(in.Content), `"data"`) {
		t.Errorf("the content is %.100s", in.Content)
	}
	other := asked(t, performatives.TaskRequest{TaskType: "debug", Description: long}, func(e *performatives.Envelope) { e.Receiver = "agent-2" })
	short := asked(t, performatives.TaskRequest{TaskType: "debug", Description: long[:compressFrom/2]})
	noise := make([]byte, compressFrom)
	for i, r := 0, rand.New(rand.NewPCG(1, 2)); i < len(noise); i++ {
		noise[i] = byte(r.IntN(256))
	}
	random := asked(t, performatives.TaskRequest{TaskType: "debug", Description: base64.StdEncoding.EncodeToString(noise)})
	for _, m := range []*performatives.Message{other, short, random} {
		if got := p.send(m); strings.Contains(got, "payload_encoding") {
			t.Errorf("compressed: %.200s", got)
		}
	}
	odd, err := in.Message.With(func(e *performatives.Envelope) {
		e.Sender, e.Receiver, e.Metadata = "Bob", "agent-1", performatives.Members{memberEncoding: json.RawMessage(`"rot13"`)}
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := q.send(odd); strings.Count(got, memberEncoding) != 1 {
		t.Errorf("got %.300s", got)
	}
	in = q.all(strings.Replace(came, `"sender_id":"agent-1"`, `"sender_id":"agent-2"`, 1))[0]
	if in.Err == nil {
		t.Error("an agent that has not agreed to it sends a compressed payload")
	}
}

// What is compressed is bounded and checked.
func TestCompressionIsChecked(t *testing.T) {
	p := extended(t, wire.CodecOptions{Local: "node", MaxBytes: 1 << 16})
	packed := func(payload string) string {
		out, _ := compressed([]byte(payload))
		return string(out)
	}
	for name, tt := range map[string]struct{ encoding, payload, field string }{
		"another method": {`"zip"`, `{"data":"x"}`, "payload_encoding"},
		"no method":      {`1`, `{"data":"x"}`, "payload_encoding"},
		"no data":        {`"gzip"`, `{}`, "payload.data"},
		"no base64":      {`"gzip"`, `{"data":"!"}`, "payload.data"},
		"no gzip":        {`"gzip"`, `{"data":"eA=="}`, "payload.data"},
		"no object":      {`"gzip"`, packed(`[1]`), "payload.data"},
		"no JSON":        {`"gzip"`, packed(`{"a":`), "payload.data"},
		"two objects":    {`"gzip"`, packed(`{} {}`), "payload.data"},
		"no UTF-8":       {`"gzip"`, packed("{\"a\":\"\xff\"}"), "payload.data"},
		"too long":       {`"gzip"`, packed(`{"a":"` + strings.Repeat("a", 1<<17) + `"}`), "payload.data"},
		"too deep":       {`"gzip"`, packed(`{"a":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`), "payload.data"},
		"no payload":     {`"gzip"`, packed(`{"a":1}`), "payload.event_type"},
	} {
		in := p.all(beside(frame("m-1", "notification", "agent-1", "Bob", "", tt.payload), `"payload_encoding":`+tt.encoding))[0]
		if in.Err == nil || in.Err.Field != tt.field || name == "too long" && !strings.Contains(in.Err.Text, "at most 65536 bytes") {
			t.Errorf("%s: %v", name, in.Err)
		}
	}
	spaced := beside(frame("m-1", "notification", "agent-1", "Bob", "", packed(" {\"event_type\":\"e\"}\n")), `"payload_encoding":"gzip"`)
	if in := p.all(spaced)[0]; in.Message == nil || string(in.Content) != `{"event_type":"e"}` {
		t.Errorf("between spaces: %q, %v", in.Content, in.Err)
	}
	for n := 120; n < 130; n++ { // a payload nests as deep as it would without compression
		payload := `{"event_type":"e","data":{"a":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}}`
		plain := p.all(frame("m-1", "notification", "agent-1", "Bob", "", payload))[0]
		in := p.all(beside(frame("m-1", "notification", "agent-1", "Bob", "", packed(payload)), `"payload_encoding":"gzip"`))[0]
		if (plain.Err == nil) != (in.Err == nil) {
			t.Errorf("%d levels: %v, compressed %v", n, plain.Err, in.Err)
		}
	}
}

// A message is passed on with its way, and not to a node that it has passed.
func TestRouting(t *testing.T) {
	p := extended(t, wire.CodecOptions{Local: "node"})
	const note = `{"event_type":"e","data":{}}`
	to := func(route string) *performatives.Message {
		m := p.all(beside(frame("m-1", "notification", "agent-1", "Bob", "", note), `"route":`+route))[0]
		if m.Message == nil {
			t.Fatalf("%s: %v", route, m.Err)
		}
		back, err := m.Message.With(func(e *performatives.Envelope) { e.Sender, e.Receiver = e.Receiver, e.Sender })
		if err != nil {
			t.Fatal(err)
		}
		return back
	}
	if got := p.send(to(`{"hop_limit":3,"path":["n2","n3"]}`)); !strings.Contains(got, `"route":{"hop_limit":2,"path":["n2","n3","n1"]}`) {
		t.Errorf("got %s", got)
	}
	if got := p.send(asked(t, performatives.TaskRequest{TaskType: "paint"})); !strings.Contains(got, `"route":{"hop_limit":16,"path":["n1"]}`) {
		t.Errorf("got %s", got)
	}
	// The node to which the sender is connected, and another one of the cluster, both add their
	// names.
	there := extended(t, wire.CodecOptions{Local: "node"})
	there.codec.(*session).node = "n9"
	if got := there.send(to(`{"hop_limit":3,"path":["n2"]}`)); !strings.Contains(got, `"route":{"hop_limit":2,"path":["n2","n1","n9"]}`) {
		t.Errorf("got %s", got)
	}
	if _, err := wiretest.Encode(t, p.codec, to(`{"hop_limit":0,"path":["n2"]}`)); !errors.Is(err, performatives.CodeUnknownAgent) {
		t.Errorf("beyond the hop limit: %v", err)
	}
	elsewhere, err := to(`{"hop_limit":3,"path":["n2"]}`).With(func(e *performatives.Envelope) { e.Receiver = "agent-2" })
	if err != nil {
		t.Fatal(err)
	}
	if got := p.send(elsewhere); strings.Contains(got, "route") {
		t.Errorf("to an agent that has not agreed to it: %s", got)
	}
	if in := p.all(beside(frame("m-1", "request", "agent-1", "Bob", "", `{"tool_name":"t"}`), `"route":{"hop_limit":3,"path":["n2","N1"]}`))[0]; in.Err == nil || in.Err.Field != "route" {
		t.Errorf("a message that has been here: %v", in.Err)
	}
	for _, route := range []string{
		`1`, `{"path":[]}`, `{"hop_limit":-1,"path":[]}`, `{"hop_limit":256,"path":[]}`, `{"hop_limit":1,"path":[1]}`,
	} {
		if got := p.send(to(route)); !strings.Contains(got, `"route":{"hop_limit":16,"path":["n1"]}`) {
			t.Errorf("%s is passed on as %s", route, got)
		}
		in := p.all(beside(frame("m-1", "notification", "agent-2", "Bob", "", note), `"route":`+route))[0]
		if in.Message == nil {
			t.Errorf("%s of an agent that means something else by it: %v", route, in.Err)
		}
	}
}

// Each message is acknowledged after it has been accepted, or its refusal is told.
func TestAcknowledgement(t *testing.T) {
	p := extended(t, wire.CodecOptions{Local: "node"})
	note := frame("m-1", "notification", "agent-1", "Bob", "", `{"event_type":"e"}`)
	items := p.all(note)
	if len(items) != 2 || items[0].Message == nil {
		t.Fatalf("got %+v", items)
	}
	if ack := read(t, string(items[1].Answer)); ack.Type != "notification" || ack.Correlation != "m-1" || ack.Payload["event_type"] != "ack" || ack.Sender != "Bob" || ack.Receiver != "agent-1" {
		t.Errorf("got %+v", ack)
	}
	var nack string
	n := 0
	p.codec.Decode([]byte(note), func(in wire.Inbound) {
		n++
		nack = string(wiretest.Refuse(t, p.codec, in, &performatives.Refusal{Code: performatives.CodeBusy}))
	})
	if got := read(t, nack); n != 1 || got.Payload["event_type"] != "nack" || got.Correlation != "m-1" || !strings.Contains(nack, `"error_code":"INTERNAL_ERROR"`) || !strings.Contains(nack, `"reason_code":"busy"`) {
		t.Errorf("%d items, %s", n, nack)
	}
	p.codec.Decode([]byte(frame("m-2", "request", "agent-1", "Bob", "", `{"tool_name":"t"}`)), func(in wire.Inbound) {
		if got := read(t, string(wiretest.Refuse(t, p.codec, in, performatives.CodeBusy))); got.Type != "error" {
			t.Errorf("the refusal of a request: %+v", got)
		}
	})
	if items := p.all(frame("m-4", "notification", "agent-1", "Bob", "", `{"event_type":"e"}`)); len(items) != 2 {
		t.Errorf("after a refusal: %+v", items)
	}
	if items := p.all(frame("m-3", "notification", "agent-2", "Bob", "", `{"event_type":"ack"}`)); len(items) != 1 || items[0].Message == nil {
		t.Errorf("of an agent that has not agreed to it: %+v", items)
	}
}

// What is no message for an agent is not acknowledged, and only an ack is one.
func TestNotAcknowledged(t *testing.T) {
	p := extended(t, wire.CodecOptions{Local: "node"})
	if in := p.one(frame("m-1", "response", "agent-1", "Bob", "none", `{"success":true,"result":null}`)); in.Err == nil || in.Answer != nil {
		t.Errorf("an answer that nothing waits for: %+v", in)
	}
	for name, text := range map[string]string{
		"of no message":   frame("m-2", "notification", "agent-1", "Bob", "", `{"event_type":"ack","data":{}}`),
		"of another type": beside(frame("m-3", "notification", "agent-1", "Bob", "m-0", `{"event_type":"ack","data":{}}`), `"metadata":{"message_type":"REVIEW"}`),
	} {
		if items := p.all(text); len(items) != 2 || items[0].Message == nil || items[1].Answer == nil {
			t.Errorf("an ack %s: %+v", name, items)
		}
	}
}

// An ack of the peer says nothing to an agent. A nack of a request is its answer.
func TestAcknowledged(t *testing.T) {
	p := extended(t, wire.CodecOptions{Local: "node"})
	request := asked(t, performatives.TaskRequest{TaskType: "paint"})
	id := read(t, p.send(request)).ID
	if in := p.one(frame("a-1", "notification", "agent-1", "", id, `{"event_type":"ack","data":{}}`)); in.Message != nil || in.Err != nil || in.Answer != nil {
		t.Errorf("an ack: %+v", in)
	}
	m := p.message(frame("a-2", "notification", "agent-1", "", id, `{"event_type":"nack","data":{"error_code":"TOOL_NOT_FOUND","error_message":"no such tool"}}`)).Message
	if r := m.AsRefusal(); r == nil || r.Code != performatives.CodeIncapable || r.Text != "no such tool" || !m.Answers(request) || m.Receiver() != "Eddy" {
		t.Errorf("a nack: %+v", m.Envelope())
	}
	other := read(t, p.send(asked(t, performatives.TaskRequest{TaskType: "paint"}, func(e *performatives.Envelope) { e.Receiver = "agent-2" }))).ID
	if m := p.message(frame("a-4", "notification", "agent-2", "Eddy", other, `{"event_type":"ack","data":{}}`)).Message; m.Performative() != performatives.ActInform {
		t.Errorf("an ack of an agent that has not agreed to it: %+v", m.Envelope())
	}
	if in := p.one(frame("a-3", "notification", "agent-1", "", id, `{"event_type":"nack","data":{}}`)); in.Message != nil || !errors.Is(in.Err, performatives.CodeUnspecified) || in.Answer != nil {
		t.Errorf("a nack of no request: %+v", in)
	}
}

// The messages of a batch are read one by one, if an agent has agreed to batches.
func TestBatching(t *testing.T) {
	batch := "[" + frame("m-1", "request", "agent-2", "Bob", "", `{"tool_name":"t"}`) + "," + frame("m-2", "request", "agent-2", "Bob", "", `{}`) + ",[]," +
		frame("m-3", "request", "agent-2", "Bob", "", `{"tool_name":"t"}`) + "]"
	p := extended(t, wire.CodecOptions{Local: "node"})
	items := p.all(batch)
	if len(items) != 4 || items[0].Message == nil || items[1].Err == nil || items[2].Err == nil || items[3].Message == nil || items[3].Message.ID() != "m-3" {
		t.Fatalf("got %+v", items)
	}
	if got := read(t, string(items[1].Answer)); got.Correlation != "m-2" {
		t.Errorf("got %+v", got)
	}
	for _, text := range []string{"[]", "[", "[1", "[{}]]", "[" + strings.Repeat("1,", maxBatch) + "1]", "[\"\xff\"]"} {
		if items := p.all(text); len(items) != 1 || !errors.Is(items[0].Err, performatives.CodeParsingError) || items[0].Answer == nil {
			t.Errorf("%.20s: %+v", text, items)
		}
	}
	if items := p.all("[" + strings.Repeat("1,", maxBatch-1) + "1]"); len(items) != maxBatch {
		t.Errorf("the longest batch: %d items", len(items))
	}
	for n := 120; n < 130; n++ { // a message nests as deep as it would alone
		note := frame("m-4", "notification", "agent-2", "Bob", "", `{"event_type":"e","data":{"a":`+strings.Repeat("[", n)+strings.Repeat("]", n)+`}}`)
		if alone, in := p.all(note)[0], p.all("[" + note + "]")[0]; (alone.Err == nil) != (in.Err == nil) {
			t.Errorf("%d levels: %v, in a batch %v", n, alone.Err, in.Err)
		}
	}
	ours := newPeer(t, wire.CodecOptions{Local: "node", Initiator: true})
	hello := read(t, ours.send(task(t, "Eddy", "first")))
	ours.all(accept(hello.ID, strings.TrimSuffix(welcome, "}")+`,"extensions":{"batching":{}}}`))
	if items := ours.all(batch); len(items) != 4 {
		t.Errorf("on a connection that this end has opened: %+v", items)
	}
	if items := greeted(t, wire.CodecOptions{Local: "node"}).all(batch); len(items) != 1 || items[0].Err == nil {
		t.Errorf("without the agreement: %+v", items)
	}
}
