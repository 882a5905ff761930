package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/approval"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/internal/leakcheck"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/runtime/observe"
	"github.com/ribosome-agents/ribosome/runtime/observe/api"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/auth"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// worker is an agent that works until its context ends.
type worker struct{ begun chan struct{} }

func (worker) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"Work"}}
}

func (worker) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

func (w worker) PerformTask(ctx context.Context, _ delegation.Task) (performatives.InformResult, error) {
	w.begun <- struct{}{}
	<-ctx.Done()
	return performatives.InformResult{}, context.Cause(ctx)
}

// serve starts a node with a worker and its handler.
func serve(t *testing.T, change func(*api.Options)) (*runtime.Node, *served, worker) {
	t.Helper()
	n, err := runtime.New(runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Stop(context.Background()) })
	r, err := observe.New(n, observe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	o := api.Options{Node: n, Recorder: r}
	if change != nil {
		change(&o)
	}
	h, err := api.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	w := worker{make(chan struct{}, 8)}
	if err := n.Spawn(patience.Context(t), "w", func() actors.Agent { return w }); err != nil {
		t.Fatal(err)
	}
	return n, &served{h, checked(t, h)}, w
}

// served is a handler whose answers are checked.
type served struct {
	*api.Handler
	checked http.Handler
}

func (s *served) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.checked.ServeHTTP(w, r) }

