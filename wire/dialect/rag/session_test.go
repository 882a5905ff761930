package rag

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// value returns a value in a frame.
func value(t testing.TB, frame, path string) string {
	t.Helper()
	v := []byte(frame)
	for _, name := range strings.Split(path, ".") {
		v = jsonscan.Member(v, name)
	}
	if jsonscan.Is(v, '"') {
		return jsonscan.Text(v)
	}
	return string(v)
}

func expect(t testing.TB, frame string, want map[string]string) {
	t.Helper()
	for path, v := range want {
		if got := value(t, frame, path); got != v {
			t.Errorf("%s is %q, want %q, in %s", path, got, v, frame)
		}
	}
}

func reply(t testing.TB, m *performatives.Message, act performatives.Performative, payload any) *performatives.Message {
	t.Helper()
	r, err := m.ReplyFrom(m.Receiver(), performatives.Stamp{ID: performatives.NewID(), Time: noon}, act, payload)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func newMessage(t testing.TB, e performatives.Envelope) *performatives.Message {
	t.Helper()
	if e.ID == "" {
		e.ID = performatives.NewID()
	}
	e.Timestamp = noon
	m, err := performatives.New(e)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// call is a request of an agent of the swarm to one of the peer.
func request(t testing.TB, from, to, kind, parameters string) *performatives.Message {
	t.Helper()
	return newMessage(t, performatives.Envelope{
		Sender: performatives.AgentID(from), Receiver: performatives.AgentID(to), ConversationID: "conv",
		Payload: performatives.TaskRequest{TaskType: kind, Parameters: performatives.RawContent(json.RawMessage(parameters))},
	})
}

const query = `{"query":"KPIs?"}`

// The answer to a question ends it, in both directions.
func TestAnswersToQuestions(t *testing.T) {
	for act, test := range map[performatives.Performative]struct {
		answer            performatives.Performative
		question, payload string
	}{
		performatives.ActQueryRef: {performatives.ActInformRef, `{"reference":"r"}`, `{"reference":"r","value":7}`},
		performatives.ActQueryIf:  {performatives.ActInformIf, `{"condition":"p"}`, `{"condition":"p","truth":true}`},
	} {
		t.Run(act.String(), func(t *testing.T) {
			c := open(t)
			m := accept(t, c, frameOf(act.String(), "A", "B", "ret-c-001", test.question))
			answer := accept(t, open(t), frameOf(test.answer.String(), "B", "A", "ret-c-001", test.payload)).Payload()
			write(t, c, reply(t, m, test.answer, answer))
			if n := c.calls.Len(); n != 0 {
				t.Errorf("%d questions of the peer are open", n)
			}
			write(t, c, newMessage(t, performatives.Envelope{Sender: "B", Receiver: "A", ConversationID: "q", Payload: m.Payload()}))
			accept(t, c, frameOf(test.answer.String(), "A", "B", "ret-q-001", test.payload))
			if n := c.asked.Len(); n != 0 {
				t.Errorf("%d questions to the peer are open", n)
			}
		})
	}
}

func TestAnswersOfTheSwarm(t *testing.T) {
	const trace = "ret-c-007"
	for _, test := range []struct {
		name, kind, payload string
		answer              any
		want                map[string]string
	}{
		{"result", typeRetrieval, query, performatives.InformResult{Status: performatives.StatusSuccess}, map[string]string{
			"type": typeRetrieved, "trace_id": trace, "payload": `{"retrieved_chunks":[]}`, "metadata": "", "sender": "B", "receiver": "A",
		}},
		{"summary", typeResponse, `{"user_query":"x"}`, performatives.InformResult{Status: performatives.StatusSuccess, Summary: "15%"}, map[string]string{
			"type": typeResponded, "payload": `{"response":"15%"}`, "metadata": "",
		}},
		{"negative result", typeResponse, `{"user_query":"x"}`, performatives.InformResult{Status: performatives.StatusFailure, Summary: "no"}, map[string]string{
			"type": typeResponded, "payload.response": "no", "metadata.inform_result": `{"task_status":"failure"}`,
		}},
		{"details of another kind", typeRetrieval, query, performatives.InformResult{
			Status: performatives.StatusSuccess, Details: performatives.ContentOf(map[string]any{"retrieved_chunks": 7}),
		}, map[string]string{"type": "INFORM_RESULT", "payload.result_details.retrieved_chunks": "7"}},
		{"ingestion", typeIngestion, `{"document_id":"d","chunks":[]}`, performatives.InformResult{Status: performatives.StatusSuccess}, map[string]string{
			"type": "DOCUMENT_INGESTION_RESULT", "metadata.inform_result": `{"task_status":"success"}`,
		}},
		{"custom", "RERANK_REQUEST", `{}`, performatives.InformResult{Status: performatives.StatusSuccess}, map[string]string{"type": "RERANK_RESULT"}},
		{"failure", typeRetrieval, query, performatives.Failure{ErrorCode: performatives.CodeTimeout}, map[string]string{
			"type": typeError, "trace_id": "err-c-008", "payload.error_code": "TIMEOUT", "payload.retry_possible": "true", "metadata": "",
			"payload.original_request": `{"type":"RETRIEVAL_REQUEST","trace_id":"ret-c-007"}`, "payload.error_message": "the deadline passed before the work was done",
		}},
		{"rejection", typeRetrieval, query, performatives.TaskReject{ReasonCode: performatives.CodeBusy, ReasonText: "later"}, map[string]string{
			"type": typeError, "payload.error_code": "BUSY", "payload.error_message": "later", "metadata.performative": "TASK_REJECT",
			"payload.suggested_action": "Send the request again later",
		}},
		{"a type that the agent does not take", typeRetrieval, query, performatives.TaskReject{ReasonCode: performatives.CodeIncapable}, map[string]string{
			"payload.error_code": "UNKNOWN_MESSAGE_TYPE", "payload.error_message": "the agent cannot do this", "payload.retry_possible": "false",
		}},
		{"a code of a peer", typeRetrieval, query, performatives.Failure{ErrorCode: "VECTOR", Extra: performatives.Members{"shard": []byte("7")}}, map[string]string{
			"payload.error_code": "VECTOR", "payload.retry_possible": "false", "payload.shard": "7",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := open(t)
			m := accept(t, c, frameOf(test.kind, "A", "B", trace, test.payload))
			act := test.answer.(interface {
				Act() performatives.Performative
			}).Act()
			expect(t, write(t, c, reply(t, m, act, test.answer)), test.want)
			if c.calls.Len() != 0 || c.calls.traces.Len()+c.calls.parties.Len() != 0 {
				t.Errorf("the request is open: %+v", c.calls)
			}
		})
	}
}

func TestAnswersOfThePeer(t *testing.T) {
	for _, test := range []struct {
		name, answer string
		act          performatives.Performative
		receiver     performatives.AgentID
	}{
		{"result", frameOf(typeRetrieved, "RetrievalAgent", "Eddy", "ret-conv-001", `{"retrieved_chunks":[]}`), performatives.ActInformResult, "Eddy"},
		{"result for System", frameOf(typeRetrieved, "RetrievalAgent", "System", "ret-conv-001", `{"retrieved_chunks":[]}`), performatives.ActInformResult, "Eddy"},
		{"custom result", frameOf("FOUND", "retrievalagent", "Eddy", "ret-conv-001", `{}`), performatives.ActInformResult, "Eddy"},
		{"error", frameOf(typeError, "RetrievalAgent", "System", "err-001", `{"error_code":"BUSY","error_message":"","original_request":{"trace_id":"ret-conv-001"}}`), performatives.ActFailure, "Eddy"},
		{"error in the same trace", frameOf(typeError, "RetrievalAgent", "System", "ret-conv-001", `{"error_code":"BUSY","error_message":""}`), performatives.ActFailure, "Eddy"},
		{"progress", frameOf("STATUS_UPDATE", "RetrievalAgent", "Eddy", "ret-conv-001", `{}`), performatives.ActStatusUpdate, "Eddy"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := open(t)
			m := request(t, "Eddy", "RetrievalAgent", "retrieval_request", query)
			expect(t, write(t, c, m), map[string]string{"type": typeRetrieval, "trace_id": "ret-conv-001", "payload": query, "metadata": ""})
			got := accept(t, c, test.answer)
			if got.Performative() != test.act || got.Receiver() != test.receiver || got.InReplyTo() != string(m.ID()) || got.ConversationID() != "conv" {
				t.Errorf("%+v", got.Envelope())
			}
			if ended := c.asked.Len() == 0; ended != (test.act != performatives.ActStatusUpdate) {
				t.Errorf("ended: %v", ended)
			}
		})
	}
}

// An answer of another agent of the peer is none.
// A message of an unknown type that says that it is a task is one, also in the trace of a request to
// its sender.
func TestTaskInTheTraceOfARequest(t *testing.T) {
	c := open(t)
	write(t, c, request(t, "Eddy", "RetrievalAgent", "retrieval_request", query))
	m := accept(t, c, frameOf("FOUND", "RetrievalAgent", "Eddy", "ret-conv-001", `{}`, `,"metadata":{"task_request":{"task_description":"x"}}`))
	if m.Performative() != performatives.ActTaskRequest || c.asked.Len() != 1 {
		t.Errorf("%+v, %d open", m.Envelope(), c.asked.Len())
	}
}

func TestAnswersOfAnotherAgent(t *testing.T) {
	c := open(t)
	write(t, c, request(t, "Eddy", "RetrievalAgent", "retrieval_request", query))
	m := accept(t, c, frameOf(typeRetrieved, "Other", "Eddy", "ret-conv-001", `{"retrieved_chunks":[]}`))
	if m.InReplyTo() != "ret-conv-001" || c.asked.Len() != 1 {
		t.Errorf("%+v, %d open", m.Envelope(), c.asked.Len())
	}
}

// Two agents of the swarm may ask by the same id: each gets its answer, and withdraws its own
// request.
func TestEqualIDsOfTwoAgents(t *testing.T) {
	c := open(t)
	say := func(from performatives.AgentID, id performatives.MessageID, about string, payload any) string {
		t.Helper()
		m, err := performatives.New(performatives.Envelope{
			ID: id, Sender: from, Receiver: "RetrievalAgent", ConversationID: "talk-" + performatives.ConversationID(from), InReplyTo: about, Timestamp: noon, Payload: payload,
		})
		if err != nil {
			t.Fatal(err)
		}
		return jsonscan.Text(jsonscan.Member([]byte(write(t, c, m)), "trace_id"))
	}
	ask := performatives.TaskRequest{TaskType: "retrieval_request", Parameters: performatives.RawContent([]byte(query))}
	traces := map[performatives.AgentID]string{"Eddy": say("Eddy", "1", "", ask), "Ada": say("Ada", "1", "", ask)}
	for agent, trace := range traces {
		if got := say(agent, "c", "1", performatives.Cancel{}); got != trace {
			t.Errorf("%s withdraws %s, and has asked by %s", agent, got, trace)
		}
		m := accept(t, c, frameOf(typeRetrieved, "RetrievalAgent", string(agent), trace, `{"retrieved_chunks":[]}`))
		if m.Receiver() != agent || m.InReplyTo() != "1" || m.ConversationID() != "talk-"+performatives.ConversationID(agent) {
			t.Errorf("the answer for %s is %+v", agent, m.Envelope())
		}
	}
}

// RETRIEVAL_RESULT goes to the LLMResponseAgent; the asker is told that its request has ended, and
// who got the result.
func TestRecruiting(t *testing.T) {
	c := open(t)
	m := request(t, "Eddy", "RetrievalAgent", "retrieval_request", query)
	write(t, c, m)
	all := c.items(frameOf(typeRetrieved, "RetrievalAgent", "LLMResponseAgent", "ret-conv-001", `{"retrieved_chunks":[]}`))
	if len(all) != 2 || all[0].Message == nil || all[1].Message == nil {
		t.Fatalf("%+v", all)
	}
	result, told := all[0].Message, all[1].Message
	if result.Receiver() != "LLMResponseAgent" || result.ConversationID() != "conv" {
		t.Errorf("%+v", result.Envelope())
	}
	if p := told.Payload().(performatives.InformResult); told.Receiver() != "Eddy" || told.InReplyTo() != string(m.ID()) || told.ID() == result.ID() || !p.Details.IsZero() {
		t.Errorf("%+v", told.Envelope())
	}
	other := open(t)
	expect(t, write(t, other, result), map[string]string{"type": typeRetrieved, "trace_id": "ret-conv-001", "receiver": "LLMResponseAgent"})
	expect(t, write(t, other, told), map[string]string{
		"type": typeRetrieved, "trace_id": "ret-conv-001", "receiver": "Eddy", "payload": `{"retrieved_chunks":[]}`, "metadata.result_for": "LLMResponseAgent",
	})
}

// Askers of several names keep a trace id that they share, and an answer goes to the one that it
// names. Several that are System, whose name the peer gets, have trace ids of their own.
func TestSharedTrace(t *testing.T) {
	c := open(t)
	ask := func(asker performatives.AgentID) string {
		t.Helper()
		m := request(t, string(asker), "B", "retrieval_request", query)
		m, err := m.With(func(e *performatives.Envelope) {
			e.Metadata = performatives.Members{keptTrace: json.RawMessage(`"ret-conv-007"`)}
		})
		if err != nil {
			t.Fatal(err)
		}
		return write(t, c, m)
	}
	for _, asker := range []performatives.AgentID{"Ada", "Eve", "System/client-1@n"} {
		expect(t, ask(asker), map[string]string{"trace_id": "ret-conv-007", "sender": string(nameFor(asker))})
	}
	expect(t, ask("System/client-2@n"), map[string]string{"trace_id": "ret-conv-001", "sender": "System"})
	for _, tt := range []struct{ to, trace, asker string }{
		{"Eve", "ret-conv-007", "Eve"},
		{"System", "ret-conv-001", "System/client-2@n"},
		{"System", "ret-conv-007", "System/client-1@n"},
		{"Ada", "ret-conv-007", "Ada"},
	} {
		if m := accept(t, c, frameOf(typeRetrieved, "B", tt.to, tt.trace, `{"retrieved_chunks":[]}`)); string(m.Receiver()) != tt.asker {
			t.Errorf("the answer for %s goes to %s", tt.asker, m.Receiver())
		}
	}
	if c.asked.Len()+c.asked.traces.Len() != 0 {
		t.Errorf("open: %+v", c.asked)
	}
}

// Filters and thresholds of the wrong kind are refused by name.
func TestFilters(t *testing.T) {
	for payload, field := range map[string]string{
		`{"query":"q","similarity_threshold":7}`:                                     "payload.similarity_threshold",
		`{"query":"q","similarity_threshold":1.0,"filters":null}`:                    "",
		`{"query":"q","filters":{"document_types":"pdf"}}`:                           "payload.filters.document_types",
		`{"query":"q","filters":{"date_range":["2024-01-01"]}}`:                      "payload.filters.date_range",
		`{"query":"q","filters":{"date_range":["yesterday","2024-03-31"]}}`:          "payload.filters.date_range",
		`{"query":"q","filters":{"date_range":["2024-04-01","2024-03-31"]}}`:         "payload.filters.date_range",
		`{"query":"q","filters":{"date_range":["2024-01-01","2024-03-31"],"own":1}}`: "",
	} {
		in := open(t).items(frameOf(typeRetrieval, "A", "B", "ret-c-001", payload))[0]
		if field == "" && in.Message == nil || field != "" && (in.Err == nil || in.Err.Field != field) {
			t.Errorf("%s: %v", payload, in.Err)
		}
	}
	in := open(t).items(frameOf(typeResponse, "A", "B", "llm-c-001", `{"user_query":"q","generation_params":{"temperature":"hot"}}`))[0]
	if in.Err == nil || in.Err.Field != "payload.generation_params.temperature" {
		t.Error(in.Err)
	}
}

func TestCancelOfThePeer(t *testing.T) {
	c := open(t)
	m := accept(t, c, frameOf(typeRetrieval, "A", "B", "ret-c-001", query))
	cancel := accept(t, c, frameOf("CANCEL", "A", "B", "ret-c-001", `{"reason":"late"}`))
	if cancel.InReplyTo() != string(m.ID()) || cancel.ConversationID() != m.ConversationID() {
		t.Errorf("%+v", cancel.Envelope())
	}
	failed := write(t, c, reply(t, m, performatives.ActFailure, performatives.Failure{ErrorCode: performatives.CodeCanceled}))
	expect(t, failed, map[string]string{"payload.original_request.type": typeRetrieval})
	expect(t, write(t, c, reply(t, cancel, performatives.ActInform, performatives.Receipt{})), map[string]string{
		"type": "INFORM", "trace_id": "ret-c-001", "payload": `{"status":"done"}`,
	})
	if c.calls.Len() != 0 {
		t.Error("the request is open")
	}
}

func TestCancelOfTheSwarm(t *testing.T) {
	for _, test := range []struct{ name, answer string }{
		{"receipt", frameOf("INFORM", "B", "A", "ret-conv-001", `{"status":"done"}`)},
		{"unknown to the peer", frameOf(typeError, "B", "System", "err-9", `{"error_code":"UNKNOWN_MESSAGE_TYPE","error_message":"","original_request":{"type":"CANCEL","trace_id":"ret-conv-001"}}`)},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := open(t)
			m := request(t, "A", "B", "retrieval_request", query)
			write(t, c, m)
			cancel, err := m.Follow(performatives.Stamp{ID: "cancel", Time: noon}, performatives.Cancel{Reason: "late"})
			if err != nil {
				t.Fatal(err)
			}
			expect(t, write(t, c, cancel), map[string]string{"type": "CANCEL", "trace_id": "ret-conv-001", "payload.reason": "late"})
			result := accept(t, c, frameOf(typeRetrieved, "B", "A", "ret-conv-001", `{"retrieved_chunks":[]}`))
			if result.InReplyTo() != string(m.ID()) {
				t.Errorf("%+v", result.Envelope())
			}
			if got := accept(t, c, test.answer); got.InReplyTo() != "cancel" || got.ConversationID() != "conv" || got.Receiver() != "A" {
				t.Errorf("%+v", got.Envelope())
			}
			if c.asked.Len() != 0 {
				t.Error("the request is open")
			}
		})
	}
}

