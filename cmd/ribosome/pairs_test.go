package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/bridge"
	"github.com/ribosome-agents/ribosome/wire/dialect/gateway"
	"github.com/ribosome-agents/ribosome/wire/dialect/rag"
	"github.com/ribosome-agents/ribosome/wire/dialect/rossnet"
)

var dialectNames = []string{"acl", "bridge", "gateway", "rag", "rossnet"}

// leg is one connection between two agents: of the one that asks, and of the one that answers.
type leg struct {
	dialect      string
	asks, serves wire.Codec
}

func newLeg(t interface{ Fatal(args ...any) }, dialect string) leg {
	both, err := newTranslation(dialect, dialect)
	if err != nil {
		t.Fatal(err)
	}
	return leg{dialect, both.asks, both.answers}
}

// errNoForm is the reason why a dialect writes nothing for an act.
var errNoForm = errors.New("no form")

// carry takes a message from one codec to the other.
func (l leg) carry(from, to wire.Codec, m *performatives.Message) (got *performatives.Message, err error) {
	frame, err := from.Encode(nil, m)
	if err != nil {
		return nil, fmt.Errorf("%s does not write it: %w", l.dialect, err)
	}
	if len(frame) == 0 {
		return nil, fmt.Errorf("%s: %w", l.dialect, errNoForm)
	}
	n := 0
	to.Decode(frame, func(in wire.Inbound) {
		n++
		if got = in.Message; in.Err != nil {
			err = fmt.Errorf("%s does not read %s: %w", l.dialect, frame, in.Err)
		}
	})
	if err == nil && (n != 1 || got == nil) {
		err = fmt.Errorf("%s reads %d messages of %s", l.dialect, n, frame)
	}
	return got, err
}

// way is the connections from the agent that asks to the one that answers, one after the other.
type way []leg

func newWay(t interface{ Fatal(args ...any) }, names ...string) (w way) {
	for _, name := range names {
		w = append(w, newLeg(t, name))
	}
	return w
}

