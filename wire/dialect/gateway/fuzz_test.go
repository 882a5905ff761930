package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

func frames(t testing.TB) (out []string) {
	t.Helper()
	for _, v := range vectors(t) {
		out = append(out, string(v.Message))
	}
	text, err := os.ReadFile(transcripts)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if frame, ok := strings.CutPrefix(line, "> "); ok {
			out = append(out, strings.TrimSpace(frame))
		}
	}
	return out
}

func FuzzDecode(f *testing.F) {
	for _, frame := range frames(f) {
		f.Add([]byte(frame))
		f.Add([]byte(frame)[:len(frame)*2/3])
	}
	f.Add([]byte(`{"id":"e","timestamp":"2024-01-15T10:30:45.789Z","source":"peer","mcp_payload":{"jsonrpc":"2.0","id":"1",` +
		`"error":{"code":-32004,"message":"x","data":{"reason_code":"busy","retry_after_ms":250}}}}`))
	const read = `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"doc:a"}}`
	f.Add([]byte(read))
	f.Add([]byte(`{"id":"e","timestamp":"2024-01-15T10:30:45.789Z","source":"peer","mcp_payload":` + read + `}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{"resources":[{"uri":"doc:a","name":"a"},{"uri":7}]}}}`))
	d := New(Options{})
	f.Fuzz(func(t *testing.T, data []byte) {
		d.Recognizes(data)
		s := session{t: t, codec: open(t, Options{}, wire.CodecOptions{MaxBytes: 1 << 16, MaxPending: 8, Compression: []string{"gzip"}})}
		s.codec.Decode(data, s.take)
		if len(s.inbound) == 0 {
			t.Fatal("nothing came of it")
		}
		for i := range s.inbound {
			s.answer(i, performatives.InformResult{Status: performatives.StatusSuccess})
			s.refuse(i)
		}
		s.checkBounds()
	})
}

// session plays at random what a session does to a codec.
type session struct {
	t        *testing.T
	codec    *codec
	inbound  []wire.Inbound
	requests int
	answers  map[string]int // by JSON-RPC id
}

func (s *session) take(in wire.Inbound) {
	s.inbound = append(s.inbound, in)
	if in.Err != nil && (!in.Err.Code.Known() || in.Err.Text == "") {
		s.t.Fatalf("error %#v", in.Err)
	}
	if in.Message != nil && (in.Err != nil || len(in.Answer) > 0) {
		s.t.Fatalf("a message and more: %+v", in)
	}
	if in.Message != nil && in.Message.Performative().ExpectsReply() && in.Message.ReplyBy().IsZero() {
		s.t.Fatal("a request without a deadline")
	}
	s.wrote(in.Answer)
}

// wrote looks at a frame of ours, and counts the answers in it.
func (s *session) wrote(frame []byte) {
	if len(frame) == 0 {
		return
	}
	if !json.Valid(frame) || !utf8.Valid(frame) || strings.Contains(string(frame), "secret-token") {
		s.t.Fatalf("wrote %q", frame)
	}
	e := struct {
		Payload json.RawMessage `json:"mcp_payload"`
	}{frame}
	if !s.codec.bare.Load() {
		if err := json.Unmarshal(frame, &e); err != nil {
			s.t.Fatal(err)
		}
	}
	list := []json.RawMessage{e.Payload}
	if e.Payload[0] == '[' {
		if err := json.Unmarshal(e.Payload, &list); err != nil {
			s.t.Fatal(err)
		}
	}
	for _, one := range list {
		if r := readRPC(one, nil); r.kind == kindResponse && s.answers != nil {
			s.answers[key(r.id)]++
		}
	}
}

func (s *session) answer(i int, payload acting) {
	m := s.inbound[i].Message
	if m == nil {
		return
	}
	reply, err := m.ReplyFrom("agent", s.codec.stamp(), payload.Act(), payload)
	if err != nil {
		s.t.Fatal(err)
	}
	s.encode(reply)
}