// Requests of one conversation to the same agent are apart while they are open, and have the trace
// ids that they came with.
func TestRequestsAtOnce(t *testing.T) {
	c := open(t)
	seen := make(map[performatives.ConversationID]*performatives.Message)
	for i := range 3 {
		m := accept(t, c, frameOf(typeIngestion, "A", "B", fmt.Sprintf("ing-c-%03d", i+1), `{"document_id":"d","chunks":[]}`))
		seen[m.ConversationID()] = m
	}
	if len(seen) != 3 || seen["c"] == nil || seen["ing-c-003"] == nil {
		t.Errorf("%v", seen)
	}
	for id, m := range seen {
		out := write(t, c, reply(t, m, performatives.ActInformResult, performatives.InformResult{Status: performatives.StatusSuccess}))
		if trace := value(t, out, "trace_id"); !strings.HasPrefix(trace, "ing-c-") || id != "c" && trace != string(id) {
			t.Errorf("%s: %s", id, out)
		}
	}
	again := accept(t, c, frameOf(typeIngestion, "A", "B", "ing-c-004", `{"document_id":"d","chunks":[]}`))
	if again.ConversationID() != "c" {
		t.Errorf("then %s", again.ConversationID())
	}
}

// The same frame again has the same id; another attempt has another.
func TestDuplicates(t *testing.T) {
	c := open(t)
	first := frameOf(typeRetrieval, "A", "B", "ret-c-001", query)
	a, b := accept(t, c, first), accept(t, c, first)
	if a.ID() != b.ID() || a.ConversationID() != b.ConversationID() || c.calls.Len() != 1 {
		t.Errorf("%s and %s, %d open", a.ID(), b.ID(), c.calls.Len())
	}
	for _, other := range []string{
		strings.Replace(first, "10:31:00", "10:31:01", 1), strings.Replace(first, "KPIs", "KPI", 1), strings.Replace(first, `"A"`, `"C"`, 1),
		strings.Replace(first, `"B"`, `"C"`, 1), strings.Replace(first, "001", "002", 1),
	} {
		if m := accept(t, c, other); m.ID() == a.ID() {
			t.Errorf("%s has the id of %s", other, first)
		}
	}
}