// ask takes a message of the agent that asks to the other.
func (w way) ask(m *performatives.Message) (_ *performatives.Message, err error) {
	for _, l := range w {
		if m, err = l.carry(l.asks, l.serves, m); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// answer takes a message of the agent that answers to the one that asked.
func (w way) answer(m *performatives.Message) (_ *performatives.Message, err error) {
	for _, l := range slices.Backward(w) {
		if m, err = l.carry(l.serves, l.asks, m); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// thread is a request with the messages that follow it.
type thread struct {
	request *performatives.Message
	then    []turn
}

// turn is a message after the request: an answer to it, or else a CANCEL of it.
type turn struct {
	act     performatives.Performative
	payload any
}

// heard is what becomes of one message.
type heard struct {
	sent, got *performatives.Message
	err       error
}

// lost returns what the message has lost. A deadline that is written as the time that is left is
// later by what the way took.
func (h heard) lost() []string {
	near := !h.got.ReplyBy().IsZero() && h.sent.ReplyBy().Sub(h.got.ReplyBy()).Abs() < 10*time.Minute
	return slices.DeleteFunc(lost(h.sent, h.got), func(name string) bool { return near && name == "reply_by" })
}

// over returns the results of sending the messages of a thread through a way. After a request that
// is not understood, no further message is sent.
func (k thread) over(t interface{ Fatal(args ...any) }, w way) (all []heard) {
	at, err := w.ask(k.request)
	all = append(all, heard{k.request, at, err})
	for i, next := range k.then {
		if at == nil {
			break
		}
		stamp := performatives.Stamp{ID: performatives.MessageID(fmt.Sprint("then-", i)), Time: k.request.Timestamp()}
		h := heard{}
		if next.act == performatives.ActCancel {
			if h.sent, err = k.request.Follow(stamp, next.payload); err != nil {
				t.Fatal(err)
			}
			h.got, h.err = w.ask(h.sent)
		} else {
			var said *performatives.Message
			for _, reply := range []struct{ of, to **performatives.Message }{{&k.request, &h.sent}, {&at, &said}} {
				if *reply.to, err = (*reply.of).ReplyFrom(k.request.Receiver(), stamp, next.act, next.payload); err != nil {
					t.Fatal(err)
				}
			}
			h.got, h.err = w.answer(said)
		}
		all = append(all, h)
	}
	return all
}

var (
	drawnWord  = rapid.StringMatching(`[A-Za-z0-9_ß "\\<>-]{1,16}`)
	drawnValue = rapid.SampledFrom([]string{
		`1.10`, `null`, `""`, `[]`, `{}`, `"x\u0000y"`, `12345678901234567890123`, `{"a":[1,{"b":null}]}`, `true`, `1E400`, `"TASK_REJECT"`,
	})
	drawnMembers = rapid.Custom(func(t *rapid.T) performatives.Members {
		all := performatives.Members{}
		for name, v := range rapid.MapOfN(rapid.StringMatching(`x_[a-zé]{1,8}`), drawnValue, 0, 3).Draw(t, "members") {
			all[name] = json.RawMessage(v)
		}
		return all
	})
	drawnContent = rapid.Custom(func(t *rapid.T) performatives.Content {
		return performatives.RawContent(json.RawMessage(`{"v":` + drawnValue.Draw(t, "value") + `}`))
	})
)

// drawnTurns has what may follow a request with that act, by kind. Each ends the request or not as
// its act does.
func drawnTurns(t *rapid.T, act performatives.Performative) (all []turn) {
	word := func(label string) string { return drawnWord.Draw(t, label) }
	code := rapid.SampledFrom(performatives.Codes()).Draw(t, "code").Code
	refusals := []turn{
		{performatives.ActFailure, performatives.Failure{ErrorCode: code, ErrorText: word("text"), Extra: drawnMembers.Draw(t, "extra")}},
		{performatives.ActNotUnderstood, performatives.NotUnderstood{ReasonCode: code, ReasonText: word("text")}},
		{performatives.ActRefuse, performatives.Refuse{ReasonCode: code, ReasonText: word("text")}},
	}
	var results []turn
	switch act { //nolint:exhaustive // the acts that are drawn
	case performatives.ActTaskRequest:
		progress := float64(rapid.IntRange(0, 100).Draw(t, "progress"))
		all = []turn{
			{performatives.ActTaskAccept, performatives.TaskAccept{}},
			{performatives.ActStatusUpdate, performatives.StatusUpdate{Progress: &progress, Description: word("description")}},
		}
		status := rapid.SampledFrom([]performatives.TaskStatus{performatives.StatusSuccess, performatives.StatusPartial, performatives.StatusFailure})
		results = []turn{
			{performatives.ActTaskReject, performatives.TaskReject{ReasonCode: code, ReasonText: word("text"), Extra: drawnMembers.Draw(t, "extra")}},
			{performatives.ActInformResult, performatives.InformResult{
				Status: status.Draw(t, "status"), Summary: word("summary"), Details: drawnContent.Draw(t, "details"),
				Artifacts: []performatives.Artifact{{Type: "file", Path: word("path")}}, Extra: drawnMembers.Draw(t, "extra"),
			}},
		}
	case performatives.ActQueryIf:
		truth := rapid.Bool().Draw(t, "truth")
		results = []turn{{performatives.ActInformIf, performatives.InformIf{Condition: drawnContent.Draw(t, "condition"), Truth: &truth}}}
	case performatives.ActQueryRef:
		results = []turn{{performatives.ActInformRef, performatives.InformRef{Reference: word("reference"), Value: drawnContent.Draw(t, "value")}}}
	case performatives.ActQueryCapabilities:
		results = []turn{{performatives.ActInformCapabilities, performatives.InformCapabilities{Capabilities: &performatives.Capabilities{Topics: []string{word("topic")}}}}}
	case performatives.ActInform:
		return nil
	default:
		results = []turn{{performatives.ActInform, performatives.Raw(`{"x":` + drawnValue.Draw(t, "raw") + `}`)}}
	}
	if rapid.Bool().Draw(t, "cancel") {
		all = append(all, turn{performatives.ActCancel, performatives.Cancel{Reason: word("reason")}})
	}
	return append(all, rapid.SampledFrom(append(results, refusals...)).Draw(t, "end"))
}

// drawnThread is a thread of any act that opens a conversation.
var drawnThread = rapid.Custom(func(t *rapid.T) thread {
	word := func(label string) string { return drawnWord.Draw(t, label) }
	payloads := []func() (performatives.Performative, any){
		func() (performatives.Performative, any) {
			return performatives.ActTaskRequest, performatives.TaskRequest{
				TaskType: word("type"), Description: word("description"), Parameters: drawnContent.Draw(t, "parameters"), Extra: drawnMembers.Draw(t, "extra"),
			}
		},
		func() (performatives.Performative, any) {
			return performatives.ActQueryIf, performatives.QueryIf{Condition: drawnContent.Draw(t, "condition")}
		},
		func() (performatives.Performative, any) {
			return performatives.ActQueryRef, performatives.QueryRef{Reference: word("reference")}
		},
		func() (performatives.Performative, any) {
			return performatives.ActQueryCapabilities, performatives.QueryCapabilities{Type: performatives.QuerySummary}
		},
		func() (performatives.Performative, any) {
			act := rapid.SampledFrom([]performatives.Performative{
				performatives.ActInform, performatives.ActRequest, performatives.ActCFP, performatives.ActSubscribe, performatives.ActProxy,
			}).Draw(t, "act")
			return act, performatives.Raw(`{"x":` + drawnValue.Draw(t, "raw") + `}`)
		},
	}
	e := performatives.Envelope{
		ID: "request", Sender: "Eddy", Receiver: "Jules", ConversationID: performatives.ConversationID(word("conversation")),
		Timestamp: time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "seconds"), 25e6).UTC(), Priority: performatives.Priority(rapid.IntRange(-1, 2).Draw(t, "priority")),
		Metadata: drawnMembers.Draw(t, "metadata"),
	}
	e.Performative, e.Payload = rapid.SampledFrom(payloads).Draw(t, "payload")()
	if rapid.Bool().Draw(t, "typed") {
		e.MessageType = rapid.StringMatching(`[A-Z][A-Z0-9_]{2,12}`).Draw(t, "message type")
	}
	if rapid.Bool().Draw(t, "more") {
		e.Protocol, e.ReplyWith, e.Ontology = "own-protocol", "with", "own:ontology"
		e.ReplyBy = time.Now().Add(time.Hour).UTC().Truncate(time.Second)
		e.Budget, e.Trace = drawnContent.Draw(t, "budget"), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	}
	m, err := performatives.New(e)
	if err != nil {
		t.Fatal(err)
	}
	return thread{m, drawnTurns(t, e.Performative)}
})

// A message that goes through another dialect, and back into that of its sender, loses nothing that
// both can say: what each of them carries by itself is there in the end. A message that one of them
// has no words for is not compared.
func TestPairsOfDialects(t *testing.T) {
	racetest.Skip(t)
	for _, a := range dialectNames {
		for _, b := range dialectNames {
			if a == b {
				continue
			}
			t.Run(a+" and "+b, func(t *testing.T) {
				compared := make(map[performatives.Performative]bool)
				for _, k := range actsOfPage() {
					comparePair(t, k, a, b, compared)
					k.request = allFields(t, k.request.Performative(), k.request.Payload())
					comparePair(t, k, a, b, compared)
				}
				for _, act := range []performatives.Performative{
					performatives.ActTaskRequest, performatives.ActInformResult, performatives.ActFailure, performatives.ActTaskReject,
					performatives.ActNotUnderstood, performatives.ActCancel, performatives.ActInform,
				} {
					if !compared[act] {
						t.Errorf("no %s was compared", act)
					}
				}
				rapid.Check(t, func(t *rapid.T) { comparePair(t, drawnThread.Draw(t, "thread"), a, b, compared) })
			})
		}
	}
}

// comparePair compares the results of a thread in one dialect, in another, and in one after the
// other. It adds the acts to compared.
func comparePair(t interface {
	Helper()
	Fatal(args ...any)
	Errorf(format string, args ...any)
}, k thread, a, b string, compared map[performatives.Performative]bool,
) {
	t.Helper()
	ownA, ownB, both := k.over(t, newWay(t, a)), k.over(t, newWay(t, b)), k.over(t, newWay(t, a, b, a))
	if !says(ownA[0]) || !says(ownB[0]) {
		return
	}
	for i := range min(len(ownA), len(ownB)) {
		if !says(ownA[i]) || !says(ownB[i]) {
			continue
		}
		act := ownA[i].sent.Performative()
		compared[act] = true
		if i >= len(both) || both[i].err != nil {
			t.Errorf("%s got lost: %v", act, both[min(i, len(both)-1)].err)
			return
		}
		either := append(ownA[i].lost(), ownB[i].lost()...)
		for _, name := range both[i].lost() {
			if !slices.Contains(either, name) {
				t.Errorf("%s lost %s, which each has: %+v became %+v", act, name, both[i].sent.Envelope(), both[i].got.Envelope())
			}
		}
	}
}

// says reports whether a message came with its act.
func says(h heard) bool { return h.err == nil && h.got.Performative() == h.sent.Performative() }

// allFields is a request with all fields.
func allFields(t *testing.T, act performatives.Performative, payload any) *performatives.Message {
	t.Helper()
	m, err := performatives.New(performatives.Envelope{
		ID: "m-1", Performative: act, Sender: "Eddy", Receiver: "Jules", ConversationID: "c-1", Protocol: "own-protocol", ReplyWith: "r-1",
		ReplyBy: time.Now().Add(time.Hour).UTC().Truncate(time.Second), Language: "en", Ontology: "own:ontology", Priority: performatives.High,
		Timestamp: time.Date(2025, 1, 30, 10, 30, 0, 25e6, time.UTC), Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		Budget: performatives.RawContent(json.RawMessage(`{"tokens":5}`)), Metadata: performatives.Members{"tenant": json.RawMessage(`"t"`)}, Payload: payload,
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// actsOfPage are the requests, each with its answers, in the order of docs/dialects.md. An answer
// alone has no payload type of its own.
func actsOfPage() (all []thread) {
	half, truth := 50.0, true
	raw := performatives.Raw(`{"x":1}`)
	object := performatives.RawContent(json.RawMessage(`{"n":1}`))
	task := performatives.TaskRequest{TaskType: "rerank", Description: "Rank them.", Parameters: object, Extra: performatives.Members{"own": json.RawMessage("1")}}
	result := performatives.InformResult{
		Status: performatives.StatusPartial, Summary: "half of it", Details: object, Artifacts: []performatives.Artifact{{Type: "file", Path: "a"}},
		Extra: performatives.Members{"own": json.RawMessage("1")},
	}
	of := func(act performatives.Performative, payload any, then ...turn) {
		m, err := performatives.New(performatives.Envelope{
			ID: "m-1", Performative: act, Sender: "Eddy", Receiver: "Jules", Timestamp: time.Date(2025, 1, 30, 10, 30, 0, 25e6, time.UTC), Payload: payload,
		})
		if err != nil {
			panic(err)
		}
		all = append(all, thread{m, then})
	}
	for _, then := range []turn{
		{performatives.ActTaskAccept, performatives.TaskAccept{}},
		{performatives.ActStatusUpdate, performatives.StatusUpdate{Progress: &half, Description: "half"}},
		{performatives.ActInformResult, result},
		{performatives.ActTaskReject, performatives.TaskReject{ReasonCode: performatives.CodeBusy, ReasonText: "later"}},
		{performatives.ActNotUnderstood, performatives.NotUnderstood{ReasonCode: performatives.CodeInvalidPayload, ReasonText: "no"}},
		{performatives.ActRefuse, performatives.Refuse{ReasonCode: performatives.CodeForbidden, ReasonText: "no"}},
		{performatives.ActFailure, performatives.Failure{ErrorCode: performatives.CodeTimeout, ErrorText: "late"}},
		{performatives.ActCancel, performatives.Cancel{Reason: "enough"}},
	} {
		of(performatives.ActTaskRequest, task, then)
	}
	of(performatives.ActQueryCapabilities, performatives.QueryCapabilities{Type: performatives.QuerySummary},
		turn{performatives.ActInformCapabilities, performatives.InformCapabilities{Capabilities: &performatives.Capabilities{Topics: []string{"x"}}}})
	of(performatives.ActQueryIf, performatives.QueryIf{Condition: object}, turn{performatives.ActInformIf, performatives.InformIf{Condition: object, Truth: &truth}})
	of(performatives.ActQueryRef, performatives.QueryRef{Reference: "x"}, turn{performatives.ActInformRef, performatives.InformRef{Reference: "x", Value: object}})
	for _, act := range []performatives.Performative{
		performatives.ActInform, performatives.ActConfirm, performatives.ActDisconfirm, performatives.ActRequest, performatives.ActCFP, performatives.ActSubscribe,
		performatives.ActProxy, performatives.ActPropagate, performatives.ActPropose, performatives.ActRequestWhen, performatives.ActRequestWhenever,
	} {
		of(act, raw)
	}
	return all
}

// row returns a row of a table of Markdown.
func row(cells ...string) string { return "| " + strings.Join(cells, " | ") + " |\n" }

// pageTables returns the tables of docs/dialects.md that say what each dialect carries.
func pageTables(t *testing.T) (acts, fields string) {
	t.Helper()
	head := row(append([]string{""}, dialectNames...)...) + "|---|" + strings.Repeat("---|", len(dialectNames)) + "\n"
	acts, fields = head, head
	done := make(map[performatives.Performative]bool)
	for _, k := range actsOfPage() {
		cells := make(map[performatives.Performative][]string)
		var order []performatives.Performative
		for _, dialect := range dialectNames {
			all := k.over(t, newWay(t, dialect))
			for i := range len(k.then) + 1 {
				act, cell := k.request.Performative(), "–"
				if i > 0 {
					act = k.then[i-1].act
				}
				if i < len(all) && all[i].err == nil {
					cell = "yes"
					if got := all[i].got.Performative(); got != act {
						cell = "as " + got.String()
					}
				}
				if cells[act] == nil {
					order = append(order, act)
				}
				cells[act] = append(cells[act], cell)
			}
		}
		for _, act := range order {
			if !done[act] {
				done[act] = true
				acts += row(append([]string{act.String()}, cells[act]...)...)
			}
		}
	}
	request := actsOfPage()[2] // with its result
	request.request = allFields(t, performatives.ActTaskRequest, request.request.Payload())
	losses := make(map[string][]string)
	for _, dialect := range dialectNames {
		for i, h := range request.over(t, newWay(t, dialect)) {
			if h.err != nil {
				t.Fatal(h.err)
			}
			for _, name := range h.lost() {
				losses[dialect] = append(losses[dialect], fmt.Sprint(i, name))
			}
		}
	}
	for i, message := range []string{"request", "result"} {
		for _, name := range slices.Concat(fieldNames, [][]string{
			{"payload.task_type", "payload.task_description", "payload.task_parameters", "payload.own", "metadata.tenant"},
			{"payload.task_status", "payload.summary", "payload.result_details", "payload.artifacts", "payload.own"},
		}[i]) {
			cells := []string{message + ": `" + name + "`"}
			for _, dialect := range dialectNames {
				if cell := "yes"; slices.Contains(losses[dialect], fmt.Sprint(i, name)) {
					cells = append(cells, "–")
				} else {
					cells = append(cells, cell)
				}
			}
			if slices.Contains(cells, "–") || strings.HasPrefix(name, "payload.") {
				fields += row(cells...)
			}
		}
	}
	return acts, fields
}

// fieldNames are the fields of a message, in the order of the page.
var fieldNames = []string{
	"message_id", "performative", "message_type", "sender", "receiver", "conversation_id", "protocol", "in_reply_to", "reply_with", "reply_by", "language", "ontology",
	"priority", "timestamp", "trace", "budget",
}

// The tables of docs/dialects.md say what the dialects do.
func TestDialectsPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/dialects.md")
	if err != nil {
		t.Fatal(err)
	}
	acts, fields := pageTables(t)
	codes := row("code", "act", "bridge", "gateway", "JSON-RPC", "rag", "rossnet") + "|---|---|---|---|---|---|---|\n"
	for _, c := range performatives.Codes() {
		codes += row("`"+string(c.Code)+"`", c.Carrier.String(), bridge.ErrorCodes.Of(c.Code), wire.ErrorCodes.Of(c.Code),
			gateway.ErrorCodes.Of(c.Code), rag.ErrorCodes.Of(c.Code), rossnet.ErrorCodes.Of(c.Code))
	}
	for _, table := range []string{acts, fields, codes} {
		if !strings.Contains(string(page), table) {
			t.Errorf("docs/dialects.md lacks this table:\n%s", table)
		}
	}
}