func (s *session) encode(m *performatives.Message) {
	out, err := wiretest.Encode(s.t, s.codec, m)
	if err != nil && len(out) > 0 {
		s.t.Fatalf("wrote %s and failed: %v", out, err)
	}
	s.wrote(out)
	s.codec.Agreed()
}

func (s *session) refuse(i int) {
	s.wrote(wiretest.Refuse(s.t, s.codec, s.inbound[i], errors.New("inner")))
}

func (s *session) checkBounds() {
	p, limit := s.codec, s.codec.session.MaxPending
	paged := 0
	for _, q := range p.requests.Of("") {
		paged += q.pages.bytes
	}
	if p.paged != paged || !s.codec.fits(paged) {
		s.t.Fatalf("%d bytes of pages are held, and %d counted", paged, p.paged)
	}
	if p.calls.Len() > limit || p.ids.Len() > limit || p.requests.Len() > limit || p.parties.Len() > limit ||
		p.envelopes.Len() > limit || s.codec.held < 0 {
		s.t.Fatalf("pending: %d calls %d ids %d requests %d parties %d envelopes, %d bytes held",
			p.calls.Len(), p.ids.Len(), p.requests.Len(), p.parties.Len(), p.envelopes.Len(), s.codec.held)
	}
}

const maxSteps = 300

// FuzzSession interleaves what the peer, the swarm and the session do. Each request of
// the peer's has an id of its own, and is answered at most once.
func FuzzSession(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
	f.Add([]byte("batches and answers, cancelled and refused, in any order"))
	f.Add([]byte{0x38, 0x16, 0x26, 0x78, 0x36, 0x39, 0x46, 0x56, 0x38, 0x67, 0x66})
	f.Add([]byte{2, 2, 2, 12, 9, 12, 9, 20, 9, 5, 5, 17, 33, 65, 129, 200, 255})
	f.Fuzz(func(t *testing.T, steps []byte) {
		s := session{
			t: t, answers: map[string]int{},
			codec: open(t, Options{}, wire.CodecOptions{MaxBytes: 1 << 14, MaxPending: 8, Compression: []string{"gzip"}}),
		}
		for _, step := range steps[:min(len(steps), maxSteps)] {
			s.step(int(step&15), int(step>>4))
			s.checkBounds()
		}
		for id, n := range s.answers {
			if n > 1 {
				t.Fatalf("%s was answered %d times", id, n)
			}
		}
	})
}

func (s *session) envelope(payload string) {
	s.codec.Decode([]byte(`{"id":"e","timestamp":"2024-01-15T10:30:45Z","source":"peer","auth_token":"secret-token","mcp_payload":`+payload+`}`), s.take)
}

// request is a request of the peer's with an id of its own.
func (s *session) request(method string) string {
	s.requests++
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"id":%d,"params":{"name":"a","protocolVersion":"1.0","capabilities":{"compression":["gzip"]},"_meta":{"progressToken":1}}}`,
		method, s.requests)
}

var someMethods = []string{"tools/call", "calc.add", "tools/list", "ping", "initialize", "nope", "tools/call", "a.b"}

func (s *session) step(op, arg int) {
	switch op {
	case 0, 1, 2:
		s.envelope(s.request(someMethods[arg%len(someMethods)]))
	case 3, 4:
		batch := []string{s.request(someMethods[arg%8])}
		for i := range arg % 4 {
			batch = append(batch, s.request(someMethods[(arg+i)%8]), `{"jsonrpc":"2.0","method":"notifications/x"}`)
		}
		s.envelope("[" + strings.Join(batch, ",") + "]")
	case 5:
		s.envelope(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, s.requests-arg))
	case 6:
		s.envelope(fmt.Sprintf(`{"jsonrpc":"2.0","result":{"content":[],"tools":["a"],"nextCursor":"b"},"id":%d}`, arg))
	case 7:
		s.envelope(fmt.Sprintf(`{"jsonrpc":"2.0","error":{"code":-32602,"message":"m"},"id":%d}`, arg))
	case 8:
		if arg%4 == 3 {
			s.own(performatives.QueryCapabilities{Type: performatives.QuerySummary}, arg)
			return
		}
		s.own(performatives.TaskRequest{TaskType: "a"}, arg)
	case 9:
		s.own(performatives.Cancel{}, arg)
	case 10:
		s.envelope(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":1}}`, arg))
	default:
		s.respond(op, arg)
	}
}