func TestNewTraceIDs(t *testing.T) {
	c := open(t)
	accept(t, c, frameOf(typeRetrieval, "A", "B", "ret-conv-041", query))
	for _, test := range []struct{ to, task, parameters, want string }{
		{"B", "retrieval_request", query, "ret-conv-042"},
		{"B", "document_ingestion", `{"document_id":"d","chunks":[]}`, "ing-conv-043"},
		{"B", "response_request", `{"user_query":"x"}`, "llm-conv-044"},
		{"IngestionAgent", "clean", `{}`, "ing-conv-045"},
		{"LLMResponseAgent", "clean", `{}`, "llm-conv-046"},
		{"B", "clean", `{}`, "ret-conv-047"},
	} {
		out := write(t, c, request(t, "E", test.to, test.task, test.parameters))
		expect(t, out, map[string]string{"trace_id": test.want})
	}
	m := request(t, "E", "B", "clean", `{}`)
	if a, b := write(t, c, m), write(t, c, m); a != b {
		t.Errorf("the same message again: %s and %s", a, b)
	}
}

// At its limit a session forgets the oldest request. The answer to that has a new trace id of its
// conversation.
func TestPendingIsBounded(t *testing.T) {
	c := open(t, func(o *wire.CodecOptions) { o.MaxPending = 2 })
	var all []*performatives.Message
	for i := range 5 {
		all = append(all, accept(t, c, frameOf(typeRetrieval, "A", "B", fmt.Sprintf("ret-c%d-001", i), query)))
		write(t, c, request(t, "E", "B", "clean", `{}`))
	}
	for _, p := range []*pending{&c.calls, &c.asked} {
		if p.Len() != 2 || p.traces.Len() != 2 {
			t.Errorf("%d open: %+v", p.Len(), p)
		}
	}
	success := performatives.InformResult{Status: performatives.StatusSuccess}
	expect(t, write(t, c, reply(t, all[4], performatives.ActInformResult, success)), map[string]string{"type": typeRetrieved, "trace_id": "ret-c4-001"})
	expect(t, write(t, c, reply(t, all[0], performatives.ActInformResult, success)), map[string]string{"type": "INFORM_RESULT", "trace_id": "ret-c0-002"})
}

