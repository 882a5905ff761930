package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/internal/patience"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
	"github.com/ribosome-agents/ribosome/wire/dialect/rag"
)

// ragHub is a node with a WebSocket port for the dialects acl and rag.
type ragHub struct {
	*hub
	addr string
}

func newRAGHub(t *testing.T) *ragHub {
	t.Helper()
	h := newHub(t, runtime.PeerOptions{}, func(o *wire.Options) { o.Dialects = []wire.Dialect{acl.Dialect{}, rag.Dialect{}} })
	addr := serve(t, overWS, h.server)
	return &ragHub{h, addr}
}

// ragPeer is a program that writes and reads the JSON of the specification, without this module's
// codec.
type ragPeer struct {
	t    *testing.T
	name string
	conn wire.Conn
}

func (h *ragHub) connect(name string) *ragPeer {
	h.t.Helper()
	t := h.t.(*testing.T)
	conn, err := overWS.dial(patience.Context(t), h.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	context.AfterFunc(patience.Context(t), func() { _ = conn.Close() }) // so that a missing frame ends the test
	return &ragPeer{t, name, conn}
}

func (r *ragPeer) send(kind, to, trace, payload string) {
	r.t.Helper()
	frame := fmt.Sprintf(`{"type":%q,"sender":%q,"receiver":%q,"trace_id":%q,"timestamp":"2025-01-30T10:31:00Z","payload":%s}`, kind, r.name, to, trace, payload)
	if err := r.conn.Write([]wire.Frame{{Kind: wire.KindData, Data: []byte(frame)}}); err != nil {
		r.t.Fatal(err)
	}
}

// ragMessage is what the program reads of a message.
type ragMessage struct {
	Type, Sender, Receiver string
	Trace                  string `json:"trace_id"`
	Payload                struct {
		Code      string `json:"error_code"`
		Text      string `json:"error_message"`
		Field     string
		Response  string
		Query     string
		Reason    string
		AgentID   string `json:"agent_id"`
		Retryable bool   `json:"retry_possible"`
		Original  struct {
			Type  string
			Trace string `json:"trace_id"`
		} `json:"original_request"`
	}
}

// next reads the next message, which must be of that type.
func (r *ragPeer) next(kind string) (m ragMessage) {
	r.t.Helper()
	data, err := r.conn.Read(func(wire.Frame) {})
	if err != nil {
		r.t.Fatal(err)
	}
	if err := json.Unmarshal(data, &m); err != nil || m.Type != kind {
		r.t.Fatalf("want %s, got %s (%v)", kind, data, err)
	}
	return m
}

// register registers the agent, and waits for the answer.
func (r *ragPeer) register(types ...string) {
	r.t.Helper()
	list, _ := json.Marshal(append([]string{}, types...)) // strings always have a JSON form
	r.send("AGENT_REGISTRATION", "System", "ret-reg-001",
		fmt.Sprintf(`{"agent_id":%q,"agent_type":"retrieval","capabilities":["vector search"],"message_types":%s,"status":"active"}`, r.name, list))
	if m := r.next("AGENT_REGISTRATION_RESULT"); m.Payload.AgentID != r.name || m.Trace != "ret-reg-001" {
		r.t.Errorf("registered: %+v", m)
	}
}

var retrieval = p.TaskRequest{TaskType: "retrieval_request", Parameters: p.ContentOf(map[string]any{"query": "KPIs?"})}

const (
	ragChunks = `{"query":"KPIs?","retrieved_chunks":[{"chunk_id":"c1","content":"15%"}],"total_results":1}`
	ragAsk    = `{"user_query":"KPIs?"}`
)

func TestRAGPeerIsAsked(t *testing.T) {
	h := newRAGHub(t)
	peer := h.connect("RetrievalAgent")
	peer.register("RETRIEVAL_REQUEST", "CANCEL")
	h.awaitVisible("RetrievalAgent")
	if e, _ := h.Directory().Lookup("RetrievalAgent"); !e.Capabilities.HasAll([]string{"vector search", "retrieval_request"}) {
		t.Errorf("it has %+v", e.Capabilities)
	}
	type outcome struct {
		result p.InformResult
		err    error
	}
	delegate := func(ctx context.Context) chan outcome {
		done := make(chan outcome, 1)
		go func() {
			r, err := h.Delegate(ctx, "RetrievalAgent", retrieval)
			done <- outcome{r, err}
		}()
		return done
	}

	done := delegate(patience.Context(t))
	request := peer.next("RETRIEVAL_REQUEST")
	if request.Payload.Query != "KPIs?" || !strings.HasPrefix(request.Trace, "ret-") || !strings.HasSuffix(request.Trace, "-001") {
		t.Errorf("asked %+v", request)
	}
	peer.send("RETRIEVAL_RESULT", request.Sender, request.Trace, ragChunks)
	if got := <-done; got.err != nil || !got.result.Details.Equal(p.RawContent(json.RawMessage(ragChunks))) {
		t.Errorf("got %+v", got)
	}

	done = delegate(patience.Context(t))
	request = peer.next("RETRIEVAL_REQUEST")
	peer.send("ERROR_MESSAGE", "System", "err-001",
		fmt.Sprintf(`{"error_code":"VECTOR_SEARCH_FAILED","error_message":"time","original_request":{"type":"RETRIEVAL_REQUEST","trace_id":%q},"retry_possible":true,"suggested_action":"retry"}`, request.Trace))
	if got := <-done; !errors.Is(got.err, p.Code("VECTOR_SEARCH_FAILED")) {
		t.Errorf("got %+v", got)
	}

	ctx, cancel := context.WithCancel(patience.Context(t))
	done = delegate(ctx)
	request = peer.next("RETRIEVAL_REQUEST")
	cancel()
	if m := peer.next("CANCEL"); m.Trace != request.Trace || m.Sender != request.Sender {
		t.Errorf("cancelled %+v, asked %+v", m, request)
	}
	peer.send("INFORM", request.Sender, request.Trace, `{"status":"done"}`)
	var end *codons.EndError
	if got := <-done; !errors.As(got.err, &end) || end.State != "cancelled" {
		t.Errorf("got %+v", got.err)
	}
}

// The result goes to the LLMResponseAgent. The agent that asked is told that its request has ended.
func TestRAGRecruiting(t *testing.T) {
	h := newRAGHub(t)
	got := make(chan *p.Message, 1)
	h.spawn("LLMResponseAgent", always(scripted{receive: func(_ *actors.Context, m *p.Message) { got <- m }}))
	peer := h.connect("RetrievalAgent")
	peer.register("RETRIEVAL_REQUEST")
	ended := make(chan p.InformResult, 1)
	go func() {
		r, err := h.Delegate(patience.Context(t), "RetrievalAgent", retrieval)
		if err != nil {
			t.Error(err)
		}
		ended <- r
	}()
	request := peer.next("RETRIEVAL_REQUEST")
	peer.send("RETRIEVAL_RESULT", "LLMResponseAgent", request.Trace, ragChunks)
	if r := <-ended; r.Status != p.StatusSuccess || !r.Details.IsZero() {
		t.Errorf("the asker has got %+v", r)
	}
	select {
	case m := <-got:
		if r, ok := m.Payload().(p.InformResult); !ok || m.Sender() != "RetrievalAgent" || !r.Details.Equal(p.RawContent(json.RawMessage(ragChunks))) {
			t.Errorf("the LLMResponseAgent has got %+v", m.Envelope())
		}
	case <-patience.Context(t).Done():
		t.Error("the LLMResponseAgent has got nothing")
	}
}

// ragWorker is a worker that answers each task by its summary, fails, or waits for its end.
type ragWorker struct{ working }

func (a ragWorker) PerformTask(ctx context.Context, _ delegation.Task) (p.InformResult, error) {
	return p.InformResult{Status: p.StatusSuccess, Summary: "15%"}, a.working(ctx)
}

func TestRAGPeerAsks(t *testing.T) {
	h := newRAGHub(t)
	began, ended := make(chan struct{}, 1), make(chan struct{}, 1)
	for name, work := range map[p.AgentID]working{
		"LLMResponseAgent": func(context.Context) error { return nil },
		"Faulty":           func(context.Context) error { return &p.Refusal{Code: p.CodeTimeout, Text: "no model"} },
		"Endless": func(ctx context.Context) error {
			began <- struct{}{}
			<-ctx.Done()
			ended <- struct{}{}
			return ctx.Err()
		},
	} {
		h.spawn(name, func() actors.Agent { return ragWorker{work} })
	}
	peer := h.connect("System") // the coordinator of the text
	const trace = "llm-rag-conversation-123-003"
	peer.send("RESPONSE_REQUEST", "LLMResponseAgent", trace, ragAsk)
	if m := peer.next("RESPONSE_RESULT"); m.Payload.Response != "15%" || m.Trace != trace || m.Receiver != "System" || m.Sender != "LLMResponseAgent" {
		t.Errorf("answered by %+v", m)
	}
	fails := func(to, payload, code, field string) {
		t.Helper()
		peer.send("RESPONSE_REQUEST", to, trace, payload)
		m := peer.next("ERROR_MESSAGE")
		if m.Payload.Code != code || m.Payload.Field != field || m.Payload.Original.Trace != trace || !strings.HasPrefix(m.Trace, "err-rag-conversation-123-") {
			t.Errorf("refused by %+v", m)
		}
	}
	fails("Faulty", ragAsk, "TIMEOUT", "")
	fails("Nobody", ragAsk, "AGENT_NOT_FOUND", "")
	fails("LLMResponseAgent", `{"user_query":7}`, "INVALID_MESSAGE", "payload.user_query")

	worker := h.connect("Worker")
	worker.register("TASK_ACCEPT")
	worker.send("RESPONSE_REQUEST", "Endless", "llm-c-001", ragAsk)
	worker.next("TASK_ACCEPT")
	<-began
	worker.send("CANCEL", "Endless", "llm-c-001", `{}`)
	if m := worker.next("INFORM"); m.Trace != "llm-c-001" {
		t.Errorf("receipt %+v", m)
	}
	select {
	case <-ended:
	default:
		t.Error("the receipt has come before the end of the work")
	}
	peer.send("RESPONSE_REQUEST", "LLMResponseAgent", "llm-rag-conversation-123-004", ragAsk)
	peer.next("RESPONSE_RESULT") // the session goes on
}

// Ten requests of one conversation are under way at once, and each has its answer.
func TestRAGRequestsAtOnce(t *testing.T) {
	h := newRAGHub(t)
	release := make(chan struct{})
	h.spawn("LLMResponseAgent", func() actors.Agent {
		return ragWorker{func(context.Context) error { <-release; return nil }}
	})
	peer := h.connect("UI")
	open := make(map[string]bool)
	for i := range 10 {
		trace := fmt.Sprintf("llm-conversation-%03d", i+1)
		open[trace] = true
		peer.send("RESPONSE_REQUEST", "LLMResponseAgent", trace, ragAsk)
	}
	close(release)
	for range 10 {
		m := peer.next("RESPONSE_RESULT")
		if !open[m.Trace] {
			t.Errorf("answered again: %+v", m)
		}
		delete(open, m.Trace)
	}
}

// The pipeline of the text, of peers only: System asks the RetrievalAgent, whose result goes to the
// LLMResponseAgent; its response goes to System. System is told that its first request has ended, too.
func TestRAGPipeline(t *testing.T) {
	h := newRAGHub(t)
	retriever, responder, ui := h.connect("RetrievalAgent"), h.connect("LLMResponseAgent"), h.connect("System")
	retriever.register("RETRIEVAL_REQUEST")
	responder.register("RESPONSE_REQUEST", "RETRIEVAL_RESULT")
	const found, said = "ret-rag-conversation-123-002", "llm-rag-conversation-123-003"
	ui.send("RETRIEVAL_REQUEST", "RetrievalAgent", found, `{"query":"KPIs?"}`)
	request := retriever.next("RETRIEVAL_REQUEST")
	retriever.send("RETRIEVAL_RESULT", "LLMResponseAgent", request.Trace, ragChunks)
	if m := responder.next("RETRIEVAL_RESULT"); m.Trace != found || m.Sender != "RetrievalAgent" || m.Payload.Query != "KPIs?" {
		t.Errorf("the responder has got %+v", m)
	}
	if m := ui.next("RETRIEVAL_RESULT"); m.Trace != found {
		t.Errorf("the UI is told %+v", m)
	}
	ui.send("RESPONSE_REQUEST", "LLMResponseAgent", said, ragAsk)
	request = responder.next("RESPONSE_REQUEST")
	responder.send("RESPONSE_RESULT", "System", request.Trace, `{"response":"15%"}`)
	if m := ui.next("RESPONSE_RESULT"); m.Trace != said || m.Receiver != "System" || m.Payload.Response != "15%" {
		t.Errorf("the UI has got %+v", m)
	}
}

// An agent is found by others while its status is active.
func TestRAGStatus(t *testing.T) {
	h := newRAGHub(t)
	peer := h.connect("RetrievalAgent")
	peer.register("RETRIEVAL_REQUEST")
	for _, status := range []string{"active", "error", "error", "active", "inactive"} {
		peer.send("AGENT_STATUS", "System", "ret-health-001", fmt.Sprintf(`{"agent_id":"RetrievalAgent","status":%q,"messages_processed":1547}`, status))
		peer.send("RESPONSE_REQUEST", "Nobody", "llm-c-001", ragAsk)
		peer.next("ERROR_MESSAGE") // the status has had no answer, and has been read before this request
		if found := slices.Contains(h.Directory().IDs(), "RetrievalAgent"); found != (status == "active") {
			t.Errorf("%s: found %v", status, found)
		}
	}
}

// The namespace system tells the health of agents: what those of sessions report of themselves, and
// who there is.
func TestRAGHealth(t *testing.T) {
	h := newRAGHub(t)
	h.spawn("LLMResponseAgent", func() actors.Agent { return ragWorker{func(context.Context) error { return nil }} })
	peer := h.connect("RetrievalAgent")
	peer.register("RETRIEVAL_REQUEST")
	health := func(sent string) (m ragHealth) {
		t.Helper()
		peer.send("AGENT_STATUS_REQUEST", "System", "ret-ask-001", sent)
		return peer.health()
	}
	if m := health(`{"agent_id":"RetrievalAgent"}`); m.Type != "AGENT_STATUS_RESULT" || m.Trace != "ret-ask-001" || m.Payload.Status != "active" || m.Payload.Heartbeat.IsZero() {
		t.Errorf("registered: %+v", m)
	}
	for i, status := range []string{"active", "error"} {
		peer.send("AGENT_STATUS", "System", "ret-health-001",
			fmt.Sprintf(`{"agent_id":"RetrievalAgent","status":%q,"messages_processed":%d,"average_response_time_ms":250,"error_rate":0.02}`, status, 1547+i))
		want := ragFigures{"RetrievalAgent", status, time.Time{}, 1547 + i, 250, 0.02, time.Time{}}
		got := health(fmt.Sprintf(`{"agent_id":"retrievalagent","n":%d}`, i)).Payload.ragFigures // without n, it would be the same message again
		if got.Heartbeat.IsZero() {
			t.Error("no heartbeat")
		}
		if got.Heartbeat = (time.Time{}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	peer.send("AGENT_STATUS", "System", "ret-health-001", `{"agent_id":"RetrievalAgent","status":"error","messages_processed":9,"average_response_time_ms":-5}`)
	if m := health(`{"agent_id":"RetrievalAgent","n":"negative"}`); m.Payload.Processed != 9 || m.Payload.Millis != 0 {
		t.Errorf("with a time below zero: %+v", m)
	}
	if m := health(`{"agent_id":"LLMResponseAgent"}`); m.Payload.Status != "active" || m.Payload.Processed != 0 || !m.Payload.Since.IsZero() {
		t.Errorf("of an agent in Go: %+v", m)
	}
	if m := health(`{}`); len(m.Payload.Agents) != 1 || m.Payload.Agents[0].Agent != "LLMResponseAgent" { // one in error is not found
		t.Errorf("of all: %+v", m)
	}
	for sent, code := range map[string]string{`{"agent_id":"Nobody"}`: "AGENT_NOT_FOUND", `{"agent_id":7}`: "INVALID_MESSAGE"} {
		peer.send("AGENT_STATUS_REQUEST", "System", "ret-ask-001", sent)
		if m := peer.next("ERROR_MESSAGE"); m.Payload.Code != code || m.Payload.Original.Type != "AGENT_STATUS_REQUEST" {
			t.Errorf("%s: %+v", sent, m)
		}
	}
}

// PeerOptions.Health is asked of agents only, also when a peer asks for the health of all.
func TestHealthIsAskedOfAgents(t *testing.T) {
	asked := make(chan p.AgentID, 2)
	h := newHub(t, runtime.PeerOptions{Health: func(id p.AgentID) (runtime.Health, bool) {
		asked <- id
		return runtime.Health{Agent: id}, true
	}}, func(o *wire.Options) { o.Dialects = []wire.Dialect{rag.Dialect{}} })
	h.spawn("LLMResponseAgent", func() actors.Agent { return ragWorker{func(context.Context) error { return nil }} })
	peer := (&ragHub{h, serve(t, overWS, h.server)}).connect("RetrievalAgent")
	peer.send("AGENT_STATUS_REQUEST", "System", "ret-ask-001", `{}`)
	if m := peer.health(); len(m.Payload.Agents) != 1 || len(asked) != 1 || <-asked != "LLMResponseAgent" {
		t.Errorf("of all: %+v", m)
	}
}

// ragFigures is the object of Agent Health Monitoring.
type ragFigures struct {
	Agent     string    `json:"agent_id"`
	Status    string    `json:"status"`
	Heartbeat time.Time `json:"last_heartbeat"`
	Processed int       `json:"messages_processed"`
	Millis    float64   `json:"average_response_time_ms"`
	Errors    float64   `json:"error_rate"`
	Since     time.Time `json:"counted_since"`
}

type ragHealth struct {
	Type    string
	Trace   string `json:"trace_id"`
	Payload struct {
		ragFigures
		Agents []ragFigures
	}
}

func (r *ragPeer) health() (m ragHealth) {
	r.t.Helper()
	data, err := r.conn.Read(func(wire.Frame) {})
	if err != nil {
		r.t.Fatal(err)
	}
	if err := json.Unmarshal(data, &m); err != nil || m.Type != "AGENT_STATUS_RESULT" {
		r.t.Fatalf("got %s (%v)", data, err)
	}
	return m
}

// A heartbeat that changes nothing announces nothing, and one that does is announced once.
func TestRAGHeartbeatsAreQuiet(t *testing.T) {
	h := newRAGHub(t)
	announced := h.Events().Subscribe(events.SubscribeOptions{Kinds: []events.Kind{events.KindAgentAnnounced}})
	defer announced.Close()
	peer := h.connect("RetrievalAgent")
	peer.register("RETRIEVAL_REQUEST")
	for i, status := range []string{"active", "active", "error", "error", "active"} {
		peer.send("AGENT_STATUS", "System", "ret-health-001", fmt.Sprintf(`{"agent_id":"RetrievalAgent","status":%q,"messages_processed":%d}`, status, i))
	}
	peer.send("RESPONSE_REQUEST", "Nobody", "llm-c-001", ragAsk)
	peer.next("ERROR_MESSAGE")
	if n := len(announced.C); n != 3 {
		t.Errorf("%d announcements, want one by the registration, one by the error and one by its end", n)
	}
}
