package gateway

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

var (
	jsonIDs = rapid.OneOf(
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?`),
		rapid.Map(rapid.String(), func(s string) string { return string(jsonscan.AppendQuoted(nil, s)) }),
		rapid.SampledFrom([]string{`null`, `""`, `"\u0041"`, `"\/"`, `"\ud83d\ude00"`, `9007199254740993`, `-0`, `1.0`}),
	)
	words   = rapid.StringMatching(`[A-Za-z0-9_:/äß "\\<>&-]{1,20}`)
	values  = rapid.SampledFrom([]string{`1.10`, `null`, `""`, `[]`, `{}`, `"x\u0000y"`, `12345678901234567890123`, `{"a":[1,{"b":null}]}`, `true`})
	members = rapid.MapOfN(rapid.StringMatching(`x_[a-z"é]{1,8}`), values, 0, 4)
)

// However an id is written, the answer has it as it was written.
func TestIDsComeBackExactly(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := open(t, Options{}, wire.CodecOptions{})
		id := jsonIDs.Draw(rt, "id")
		method := rapid.SampledFrom([]string{"tools/call", "tools/list", "calc.add", "ping", "initialize", "nothing", "tools/call "}).Draw(rt, "method")
		params := `{"name":"a","protocolVersion":"1.0"}`
		in := one(t, c, fmt.Sprintf(`{"id":%s,"timestamp":"2024-01-15T10:30:45Z","source":"s","mcp_payload":{"jsonrpc":"2.0","method":%q,"params":%s,"id":%s}}`,
			id, method, params, id))
		out := in.Answer
		if in.Message != nil {
			act, payload := performatives.ActInformResult, `{"task_status":"success"}`
			switch {
			case rapid.Bool().Draw(rt, "refused"):
				act, payload = performatives.ActFailure, `{"error_code":"x"}`
			case in.Message.Performative() == performatives.ActQueryCapabilities:
				act, payload = performatives.ActInformCapabilities, `{}`
			}
			out = answered(t, c, in, "a", act, payload)
		}
		r := parse(t, out)
		if string(r.Payload.ID) != id {
			rt.Fatalf("%s came back as %s", id, r.Payload.ID)
		}
		var correlation string
		_ = json.Unmarshal(r.Correlation, &correlation)
		if want := idText([]byte(id)); correlation != want {
			rt.Fatalf("correlation %q, want %q", correlation, want)
		}
	})
}

func drawMembers(rt *rapid.T, label string) performatives.Members {
	out := performatives.Members{}
	for name, text := range members.Draw(rt, label) {
		out[name] = json.RawMessage(text)
	}
	return out
}

func equalPayload(rt *rapid.T, want, got any) {
	a, errA := jsonscan.Marshal(want)
	b, errB := jsonscan.Marshal(got)
	if errA != nil || errB != nil {
		rt.Fatal(errA, errB)
	}
	if diff := cmp.Diff(string(canonical(rt, a)), string(canonical(rt, b))); diff != "" {
		rt.Fatalf("(-sent +received):\n%s", diff)
	}
}

func canonical(rt *rapid.T, text []byte) []byte {
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		rt.Fatal(err)
	}
	out, err := jsonscan.Marshal(v)
	if err != nil {
		rt.Fatal(err)
	}
	return out
}

// A task and its answer survive the way over the wire, between two ends of ours.
func TestTasksSurvive(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		client := open(t, Options{}, wire.CodecOptions{Initiator: true})
		server := open(t, Options{}, wire.CodecOptions{})
		details := performatives.RawContent(json.RawMessage(`{"x":` + values.Draw(rt, "parameters") + `}`))
		task := performatives.TaskRequest{
			TaskType: words.Draw(rt, "type"), Description: words.Draw(rt, "description"), Parameters: details, Extra: drawMembers(rt, "task"),
		}
		asked, err := performatives.New(performatives.Envelope{
			ID: "t", Sender: "cli", Receiver: "Jules", Timestamp: epoch, Payload: task, Metadata: drawMembers(rt, "metadata"),
			Priority: performatives.Priority(rapid.IntRange(-1, 2).Draw(rt, "priority")), ReplyBy: epoch.Add(time.Minute),
		})
		if err != nil {
			rt.Fatal(err)
		}
		frame, err := wiretest.Encode(t, client, asked)
		if err != nil {
			rt.Fatal(err)
		}
		in := one(t, server, string(frame))
		got := in.Message
		if got == nil || got.Sender() != "cli" || got.Receiver() != "Jules" || got.Priority() != asked.Priority() || !got.ReplyBy().Equal(asked.ReplyBy()) {
			rt.Fatalf("got %+v of %s", in, frame)
		}
		equalPayload(rt, task, got.Payload())
		for name, v := range asked.AllMetadata() {
			if back, _ := got.Metadata(name); string(back) != string(v) {
				rt.Fatalf("metadata %s: %s became %s", name, v, back)
			}
		}
		answer := drawAnswer(rt, details)
		sent, err := got.ReplyFrom("Jules", performatives.Stamp{ID: "r", Time: epoch}, answer.Act(), answer)
		if err != nil {
			rt.Fatal(err)
		}
		frame, err = wiretest.Encode(t, server, sent)
		if err != nil {
			rt.Fatal(err)
		}
		back := one(t, client, string(frame)).Message
		if back == nil || !back.Answers(asked) || back.Sender() != "Jules" || back.Performative() != answer.Act() {
			rt.Fatalf("got %v of %s", back, frame)
		}
		equalPayload(rt, performatives.RefusalWith(answer, nil), performatives.RefusalWith(back.Payload(), nil))
	})
}