func TestRegistration(t *testing.T) {
	c := open(t)
	register := func(status string) *performatives.Message {
		return accept(t, c, frameOf(typeRegistration, "R", "System", "ret-reg-001",
			`{"agent_id":"r","agent_type":"retrieval","capabilities":["vector search"],"message_types":["RETRIEVAL_REQUEST","TASK_ACCEPT","RERANK_RESULT","RERANK"],"status":"`+status+`"}`))
	}
	offered := func(m *performatives.Message) string {
		return strings.Join(names(*m.Payload().(performatives.QueryCapabilities).Capabilities), ",")
	}
	m := register("active")
	if got := offered(m); got != "vector search,retrieval_request,rerank" {
		t.Errorf("offers %s", got)
	}
	capabilities := performatives.InformCapabilities{Capabilities: &performatives.Capabilities{Topics: []string{"go"}, Actions: []performatives.Action{{Name: "add"}}}}
	expect(t, write(t, c, reply(t, m, performatives.ActInformCapabilities, capabilities)), map[string]string{
		"type": typeRegistered, "trace_id": "ret-reg-001",
		"payload": `{"agent_id":"r","agent_type":"retrieval","capabilities":["vector search"],"message_types":["RETRIEVAL_REQUEST","TASK_ACCEPT","RERANK_RESULT","RERANK"],"status":"active","node_capabilities":["go","add"]}`,
	})
	status := func(s string) string {
		return frameOf(typeStatus, "R", "System", "ret-health-001", `{"agent_id":"R","status":"`+s+`","messages_processed":7}`)
	}
	beat := accept(t, c, status("active"))
	if got := offered(beat); got != offered(m) {
		t.Errorf("after a heartbeat it offers %s", got)
	}
	if said := string(beat.Payload().(performatives.QueryCapabilities).Extra[extraStatus]); !strings.Contains(said, `"messages_processed":7`) {
		t.Errorf("a heartbeat says %s", said)
	}
	if n := c.calls.Len(); n != 0 {
		t.Errorf("%d requests are open: a heartbeat has no answer", n)
	}
	down := accept(t, c, status("error"))
	if got := offered(down); got != "" {
		t.Errorf("in error it offers %s", got)
	}
	again := accept(t, c, status("error"))
	for range 2 { // the same heartbeat may be answered twice
		for _, m := range []*performatives.Message{down, again} {
			if out := write(t, c, reply(t, m, performatives.ActInformCapabilities, capabilities)); out != "" {
				t.Errorf("a status is answered by %s", out)
			}
		}
	}
	if got := offered(accept(t, c, status("active"))); got != offered(m) {
		t.Errorf("active again, it offers %s", got)
	}
	if got := offered(register("inactive")); got != "" {
		t.Errorf("inactive, it offers %s", got)
	}
}