// respond is what the swarm or the session does about something that came in.
func (s *session) respond(op, arg int) {
	if len(s.inbound) == 0 {
		return
	}
	i := (len(s.inbound) - 1 - arg%8 + 8) % len(s.inbound)
	switch op {
	case 11:
		if in := s.inbound[i]; in.Message != nil { // else its answer has been written
			s.refuse(i)
		}
	case 12:
		s.answer(i, performatives.Failure{ErrorCode: performatives.CodeFailed})
	case 13:
		s.answer(i, performatives.StatusUpdate{})
	case 14:
		s.answer(i, performatives.InformCapabilities{})
	default:
		s.answer(i, performatives.InformResult{Status: performatives.StatusSuccess, Summary: strings.Repeat("x", arg*1000)})
	}
}

func (s *session) own(payload acting, n int) {
	m, err := performatives.New(performatives.Envelope{
		ID: s.codec.stamp().ID, ConversationID: performatives.ConversationID(fmt.Sprint("own-", n)), Sender: "agent", Receiver: "peer",
		Timestamp: epoch, Payload: payload,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.encode(m)
}

// A hostile frame must not take much more memory than its length.
func TestDecodeAllocationIsBounded(t *testing.T) {
	racetest.Skip(t)
	const size = 1 << 20
	c := open(t, Options{}, wire.CodecOptions{MaxPending: 64})
	envelope := func(payload string) string {
		return `{"id":1,"timestamp":"2024-01-15T10:30:45Z","source":"s","mcp_payload":` + payload + `}`
	}
	request := func(params string) string {
		return envelope(`{"jsonrpc":"2.0","method":"tools/call","id":1,"params":` + params + `}`)
	}
	for name, frame := range map[string]string{
		"nested":          envelope(strings.Repeat("[", size/2) + strings.Repeat("]", size/2)),
		"nested objects":  envelope(strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000)),
		"huge batch":      envelope("[" + strings.Repeat("1,", size/2) + "1]"),
		"unknown members": `{` + unique(size/16) + `}`,
		"rpc members":     envelope(`{` + unique(size/16) + `}`),
		"metadata":        `{"metadata":{` + unique(size/16) + `}}`,
		"params":          request(`{"name":7,` + unique(size/16) + `}`),
		"long id":         envelope(`{"jsonrpc":"2.0","method":"ping","id":"` + strings.Repeat("x", size) + `"}`),
		"long method":     envelope(`{"jsonrpc":"2.0","method":"` + strings.Repeat("x", size) + `","id":1}`),
		"long source":     `{"id":1,"timestamp":"2024-01-15T10:30:45Z","source":"` + strings.Repeat("x", size) + `","mcp_payload":{"jsonrpc":"2.0","method":"a.b","id":1}}`,
		"truncated":       envelope(`"` + strings.Repeat("x", size)),
		"long number":     envelope(`{"jsonrpc":"2.0","method":"ping","id":` + strings.Repeat("1", size) + `}`),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after goruntime.MemStats
			goruntime.ReadMemStats(&before)
			in := one(t, c, frame)
			goruntime.ReadMemStats(&after)
			if in.Err == nil || len(in.Answer) == 0 || len(in.Answer) > 8192 {
				t.Errorf("error %v, %d bytes of an answer", in.Err, len(in.Answer))
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > 8*size {
				t.Errorf("%d bytes allocated for %d", got, len(frame))
			}
		})
	}
}

func unique(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"a%d":1,`, i)
	}
	return b.String() + `"z":1`
}