// ask sends a request of a client of this machine.
func ask(h http.Handler, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host, r.RemoteAddr = "127.0.0.1:8080", "127.0.0.1:5000"
	for i := 0; i < len(headers); i += 2 {
		if r.Header.Set(headers[i], headers[i+1]); headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func read[T any](t *testing.T, h http.Handler, path string) (v T) {
	t.Helper()
	w := ask(h, "GET", path, "")
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s %v", path, w.Code, w.Body, err)
	}
	return v
}

const jsonType = "application/json"

type conversation struct {
	ID       string           `json:"conversation_id"`
	From     string           `json:"from"`
	To       string           `json:"to"`
	Parent   string           `json:"parent_conversation_id"`
	Began    string           `json:"began"`
	Live     bool             `json:"live"`
	Lost     string           `json:"lost"`
	Sides    []map[string]any `json:"sides"`
	Messages []map[string]any `json:"messages"`
	Children []string         `json:"children"`
	Next     []struct {
		Agent string   `json:"agent"`
		Role  string   `json:"role"`
		Moves []string `json:"moves"`
	} `json:"next_moves"`
}

type list struct {
	Conversations []conversation `json:"conversations"`
	Next          string         `json:"next"`
}

// delegate begins a delegation to the worker, and returns when its work has begun.
func delegate(t *testing.T, n *runtime.Node, w worker, task performatives.TaskRequest, opts ...codons.Option) <-chan error {
	result := make(chan error, 1)
	go func() {
		_, err := n.Delegate(patience.Context(t), "w", task, opts...)
		result <- err
	}()
	<-w.begun
	return result
}

// awaitEnd waits until no side of a conversation is under way on a node. A responder's side ends a
// little after it has sent its last message.
func awaitEnd(t *testing.T, n *runtime.Node, id performatives.ConversationID) {
	t.Helper()
	ends := n.Events().Subscribe(events.SubscribeOptions{Kinds: []events.Kind{lifecycle.KindEnded}})
	defer ends.Close()
	for len(n.Conversation(id)) > 0 {
		if _, err := ends.Next(patience.Context(t)); err != nil {
			t.Fatal(err)
		}
	}
}

// The next moves of a node alone are in the order of those of a cluster, by role and agent, and not
// in that in which the sides began. So are the children, by id.
func TestOrderOfNextMovesAndChildren(t *testing.T) {
	n, h, w := serve(t, nil)
	if err := n.Spawn(patience.Context(t), "v", func() actors.Agent { return w }); err != nil {
		t.Fatal(err)
	}
	for _, id := range []performatives.AgentID{"w", "v"} {
		d, err := delegation.Start(patience.Context(t), n, id, performatives.TaskRequest{TaskType: "x", Description: "x"}, codons.WithConversation("c"))
		if err != nil {
			t.Fatal(err)
		}
		<-w.begun
		defer func() {
			d.Cancel()
			_, _ = d.Wait() // it is cancelled
		}()
	}
	for i, id := range []performatives.ConversationID{"c-a", "c-b"} {
		m, err := performatives.New(performatives.Envelope{
			ID: performatives.NewID(), Performative: performatives.ActInform, Sender: "a", Receiver: "b", ConversationID: id, Timestamp: time.Unix(int64(i), 0),
			Metadata: performatives.Members{"parent_conversation_id": json.RawMessage(`"c"`)},
		})
		if err != nil {
			t.Fatal(err)
		}
		n.Events().Publish(events.MessageSent{At: events.At{Time: m.Timestamp()}, Message: m})
	}
	c := read[conversation](t, h, "/api/conversations/c")
	var got, sides []string
	for _, next := range c.Next {
		got = append(got, next.Role+" "+next.Agent)
	}
	for _, s := range c.Sides {
		sides = append(sides, fmt.Sprint(s["role"], " ", s["agent"]))
	}
	if !slices.IsSorted(got) || len(got) != 4 || slices.Equal(got, sides) {
		t.Errorf("the next moves are of %q, the sides of %q", got, sides)
	}
	if !slices.Equal(c.Children, []string{"c-a", "c-b"}) {
		t.Errorf("the children are %q", c.Children)
	}
}

// A conversation is listed, shown with its legal moves, and cancelled with a receipt; no secret is
// in any answer.
func TestConversationSeenAndCancelled(t *testing.T) {
	n, h, w := serve(t, nil)
	published := n.Events().Subscribe(events.SubscribeOptions{Kinds: []events.Kind{observe.KindOperatorActed}})
	defer published.Close()
	result := delegate(t, n, w, performatives.TaskRequest{
		TaskType: "work", Description: "<script>dig</script>", Parameters: performatives.ContentOf(map[string]any{"api_key": "canary", "path": "visible"}),
	})
	all := read[list](t, h, "/api/conversations?live=true&agent=W&text=VISIBLE&act=TASK_REQUEST")
	if len(all.Conversations) != 1 || !all.Conversations[0].Live || all.Next != "" {
		t.Fatalf("%+v", all)
	}
	id := all.Conversations[0].ID
	c := read[conversation](t, h, "/api/conversations/"+id)
	if len(c.Sides) != 2 || len(c.Next) != 2 || len(c.Next[0].Moves) == 0 || len(c.Messages) == 0 || c.Children == nil {
		t.Errorf("%+v", c)
	}
	for _, filters := range []string{"live=false", "agent=other", "codon=other", "state=other", "act=CFP", "text=canary", "parent=x"} {
		if l := read[list](t, h, "/api/conversations?"+filters); len(l.Conversations) != 0 {
			t.Errorf("%s: %+v", filters, l)
		}
	}
	for _, path := range []string{"/api/conversations", "/api/conversations/" + id, "/api/node", "/api/agents", "/api/members"} {
		if body := ask(h, "GET", path, "").Body.String(); strings.Contains(body, "canary") || strings.Contains(body, "<") {
			t.Errorf("%s: %s", path, body)
		}
	}
	got := ask(h, "POST", "/api/conversations/"+id+"/cancel", `{"reason":"wrong file"}`, "Content-Type", jsonType)
	if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), `"receipt"`) {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if err := <-result; err == nil || !strings.Contains(err.Error(), "an operator has stopped the work: wrong file") {
		t.Errorf("got %v", err)
	}
	awaitEnd(t, n, performatives.ConversationID(id))
	if body := ask(h, "GET", "/api/conversations/"+id, "").Body.String(); !strings.Contains(body, `"reason":"an operator has stopped the work: wrong file"`) || !strings.Contains(body, `"what":"cancel","reason":"wrong file","result":"receipt"`) {
		t.Errorf("neither the CANCEL nor the record has the reason: %s", body)
	}
	if got := ask(h, "POST", "/api/conversations/"+id+"/cancel", "", "Content-Type", jsonType); !strings.Contains(got.Body.String(), "already_ended") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	for _, outcome := range []string{"receipt", "already_ended"} {
		act, _ := actedOn(t, published)
		if act.What != "cancel" || act.Of != id || act.Outcome != outcome || act.Host != "127.0.0.1" || act.Time.IsZero() {
			t.Errorf("%+v, want %s", act, outcome)
		}
	}
}