// Progress is written to an agent that has registered for it, or used it.
func TestProgressIsForThoseThatKnowIt(t *testing.T) {
	c := open(t)
	progress := func() string {
		return write(t, c, newMessage(t, performatives.Envelope{Sender: "B", Receiver: "A", InReplyTo: "x", Payload: performatives.TaskAccept{}}))
	}
	if out := progress(); out != "" {
		t.Errorf("unregistered, it gets %s", out)
	}
	registration := `{"agent_id":"A","agent_type":"x","capabilities":[],"message_types":[%s],"status":"active"}`
	accept(t, c, frameOf(typeRegistration, "A", "System", "ret-reg-001", fmt.Sprintf(registration, "")))
	if out := progress(); out != "" {
		t.Errorf("without the type, it gets %s", out)
	}
	accept(t, c, frameOf("TASK_ACCEPT", "a", "B", "ret-c-001", `{}`))
	expect(t, progress(), map[string]string{"type": "TASK_ACCEPT"})
	accept(t, c, frameOf(typeRegistration, "A", "System", "ret-reg-001", fmt.Sprintf(registration, "")))
	if out := progress(); out != "" {
		t.Errorf("registered again without the type, it gets %s", out)
	}
	accept(t, c, frameOf(typeRegistration, "A", "System", "ret-reg-001", fmt.Sprintf(registration, `"TASK_ACCEPT"`)))
	expect(t, progress(), map[string]string{"type": "TASK_ACCEPT"})
}

func TestRefusedByTheHandler(t *testing.T) {
	c := open(t)
	all := c.items(frameOf(typeRetrieval, "A", "B", "ret-c-001", query))
	limit := &wire.LimitError{Limit: wire.Rate{Messages: 5, Window: 60e9}, RetryAfter: 2e9}
	expect(t, string(wiretest.Refuse(t, c, all[0], limit)), map[string]string{
		"type": typeError, "sender": "B", "receiver": "A", "payload.error_code": "RATE_LIMITED", "payload.details.retry_after": "2",
		"payload.original_request": `{"type":"RETRIEVAL_REQUEST","trace_id":"ret-c-001"}`, "trace_id": "err-c-002", "payload.retry_possible": "true",
	})
	if c.calls.Len() != 0 {
		t.Error("the request is open")
	}
	refused := c.items(frameOf(typeError, "A", "B", "err-1", `{"error_code":"X","error_message":""}`))
	if out := wiretest.Refuse(t, c, refused[0], performatives.CodeUnknownAgent); len(out) > 0 {
		t.Errorf("an error is answered by %s", out)
	}
	if in := c.items(frameOf(typeError, "A", "B", "err-1", `{}`)); in[0].Err == nil || len(in[0].Answer) > 0 {
		t.Errorf("a broken error is answered by %s", in[0].Answer)
	}
}