type acting interface {
	Act() performatives.Performative
}

func drawAnswer(rt *rapid.T, details performatives.Content) acting {
	status := rapid.SampledFrom([]performatives.TaskStatus{"success", "partial_success", "failure"}).Draw(rt, "status")
	text := words.Draw(rt, "text")
	switch rapid.IntRange(0, 2).Draw(rt, "answer") {
	case 0:
		return performatives.TaskReject{ReasonCode: performatives.CodeBusy, ReasonText: text, RetryAfter: time.Duration(rapid.IntRange(0, 2).Draw(rt, "retry after")) * time.Second}
	case 1:
		return performatives.Failure{ErrorCode: performatives.CodeBudget, ErrorText: text}
	}
	return performatives.InformResult{
		Status: status, Summary: text, Details: details, Extra: drawMembers(rt, "result"),
		Artifacts: []performatives.Artifact{{Type: "file", Path: words.Draw(rt, "path")}},
	}
}

// Ten thousand requests in flight come back to the right callers, each once.
func TestManyInFlight(t *testing.T) {
	const n = 10_000
	c := open(t, Options{}, wire.CodecOptions{MaxPending: n})
	inbound := make(chan wire.Inbound, n)
	var decoding, encoding sync.WaitGroup
	decoding.Go(func() {
		for i := range n {
			c.Decode([]byte(toolCall(fmt.Sprint(i))), func(in wire.Inbound) {
				if i%10 == 9 { // the session refuses some
					if out := wiretest.Refuse(t, c, in, performatives.CodeBusy); string(parse(t, out).Payload.ID) != fmt.Sprint(i) {
						t.Errorf("%d: refused by %s", i, out)
					}
					return
				}
				inbound <- in
			})
		}
		close(inbound)
	})
	seen := make(map[string]bool, n)
	encoding.Go(func() {
		var held []wire.Inbound
		for in := range inbound {
			held = append(held, in)
			i := rand.N(len(held))
			held[i], held[len(held)-1] = held[len(held)-1], held[i]
			if len(held) > 500 {
				check(t, c, seen, held[len(held)-1])
				held = held[:len(held)-1]
			}
		}
		for _, in := range held {
			check(t, c, seen, in)
		}
	})
	decoding.Wait()
	encoding.Wait()
	if len(seen) != n-n/10 {
		t.Errorf("%d answers", len(seen))
	}
	if c.calls.Len()+c.ids.Len() > 0 {
		t.Errorf("%d calls and %d ids are left", c.calls.Len(), c.ids.Len())
	}
}

// check answers a call twice and looks for one answer, with the call's id.
func check(t *testing.T, c *codec, seen map[string]bool, in wire.Inbound) {
	t.Helper()
	want := string(in.Ref.(*origin).call.Token)
	out := answered(t, c, in, "a", performatives.ActInformResult, `{"task_status":"success"}`)
	got := string(parse(t, out).Payload.ID)
	if got != want || seen[got] {
		t.Errorf("the call %s was answered as %s", want, got)
	}
	seen[got] = true
	if again := answered(t, c, in, "a", performatives.ActInformResult, `{"task_status":"success"}`); len(again) > 0 {
		t.Errorf("the call %s was answered again", want)
	}
}

// A deadline of any distance is written as a timeout_ms that is read back, as that deadline or as
// the last one that can be written.
func TestFarDeadlines(t *testing.T) {
	at := &clock{}
	client, server := open(t, Options{}, wire.CodecOptions{Initiator: true, Stamper: at}), open(t, Options{}, wire.CodecOptions{Stamper: at})
	now := at.Stamp().Time
	last := now.Add(maxTimeout)
	for i, by := range []time.Time{now.Add(time.Second), now.AddDate(75, 0, 0), last, last.Add(time.Second), time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)} {
		m, err := ask(t, i, performatives.TaskRequest{TaskType: "a"}).With(func(e *performatives.Envelope) { e.ReplyBy = by })
		if err != nil {
			t.Fatal(err)
		}
		frame, err := wiretest.Encode(t, client, m)
		if err != nil {
			t.Fatal(err)
		}
		want := by
		if by.After(last) {
			want = last
		}
		if in := one(t, server, string(frame)); in.Err != nil || in.Message.ReplyBy().Sub(want).Abs() > time.Second {
			t.Errorf("%s: %v, want %s: %s", by, in.Err, want, frame)
		}
	}
}