// actedOn returns the next act of an operator that was published, and whether there are more.
func actedOn(t *testing.T, published *events.Subscription) (act observe.OperatorActed, more bool) {
	t.Helper()
	record, err := published.Next(patience.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	return record.Event.(observe.OperatorActed), len(published.C) > 0
}

// Pages have each conversation once, in order.
func TestPages(t *testing.T) {
	n, h, _ := serve(t, nil)
	for _, id := range []string{"c1", "c2", "c3", "c", "d"} {
		n.Events().Publish(lifecycle.Ended{At: events.At{Time: time.Unix(1, 0)}, Subject: &lifecycle.Subject{Conversation: performatives.ConversationID(id), Agent: "a"}, State: "done"})
	}
	var ids []string
	for cursor := ""; ; {
		p := read[list](t, h, "/api/conversations?limit=2&cursor="+cursor)
		for _, c := range p.Conversations {
			ids = append(ids, c.ID)
		}
		if cursor = p.Next; cursor == "" {
			break
		}
	}
	if got := strings.Join(ids, " "); got != "c c1 c2 c3 d" {
		t.Error(got)
	}
}

// Requests from elsewhere, of pages of other sites, and with wrong arguments are refused.
func TestRefused(t *testing.T) {
	_, h, _ := serve(t, nil)
	for _, test := range []struct {
		name, method, path, body string
		headers                  []string
		code                     int
		want                     string
	}{
		{"rebound name", "GET", "/api/node", "", []string{"Host", "evil.example:8080"}, 403, `"host"`},
		{"rebound name of health", "GET", "/healthz", "", []string{"Host", "127.0.0.1.evil.example"}, 403, `"host"`},
		{"localhost", "GET", "/api/node", "", []string{"Host", "localhost:8080"}, 200, ""},
		{"ipv6", "GET", "/api/node", "", []string{"Host", "[::1]:8080"}, 200, ""},
		{"page of another site", "GET", "/api/node", "", []string{"Origin", "http://evil.example"}, 403, `"origin"`},
		{"page without an origin", "GET", "/api/node", "", []string{"Origin", "null"}, 403, `"origin"`},
		{"own page", "GET", "/api/node", "", []string{"Origin", "http://127.0.0.1:8080"}, 200, ""},
		{"form", "POST", "/api/conversations/x/cancel", "", []string{"Content-Type", "text/plain"}, 415, `"content_type"`},
		{"cross-site", "POST", "/api/conversations/x/cancel", "", []string{"Content-Type", jsonType, "Sec-Fetch-Site", "cross-site"}, 403, `"origin"`},
		{"unknown cancelled", "POST", "/api/conversations/x/cancel", "", []string{"Content-Type", jsonType}, 404, "unknown_conversation"},
		{"unknown", "GET", "/api/conversations/x", "", nil, 404, "unknown_conversation"},
		{"limit", "GET", "/api/conversations?limit=0", "", nil, 400, `"limit"`},
		{"cursor", "GET", "/api/conversations?cursor=%25", "", nil, 400, `"cursor"`},
		{"live", "GET", "/api/conversations?live=maybe", "", nil, 400, `"live"`},
		{"codon", "GET", "/api/codons/x", "", nil, 404, "unknown_codon"},
		{"decision", "POST", "/api/approvals/1", "yes", []string{"Content-Type", jsonType}, 400, `"body"`},
		{"decision of nothing", "POST", "/api/approvals/1", "{}", []string{"Content-Type", jsonType}, 400, "approve is missing"},
		{"decision of null", "POST", "/api/approvals/1", "null", []string{"Content-Type", jsonType}, 400, "approve is missing"},
		{"two decisions", "POST", "/api/approvals/1", `{"approve":false,"approve":true}`, []string{"Content-Type", jsonType}, 400, "approve: the member occurs twice"},
		{"two bodies", "POST", "/api/approvals/1", `{"approve":false}{"approve":true}`, []string{"Content-Type", jsonType}, 400, "after top-level value"},
		{"decision in another case", "POST", "/api/approvals/1", `{"approve":false,"Approve":true}`, []string{"Content-Type", jsonType}, 400, `Approve: the name of this member is written \"approve\"`},
		{"no step", "POST", "/api/approvals/1", `{"approve":true}`, []string{"Content-Type", jsonType}, 404, "not_open"},
		{"wrong method", "DELETE", "/api/conversations/x", "", nil, 405, "takes GET requests only"},
		{"wrong method of an act", "GET", "/api/conversations/x/cancel", "", nil, 405, "takes POST requests only"},
		{"wrong method of health", "POST", "/healthz", "", nil, 405, `"method"`},
		{"wrong path", "POST", "/api/nothing", "", nil, 404, `"not_found"`},
		{"dots", "GET", "/api/conversations/..", "", nil, 400, `"path"`},
		{"dots of an act", "POST", "/api/conversations/../cancel", "", []string{"Content-Type", jsonType}, 400, `"path"`},
		{"a dot", "GET", "/api/conversations/./", "", nil, 400, `"path"`},
		{"an empty part", "GET", "/api/conversations//cancel", "", nil, 400, `"path"`},
		{"escaped dots", "GET", "/api/conversations/%2E%2E", "", nil, 404, "unknown_conversation"},
		{"no metrics", "GET", "/metrics", "", nil, 404, "not_found"},
		{"no console", "GET", "/console", "", nil, 404, "not_found"},
		{"known codon", "GET", "/api/codons/task-delegation", "", nil, 200, "stateDiagram"},
		{"health", "GET", "/healthz", "", nil, 200, `"ok"`},
		{"ready", "GET", "/readyz", "", nil, 200, `"ready"`},
	} {
		got := ask(h, test.method, test.path, test.body, test.headers...)
		if got.Code != test.code || !strings.Contains(got.Body.String(), test.want) {
			t.Errorf("%s: %d %s", test.name, got.Code, got.Body)
		}
		if want := map[bool]string{true: "GET, HEAD", false: "POST"}[strings.Contains(test.want, "GET")]; strings.Contains(test.want, "requests only") && got.Header().Get("Allow") != want {
			t.Errorf("%s: %v", test.name, got.Header())
		}
		if got.Header().Get("X-Content-Type-Options") != "nosniff" || strings.Contains(got.Header().Get("Content-Security-Policy"), "unsafe") {
			t.Errorf("%s: %v", test.name, got.Header())
		}
	}
	r := httptest.NewRequest("GET", "/api/node", nil)
	r.Host, r.RemoteAddr = "127.0.0.1", "192.0.2.1:5000"
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != 403 {
		t.Errorf("another machine: %d", w.Code)
	}
}

// Reading and acting are rights of their own.
func TestRights(t *testing.T) {
	const reader, actor = "reader-0123456789abcdefg", "actor-0123456789abcdefgh"
	known, err := auth.Tokens([]auth.Token{{Value: reader, Name: "ann"}, {Value: actor, Name: "bob"}})
	if err != nil {
		t.Fatal(err)
	}
	permits, err := auth.Rules{{Agent: "ann", Operator: []auth.Right{auth.RightRead}}, {Agent: "bob", Operator: []auth.Right{auth.RightAct}}}.Operator()
	if err != nil {
		t.Fatal(err)
	}
	n, h, _ := serve(t, func(o *api.Options) {
		o.Auth, o.Permits = known, permits
		o.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("up 1")) })
	})
	published := n.Events().Subscribe(events.SubscribeOptions{Kinds: []events.Kind{observe.KindOperatorActed}})
	defer published.Close()
	for _, test := range []struct {
		token       string
		read, write int
	}{{"", 401, 401}, {"unknown-0123456789abcdefgh", 401, 401}, {reader, 200, 403}, {actor, 403, 404}} {
		headers := []string{"Content-Type", jsonType, "Host", "node.example"}
		if test.token != "" {
			headers = append(headers, "Authorization", "Bearer "+test.token)
		}
		for _, path := range []string{"/api/node", "/api/agents", "/api/approvals", "/metrics"} {
			if got := ask(h, "GET", path, "", headers...); got.Code != test.read || strings.Contains(got.Body.String(), "0123456789") {
				t.Errorf("%s with %q: %d %s", path, test.token, got.Code, got.Body)
			}
		}
		if got := ask(h, "POST", "/api/conversations/x/cancel", "", headers...); got.Code != test.write {
			t.Errorf("cancel with %q: %d %s", test.token, got.Code, got.Body)
		}
	}
	if act, more := actedOn(t, published); act.Who != "bob" || more {
		t.Errorf("%+v, and more is %v", act, more)
	}
	if got := ask(h, "GET", "/api/node?token="+reader, "", "Cookie", "token="+reader); got.Code != 401 {
		t.Errorf("a token outside of the header: %d", got.Code)
	}
}