func TestBrokenFrames(t *testing.T) {
	for data, field := range map[string]string{
		``: "", `{`: "", `[]`: "message", "{\"type\":\"\xff\"}": "", `{"type":"X","type":"Y"}`: "", `{"sender":"\ud800","type":"X"}`: "sender",
		`{"type":"X"} x`: "", `{"a":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`: "",
		frameOf("X", "A", "B", "t", "{}", `,"a":1,"a":2`): "",
		frameOf("X", "A\n", "B", "t", "{}"):               "sender",
		frameOf("X", "A", "B", "t\n", "{}"):               "trace_id",
		`{"x":"` + strings.Repeat("a", 1<<20) + `"}`:      "",
	} {
		all := open(t).items(data)
		if len(all) != 1 || all[0].Err == nil {
			t.Errorf("%.80q is accepted", data)
			continue
		}
		if code, _, got := errorOf(t, all[0].Answer); code != "INVALID_MESSAGE" || got != field {
			t.Errorf("%.80q: %s %s", data, code, got)
		}
	}
}

func TestToken(t *testing.T) {
	c := open(t, func(o *wire.CodecOptions) { o.Token = func() string { return "ours" } })
	for _, token := range []string{"Bearer secret", "secret", "bearer  secret"} {
		all := c.items(frameOf(typeRetrieval, "A", "B", "ret-c-001", query, fmt.Sprintf(`,"auth_token":%q`, token)))
		if all[0].Token != "secret" {
			t.Errorf("%q is %q", token, all[0].Token)
		}
		out := write(t, c, all[0].Message)
		if expect(t, out, map[string]string{"auth_token": "ours"}); strings.Contains(out, "secret") {
			t.Errorf("the token is passed on: %s", out)
		}
	}
}

func TestUnwritable(t *testing.T) {
	c := open(t)
	for name, e := range map[string]performatives.Envelope{
		"receiver":      {Sender: "A", Performative: performatives.ActInform},
		"payload.query": {Sender: "A", Receiver: "B", Payload: performatives.TaskRequest{TaskType: "retrieval_request"}},
	} {
		_, err := wiretest.Encode(t, c, newMessage(t, e))
		var r *performatives.Refusal
		if !errors.As(err, &r) || r.Field != name || !strings.HasPrefix(r.Text, name+": ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, e := range map[string]performatives.Envelope{
		"payload":  {Sender: "A", Receiver: "B", Performative: performatives.ActInform, Payload: performatives.Raw(`{"a":}`)},
		"metadata": {Sender: "A", Receiver: "B", Performative: performatives.ActInform, Metadata: performatives.Members{"x": []byte("{")}},
		"failure":  {Sender: "A", Receiver: "B", InReplyTo: "x", Payload: performatives.Failure{ErrorCode: "x", Extra: performatives.Members{"x": []byte("{")}}},
		"task":     {Sender: "A", Receiver: "B", Payload: performatives.TaskRequest{TaskType: "x", Extra: performatives.Members{"x": []byte("{")}}},
		"UTF-8":    {Sender: "A", Receiver: "B", Performative: performatives.ActInform, Metadata: performatives.Members{"x": []byte("\"\xff\"")}},
	} {
		if out, err := c.Encode([]byte("x"), newMessage(t, e)); err == nil || string(out) != "x" {
			t.Errorf("%s: %s, %v", name, out, err)
		}
	}
}

func TestSystemIsALabel(t *testing.T) {
	for id, want := range map[performatives.AgentID]bool{"System": true, "system": true, "IngestionAgent": false, "System/client-1": false} {
		if got := (Dialect{}).SenderIsLabel(newMessage(t, performatives.Envelope{Sender: id, Receiver: "B", Performative: performatives.ActInform})); got != want {
			t.Errorf("%s: %v", id, got)
		}
	}
}

type analysis struct {
	Kind string `json:"analysis_type"`
}

func (a analysis) Validate() error {
	if a.Kind == "" {
		return &performatives.Refusal{Field: "analysis_type", Text: "want a non-empty string"}
	}
	return nil
}

func TestRegisteredTypes(t *testing.T) {
	r := new(performatives.Registry)
	for name, act := range map[string]performatives.Performative{"CUSTOM_ANALYSIS": performatives.ActTaskRequest, "REVIEW_DONE": performatives.ActInform} {
		if err := performatives.RegisterMessageType[analysis](r, name, act); err != nil {
			t.Fatal(err)
		}
	}
	c := open(t, func(o *wire.CodecOptions) { o.Registry = r })
	for name, act := range map[string]performatives.Performative{"CUSTOM_ANALYSIS": performatives.ActTaskRequest, "REVIEW_DONE": performatives.ActInform} {
		m := accept(t, c, frameOf(name, "A", "B", "ret-c-001", `{"analysis_type":"trend"}`))
		if m.Performative() != act || m.MessageType() != name || m.Payload() != (analysis{"trend"}) {
			t.Errorf("%+v", m.Envelope())
		}
		expect(t, write(t, c, m), map[string]string{"type": name, "metadata": "", "payload": `{"analysis_type":"trend"}`})
		expect(t, write(t, open(t), m), map[string]string{"type": name, "metadata.performative": act.String()})
		more := accept(t, c, frameOf(name, "A", "B", "ret-c-003", `{"analysis_type":"trend","n":12345678901234567890}`))
		renamed, err := more.With(func(e *performatives.Envelope) { e.Receiver = "C" })
		if err != nil {
			t.Fatal(err)
		}
		expect(t, write(t, c, renamed), map[string]string{"payload": `{"analysis_type":"trend","n":12345678901234567890}`})
		changed, err := more.With(func(e *performatives.Envelope) { e.Payload = analysis{"other"} })
		if err != nil {
			t.Fatal(err)
		}
		expect(t, write(t, c, changed), map[string]string{"payload": `{"analysis_type":"other"}`})
		_, _, field := errorOf(t, c.items(frameOf(name, "A", "B", "ret-c-002", `{}`))[0].Answer)
		if field != "payload.analysis_type" {
			t.Errorf("the field is %q", field)
		}
	}
	_, _, field := errorOf(t, c.items(frameOf("REVIEW_DONE", "A", "B", "t", `{"analysis_type":"x"}`, `,"metadata":{"performative":"REQUEST"}`))[0].Answer)
	if field != "metadata.performative" {
		t.Errorf("the field is %q", field)
	}
}

// The objects and arrays of a frame nest to 128 levels, the envelope being the first.
func TestDepth(t *testing.T) {
	deep := func(n int) string {
		return frameOf(typeIngestion, "A", "B", "t", `{"document_id":"d","chunks":[],"x":`+strings.Repeat("[", n-2)+strings.Repeat("]", n-2)+`}`)
	}
	m := accept(t, open(t), deep(128))
	if _, err := open(t).Encode(nil, m); err != nil {
		t.Errorf("a message as deep as can be read is not written: %v", err)
	}
	if code, _, _ := errorOf(t, open(t).items(deep(129))[0].Answer); code != "INVALID_MESSAGE" {
		t.Errorf("a deeper one: %s", code)
	}
}

// The agents and the conversations that a session stores are bounded.
func TestMemoryOfASessionIsBounded(t *testing.T) {
	c := open(t)
	registration := func(i int) string {
		id := fmt.Sprintf("A%d", i)
		return frameOf(typeRegistration, id, "System", fmt.Sprintf("ret-c%d-001", i),
			fmt.Sprintf(`{"agent_id":%q,"agent_type":"x","capabilities":[],"message_types":[],"status":"active"}`, id))
	}
	for i := range maxRegistrations {
		accept(t, c, registration(i))
	}
	if code, _, _ := errorOf(t, c.items(registration(maxRegistrations))[0].Answer); code != "BUSY" {
		t.Errorf("one more agent: %s", code)
	}
	accept(t, c, registration(0)) // again
	if n := len(c.agents); n != maxRegistrations {
		t.Errorf("%d agents are registered", n)
	}
	clear(c.sequences)
	for i := range maxSequences {
		c.sequences.next(prefixRetrieval, performatives.ConversationID(fmt.Sprint(i)))
	}
	if n := len(c.sequences); n != maxSequences {
		t.Errorf("%d sequences", n)
	}
	if c.sequences.next(prefixRetrieval, "more"); len(c.sequences) != 1 {
		t.Errorf("%d sequences after the last one", len(c.sequences))
	}
	for i := range exchange.MaxUnknown + 1 {
		accept(t, c, frameOf(fmt.Sprintf("T%d", i), "A0", "B", fmt.Sprintf("ret-t%d-001", i), "{}"))
	}
	if types := c.agents["a0"].types; len(types) != exchange.MaxUnknown || !types["T3"] {
		t.Error("the types of an agent are not bounded")
	}
}

// A trace id that an open request has is not given out again, neither to a message that came with
// it nor to a new one.
func TestTraceIDsOfOpenRequestsAreTheirs(t *testing.T) {
	c := open(t)
	came := func(id performatives.MessageID) *performatives.Message {
		m, err := request(t, "E", "B", "clean", "{}").With(func(e *performatives.Envelope) {
			e.ID, e.Metadata = id, performatives.Members{keptTrace: json.RawMessage(`"ret-conv-007"`)}
		})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	expect(t, write(t, c, came("one")), map[string]string{"trace_id": "ret-conv-007"})
	expect(t, write(t, c, came("one")), map[string]string{"trace_id": "ret-conv-007"})
	expect(t, write(t, c, came("two")), map[string]string{"trace_id": "ret-conv-001"})
	clear(c.sequences)
	expect(t, write(t, c, request(t, "E", "B", "clean", "{}")), map[string]string{"trace_id": "ret-conv-002"})
}

func TestTasksOfOtherDialects(t *testing.T) {
	for _, test := range []struct {
		task performatives.TaskRequest
		want map[string]string
	}{
		{performatives.TaskRequest{TaskType: "debug_code"}, map[string]string{"type": "DEBUG_CODE", "payload": "{}", "metadata": ""}},
		{performatives.TaskRequest{TaskType: "DebugCode"}, map[string]string{"type": "TASK_REQUEST", "payload.task_type": "DebugCode"}},
		{performatives.TaskRequest{TaskType: "do it"}, map[string]string{"type": "TASK_REQUEST", "payload.task_type": "do it"}},
		{performatives.TaskRequest{TaskType: "cancel"}, map[string]string{"type": "TASK_REQUEST", "payload.task_type": "cancel"}},
		{performatives.TaskRequest{TaskType: "x", Extra: performatives.Members{"priority": json.RawMessage("5"), "y": json.RawMessage("1")}}, map[string]string{
			"type": "X", "metadata.priority": "5", "metadata.task_request": `{"y":1}`,
		}},
	} {
		priority := performatives.Normal
		if test.task.Extra != nil {
			priority = performatives.Urgent
		}
		m := newMessage(t, performatives.Envelope{Sender: "A", Receiver: "B", Priority: priority, Payload: test.task})
		for range 2 { // the message keeps its members
			expect(t, write(t, open(t), m), test.want)
		}
	}
}

// Each code goes to the peer as a word of the table, and comes back as itself, whichever act has
// it.
func TestErrorCodes(t *testing.T) {
	for _, traits := range performatives.Codes() {
		for _, payload := range []any{
			performatives.TaskReject{ReasonCode: traits.Code, ReasonText: "no", RetryAfter: time.Second},
			performatives.Failure{ErrorCode: traits.Code, ErrorText: "no", RetryAfter: time.Second},
			performatives.NotUnderstood{ReasonCode: traits.Code, ReasonText: "no"},
			performatives.Refuse{ReasonCode: traits.Code, ReasonText: "no", RetryAfter: time.Second},
		} {
			near, far := open(t), open(t)
			asked := accept(t, far, write(t, near, request(t, "Eddy", "Worker", "rerank", `{}`)))
			answer, err := asked.Reply(far.opts.Stamper.Stamp(), payload)
			if err != nil {
				t.Fatal(err)
			}
			text := write(t, far, answer)
			if word, _, _ := errorOf(t, []byte(text)); word != ErrorCodes.Of(traits.Code) {
				t.Errorf("%s is written as %q: %s", traits.Code, word, text)
			}
			back := accept(t, near, text)
			r, extra, _ := performatives.RefusalIn(back.Payload())
			sent, _, _ := performatives.RefusalIn(payload)
			if r.RetryAfter != sent.RetryAfter || len(extra[performatives.MemberRetryAfter]) != 0 || strings.Contains(text, `"retry_after_ms":1000`) != (sent.RetryAfter != 0) {
				t.Errorf("%v came back as %v: %s", sent.RetryAfter, r.RetryAfter, text)
			}
			if r.Code != traits.Code || r.Text != "no" || extra[memberReason] != nil || back.Performative() != answer.Performative() {
				t.Errorf("%s of %s came back as %s of %s: %s", traits.Code, answer.Performative(), r.Code, back.Performative(), text)
			}
		}
	}
}

// A reason_code that does not belong to the word is the peer's own, and stays.
func TestOwnReasonCodes(t *testing.T) {
	for _, own := range []string{`"busy"`, `"forbidden"`, `"BOGUS"`, `7`} {
		c := open(t)
		frame := frameOf(typeError, "A", "System", "ret-002", `{"error_code":"BUSY","error_message":"x","retry_possible":true,"suggested_action":"","reason_code":`+own+`}`)
		m := accept(t, c, frame)
		if r, extra, _ := performatives.RefusalIn(m.Payload()); r.Code != performatives.CodeBusy || string(extra[memberReason]) != own {
			t.Errorf("%s: %s %s", own, r.Code, extra[memberReason])
		}
		if diff := cmp.Diff(exact(t, []byte(frame)), exact(t, []byte(write(t, c, m)))); diff != "" {
			t.Errorf("-came +went:\n%s", diff)
		}
	}
	c := open(t)
	in := c.items(frameOf(typeRetrieval, "A", "B", "ret-002", `{"query":"x"}`))[0]
	for code, want := range map[performatives.Code]string{performatives.CodeForbidden: `"forbidden"`, performatives.CodeUnauthorized: "", performatives.CodeBusy: ""} {
		out := wiretest.Refuse(t, open(t), in, &performatives.Refusal{Code: code})
		if got := jsonscan.Member(jsonscan.Member(out, "payload"), memberReason); string(got) != want {
			t.Errorf("%s is refused with the reason_code %s", code, got)
		}
	}
}

// An answer that the codec itself makes says when to come again. What a peer writes that is no hint
// stays as it came.
func TestRetryAfter(t *testing.T) {
	c := open(t)
	in := c.items(frameOf(typeRetrieval, "A", "B", "ret-002", `{"query":"x"}`))[0]
	out := wiretest.Refuse(t, c, in, &performatives.Refusal{Code: performatives.CodeBusy, RetryAfter: time.Second})
	if got := jsonscan.Member(jsonscan.Member(out, "payload"), performatives.MemberRetryAfter); string(got) != "1000" {
		t.Errorf("got %s", out)
	}
	frame := frameOf(typeError, "A", "System", "ret-002", `{"error_code":"BUSY","error_message":"x","retry_possible":true,"suggested_action":"","retry_after_ms":1.5}`)
	m := accept(t, open(t), frame)
	if r := m.AsRefusal(); r.RetryAfter != 0 {
		t.Errorf("got %+v", r)
	}
	if diff := cmp.Diff(exact(t, []byte(frame)), exact(t, []byte(write(t, open(t), m)))); diff != "" {
		t.Errorf("-came +went:\n%s", diff)
	}
}

// A request takes the place of another one of its agent with its trace id.
func TestTraceIsTakenAgain(t *testing.T) {
	c := open(t)
	accept(t, c, frameOf(typeRetrieval, "A", "B", "ret-c-001", query))
	accept(t, c, frameOf(typeResponse, "A", "B", "ret-c-001", `{"user_query":"q","context_chunks":[]}`))
	if c.calls.Len() != 1 || c.calls.traces.Len() != 1 {
		t.Errorf("%d requests, %d traces", c.calls.Len(), c.calls.traces.Len())
	}
}