// Without authentication, everyone on this machine has the rights that Permits gives the identity
// without a name.
func TestRightsWithoutAuthentication(t *testing.T) {
	_, h, _ := serve(t, func(o *api.Options) {
		o.Permits = func(who wire.Identity, right auth.Right) bool { return who.Name == "" && right == auth.RightRead }
	})
	if got := ask(h, "GET", "/api/node", ""); got.Code != http.StatusOK {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	got := ask(h, "POST", "/api/conversations/x/cancel", "", "Content-Type", jsonType)
	if got.Code != http.StatusForbidden || !strings.Contains(got.Body.String(), "without authentication nobody has the right to act here") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

// An operator sees a step, masked, and decides it.
func TestApproval(t *testing.T) {
	queue := &approval.Queue{}
	n, h, _ := serve(t, func(o *api.Options) { o.Approvals = queue })
	if err := n.Spawn(patience.Context(t), "boss", func() actors.Agent { return queue }); err != nil {
		t.Fatal(err)
	}
	published := n.Events().Subscribe(events.SubscribeOptions{Kinds: []events.Kind{observe.KindOperatorActed}})
	defer published.Close()
	verdict := make(chan approval.Approval, 1)
	go func() {
		v, _ := approval.Approve(patience.Context(t), n, "boss", approval.Step{What: "deploy", Data: performatives.ContentOf(map[string]string{"token": "canary"})})
		verdict <- v
	}()
	step, err := queue.Next(patience.Context(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := ask(h, "GET", "/api/approvals", "").Body.String(); !strings.Contains(got, "deploy") || strings.Contains(got, "canary") || !strings.Contains(got, `"conversation_id":"`+string(step.Conversation)+`"`) {
		t.Error(got)
	}
	if c := read[conversation](t, h, "/api/conversations/"+string(step.Conversation)); len(c.Sides) != 2 {
		t.Errorf("the step is of %+v", c)
	}
	if got := ask(h, "POST", "/api/approvals/1", `{"approve":true,"reason":"fine"}`, "Content-Type", jsonType); got.Code != 200 {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if v := <-verdict; !v.Approved || v.Reason != "fine" {
		t.Errorf("%+v", v)
	}
	if act, _ := actedOn(t, published); act.What != "approve" || act.Of != "1" || act.Outcome != "decided" || act.Agent != step.From || act.Conversation != step.Conversation || step.From == "" {
		t.Errorf("%+v", act)
	}
	for number, outcome := range map[string]string{"1": "not_open", "x": "not_open"} {
		if got := ask(h, "POST", "/api/approvals/"+number, `{"approve":false}`, "Content-Type", jsonType); got.Code != http.StatusNotFound {
			t.Errorf("%d %s", got.Code, got.Body)
		}
		if act, _ := actedOn(t, published); act.What != "deny" || act.Of != number || act.Outcome != outcome || act.Conversation != "" {
			t.Errorf("%+v", act)
		}
	}
}

// streamOf reads the stream of events with that query. It has subscribed.
func streamOf(t *testing.T, server *httptest.Server, query string) *bufio.Scanner {
	t.Helper()
	r, err := http.NewRequestWithContext(patience.Context(t), http.MethodGet, server.URL+"/api/events?"+query, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	got, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = got.Body.Close() })
	lines := bufio.NewScanner(got.Body)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), ": events of") {
		t.Fatalf("%q", lines.Text())
	}
	return lines
}

// A reader of events hears of the end of a side that took no step to it: its actor failed.
func TestEventsOfEnds(t *testing.T) {
	n, h, _ := serve(t, nil)
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	lines := streamOf(t, server, "conversation=c")
	for _, id := range []performatives.ConversationID{"other", "c"} {
		n.Events().Publish(lifecycle.Ended{At: events.At{Time: time.Now()}, Subject: &lifecycle.Subject{Conversation: id, Agent: "a"}, State: standard.StateAbandoned})
	}
	var text strings.Builder
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "data: ") {
		text.WriteString(lines.Text() + "\n")
	}
	if data := lines.Text(); !strings.Contains(text.String(), "event: conversation.ended") || !strings.Contains(data, `"conversation_id":"c"`) || !strings.Contains(data, `"state":"abandoned"`) {
		t.Errorf("%s%s", text.String(), data)
	}
	h.Close()
}

// A stream has the messages that its filter selects, masked, and ends with the handler.
func TestEvents(t *testing.T) {
	n, h, w := serve(t, nil)
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	lines := streamOf(t, server, "act=TASK_REQUEST&agent=w")
	ctx, cancel := context.WithCancel(patience.Context(t))
	go func() {
		_, _ = n.Delegate(ctx, "w", performatives.TaskRequest{TaskType: "work", Parameters: performatives.ContentOf(map[string]string{"password": "canary", "text": "a\nb"})})
	}()
	<-w.begun
	cancel()
	var first []string
	for lines.Scan() {
		if first = append(first, lines.Text()); len(first) == 5 {
			h.Close()
		}
	}
	if text := strings.Join(first, "\n"); !strings.Contains(text, "event: message.sent\nid: ") || !strings.Contains(text, `"***"`) ||
		strings.Contains(text, "canary") || strings.Contains(text, "conversation.transition") || strings.Contains(text, "CANCEL\"") {
		t.Error(text)
	}
}
