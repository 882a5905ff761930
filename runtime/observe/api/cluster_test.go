package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/cluster/membership"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/approval"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/notify"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/runtime/observe"
	"github.com/ribosome-agents/ribosome/runtime/observe/api"
	"github.com/ribosome-agents/ribosome/wire/auth"
)

// town is two nodes of a cluster, n1 and n2, each with an operator's interface on a socket. The
// worker is on n2.
type town struct {
	t       *testing.T
	nodes   [2]*runtime.Node
	servers [2]*httptest.Server
	peers   []api.Peer // those that the nodes know; changed between two requests
	worker  worker
}

func newTown(t *testing.T, change func(i int, o *api.Options)) *town {
	t.Helper()
	t.Parallel()
	c := &town{t: t, worker: worker{make(chan struct{}, 8)}}
	for i := range c.nodes {
		o := runtime.ClusterOptions{Gossip: "127.0.0.1:0", Profile: membership.WAN}
		if i > 0 {
			o.Join = []string{c.nodes[0].Members()[0].Gossip}
		}
		n, err := runtime.New(runtime.Options{Name: fmt.Sprint("n", i+1), Cluster: &o})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = n.Stop(context.Background()) })
		r, err := observe.New(n, observe.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.Close)
		options := api.Options{Node: n, Recorder: r, Peers: func() []api.Peer {
			return slices.DeleteFunc(slices.Clone(c.peers), func(p api.Peer) bool { return p.Node == n.Name() })
		}}
		if change != nil {
			change(i, &options)
		}
		h, err := api.New(options)
		if err != nil {
			t.Fatal(err)
		}
		c.nodes[i], c.servers[i] = n, httptest.NewServer(checked(t, h))
		t.Cleanup(func() {
			h.Close()
			c.servers[i].Close()
		})
		c.peers = append(c.peers, api.Peer{Node: n.Name(), URL: c.servers[i].URL})
	}
	heard := c.nodes[0].Events().Subscribe(events.SubscribeOptions{Kinds: []events.Kind{events.KindAgentAnnounced, events.KindAgentStarted, runtime.KindMemberLinked}})
	defer heard.Close()
	if err := c.nodes[1].Spawn(patience.Context(t), "w", func() actors.Agent { return c.worker }); err != nil {
		t.Fatal(err)
	}
	for known := false; !known; {
		if _, known = c.nodes[0].System().Find("w"); !known {
			if _, err := heard.Next(patience.Context(t)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return c
}

// ask sends a request to n1.
func (c *town) ask(method, path, body string, headers ...string) (int, string) {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.servers[0].URL+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	a, err := c.servers[0].Client().Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = a.Body.Close() }()
	var text strings.Builder
	if _, err := bufio.NewReader(a.Body).WriteTo(&text); err != nil {
		c.t.Fatal(err)
	}
	return a.StatusCode, text.String()
}

type absent struct {
	Node string `json:"node"`
	Why  string `json:"why"`
}

type missing struct {
	Missing []absent `json:"missing"`
}

func view[T any](c *town, path string, headers ...string) (v T) {
	c.t.Helper()
	code, text := c.ask("GET", path, "", headers...)
	if err := json.Unmarshal([]byte(text), &v); err != nil || code != http.StatusOK {
		c.t.Fatalf("%s: %d %s %v", path, code, text, err)
	}
	return v
}

// delegate has a client of n1 delegate a task to the worker on n2, and returns when the work has
// begun.
func (c *town) delegate() (performatives.ConversationID, <-chan error) {
	c.t.Helper()
	begun := c.nodes[0].Events().Subscribe(events.SubscribeOptions{Kinds: []events.Kind{lifecycle.KindBegan}})
	defer begun.Close()
	result := delegate(c.t, c.nodes[0], c.worker, performatives.TaskRequest{TaskType: "work", Description: "dig"})
	r, err := begun.Next(patience.Context(c.t))
	if err != nil {
		c.t.Fatal(err)
	}
	return r.Event.(lifecycle.Began).Conversation, result
}

// Both nodes' sides and messages are in one view, the live data of an agent come from its node, and
// a conversation is cancelled by whichever node is asked.
func TestViewsOfTwoNodes(t *testing.T) {
	c := newTown(t, nil)
	id, result := c.delegate()
	agents := view[struct {
		missing
		Agents []struct {
			ID            string         `json:"agent"`
			Node          string         `json:"node"`
			Queued        map[string]int `json:"queued"`
			Conversations int            `json:"conversations"`
			Health        struct {
				Agent     string `json:"agent_id"`
				Processed int    `json:"messages_processed"`
			} `json:"health"`
		} `json:"agents"`
	}](c, "/api/agents")
	found := false
	for _, a := range agents.Agents {
		if a.ID == "w" {
			found = a.Node == "n2" && len(a.Queued) == 4 && a.Conversations == 1 && a.Health.Agent == "w" && a.Health.Processed >= 1
		}
	}
	if !found || len(agents.Missing) > 0 {
		t.Errorf("the agents are %+v", agents)
	}
	type nodes struct {
		missing
		Nodes []struct {
			Node    string `json:"node"`
			Open    int    `json:"open_conversations"`
			Working int    `json:"running_handlers"`
			Links   int    `json:"links"`
			Up      int    `json:"links_up"`
		} `json:"nodes"`
	}
	counts := view[nodes](c, "/api/nodes")
	for ctx := patience.Context(t); ctx.Err() == nil && len(counts.Nodes) == 2 && counts.Nodes[0].Working > 0; {
		counts = view[nodes](c, "/api/nodes") // the node itself has short work after the other has joined
	}
	if len(counts.Nodes) != 2 || len(counts.Missing) > 0 {
		t.Fatalf("the nodes are %+v", counts)
	}
	for i, n := range counts.Nodes {
		if n.Node != c.nodes[i].Name() || n.Open != 1 || n.Working != i || n.Links != 1 || n.Up != 1 {
			t.Errorf("the nodes are %+v", counts)
		}
	}
	all := view[list](c, "/api/conversations?live=true")
	if len(all.Conversations) != 1 || all.Conversations[0].ID != string(id) || len(all.Conversations[0].Sides) != 2 {
		t.Errorf("the conversations are %+v", all)
	}
	one := view[conversation](c, "/api/conversations/"+string(id))
	if len(one.Sides) != 2 || len(one.Next) != 2 || len(one.Messages) == 0 {
		t.Fatalf("the conversation is %+v", one)
	}
	if m := one.Messages[0]; m["performative"] != "TASK_REQUEST" || m["sent"] != 1.0 || m["received"] != 1.0 {
		t.Errorf("sent by an agent of one node, and received on the other: %v", m)
	}
	if alone := view[conversation](c, "/api/conversations/"+string(id)+"?node=n2"); len(alone.Sides) != 1 || alone.Sides[0]["role"] != "responder" {
		t.Errorf("n2 alone knows %+v", alone)
	}
	tree := view[traced](c, "/api/traces/"+string(id))
	if tree.Trace != string(id) || len(tree.Messages) < len(one.Messages) || len(tree.Missing) > 0 {
		t.Fatalf("the trace is %+v, the conversation %+v", tree, one.Messages)
	}
	if m := tree.Messages; m[0].Receiver != "w" || m[0].Parent != "" || !slices.Contains(m[0].Children, m[1].ID) || m[1].Parent != m[0].ID || m[1].Sender != "w" {
		t.Errorf("the tree of the trace is %+v", m)
	}
	for i, n := range c.nodes { // what each knows alone is in one tree
		m, err := performatives.New(performatives.Envelope{
			ID: performatives.MessageID(fmt.Sprint("m", i)), Performative: performatives.ActInform, Sender: performatives.AgentID("ab"[i : i+1]),
			Receiver: performatives.AgentID("ba"[i : i+1]), ConversationID: "both",
			InReplyTo: []string{"", "m0"}[i], Timestamp: time.Unix(int64(i), 0),
		})
		if err != nil {
			t.Fatal(err)
		}
		n.Events().Publish(events.MessageSent{At: events.At{Time: m.Timestamp()}, Message: m})
	}
	if both := view[traced](c, "/api/traces/ret-both-001"); len(both.Messages) != 2 || both.Messages[0].ID != "m0" {
		t.Errorf("the trace of two nodes is %+v", both)
	}
	for range 2 { // whichever node is asked
		one := view[conversation](c, "/api/conversations/"+string(id))
		if len(one.Sides) != 2 || one.Sides[0]["role"] != "initiator" || one.Sides[1]["role"] != "responder" || one.Sides[0]["began"] != one.Began ||
			len(one.Next) != 2 || one.Next[0].Role != "initiator" {
			t.Errorf("the sides are not in their order: %+v", one)
		}
		for _, listed := range view[list](c, "/api/conversations?live=true").Conversations {
			if listed.ID == "both" { // its end is not known
				continue
			}
			if listed.Sides[0]["role"] != "initiator" {
				t.Errorf("the sides are not in their order in the list: %+v", listed)
			}
		}
		for _, filter := range []string{"agent=A", "agent=b", "text=BOT", "text=bot&act=INFORM"} {
			if all := view[list](c, "/api/conversations?"+filter); len(all.Conversations) != 1 || all.Conversations[0].ID != "both" || all.Conversations[0].From != "a" || all.Conversations[0].To != "b" || len(all.Conversations[0].Sides) > 0 {
				t.Errorf("%s: a conversation without sides is %+v", filter, all)
			}
		}
		c.servers[0], c.servers[1] = c.servers[1], c.servers[0]
	}
	if code, text := c.ask("GET", "/api/traces/none", ""); code != http.StatusNotFound || !strings.Contains(text, "unknown_trace") {
		t.Errorf("%d %s", code, text)
	}
	code, text := c.ask("POST", "/api/conversations/"+string(id)+"/cancel?node=n2&side=initiator", "{}", "Content-Type", jsonType)
	if code != http.StatusConflict || !strings.Contains(text, "unreachable") {
		t.Errorf("n2 alone cannot cancel it: %d %s", code, text)
	}
	c.servers[0], c.servers[1] = c.servers[1], c.servers[0] // now n2 is asked
	if code, text := c.ask("POST", "/api/conversations/"+string(id)+"/cancel", "{}", "Content-Type", jsonType); code != http.StatusOK || !strings.Contains(text, `"receipt"`) {
		t.Errorf("%d %s", code, text)
	}
	if err := <-result; err == nil {
		t.Error("the delegation was not cancelled")
	}
}

// A conversation is cancelled through a node that has recorded messages of it and no side. What has
// no initiator on any node is not said to have ended, and a node that has not answered is named.
func TestCancelThroughANodeWithoutSides(t *testing.T) {
	c := newTown(t, nil)
	work := worker{make(chan struct{}, 1)}
	if err := c.nodes[0].Spawn(patience.Context(t), "own", func() actors.Agent { return work }); err != nil {
		t.Fatal(err)
	}
	result := make(chan error, 1)
	go func() {
		_, err := c.nodes[0].Delegate(patience.Context(t), "own", performatives.TaskRequest{TaskType: "work"}, codons.WithConversation("live"))
		result <- err
	}()
	<-work.begun
	for i, id := range []performatives.ConversationID{"live", "relayed"} {
		m, err := performatives.New(performatives.Envelope{
			ID: performatives.MessageID(fmt.Sprint("m", i)), Performative: performatives.ActInform, Sender: "a", Receiver: "b", ConversationID: id, Timestamp: time.Now(),
		})
		if err != nil {
			t.Fatal(err)
		}
		c.nodes[1].Events().Publish(events.MessageSent{At: events.At{Time: m.Timestamp()}, Message: m})
	}
	cancel := func(id string, code int, want string) {
		t.Helper()
		if got, text := c.ask("POST", "/api/conversations/"+id+"/cancel", "{}", "Content-Type", jsonType); got != code || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s, want %d %s", id, got, text, code, want)
		}
	}
	cancel("relayed", http.StatusConflict, `"unreachable"`) // n2 knows it
	cancel("none", http.StatusNotFound, `"unknown_conversation"`)
	c.servers[0], c.servers[1] = c.servers[1], c.servers[0] // now n2 is asked
	cancel("relayed", http.StatusConflict, `"unreachable"`)
	cancel("live", http.StatusOK, `"receipt"`)
	if err := <-result; err == nil {
		t.Error("the delegation was not cancelled")
	}
	awaitEnd(t, c.nodes[0], "live")
	cancel("live", http.StatusOK, `"already_ended"`)
	c.peers = append(c.peers, api.Peer{Node: "n4", URL: "http://127.0.0.1:1"})
	cancel("none", http.StatusNotFound, "no answer came from n4")
}

type traced struct {
	missing
	Trace    string `json:"trace"`
	Messages []struct {
		ID       string   `json:"id"`
		Sender   string   `json:"sender"`
		Receiver string   `json:"receiver"`
		Parent   string   `json:"parent"`
		Children []string `json:"children"`
	} `json:"messages"`
}

// Pages of two nodes are in the order of one list, and nothing is listed twice or left out.
func TestPagesOfTwoNodes(t *testing.T) {
	c := newTown(t, nil)
	want := map[string]bool{}
	for i := range 7 {
		n := c.nodes[i%2]
		id := performatives.AgentID(fmt.Sprint("idle", i))
		if err := n.Spawn(patience.Context(t), id, func() actors.Agent { return c.worker }); err != nil {
			t.Fatal(err)
		}
		d, err := delegation.Start(patience.Context(t), n, id, performatives.TaskRequest{TaskType: "x", Description: "x"})
		if err != nil {
			t.Fatal(err)
		}
		<-c.worker.begun
		want[string(d.Conversation())] = true
		defer d.Cancel()
	}
	got := map[string]bool{}
	for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
		p := view[list](c, "/api/conversations?limit=2&cursor="+cursor)
		for _, one := range p.Conversations {
			if got[one.ID] || !want[one.ID] {
				t.Errorf("%s is listed twice, or unknown", one.ID)
			}
			got[one.ID] = true
		}
		if cursor = p.Next; len(p.Conversations) != 2 && cursor != "" || pages > 4 {
			t.Fatalf("page %d has %d", pages, len(p.Conversations))
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d of %d are listed", len(got), len(want))
	}
}

// A node that does not answer, refuses, or has no interface is named with the reason, and the rest
// is shown.
func TestMissingNodes(t *testing.T) {
	const token = "reader-0123456789abcdefg"
	known, err := auth.Tokens([]auth.Token{{Value: token, Name: "ann"}})
	if err != nil {
		t.Fatal(err)
	}
	c := newTown(t, func(i int, o *api.Options) {
		if i == 1 {
			o.Auth = known
		}
	})
	const nowhere = "http://127.0.0.1:1"
	old := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"error":{"code":"not_found","text":"there is nothing at this path"}}`))
	}))
	defer old.Close()
	c.peers = append(c.peers, api.Peer{Node: "n3"}, api.Peer{Node: "n4", URL: nowhere}, api.Peer{Node: "n5", URL: c.servers[0].URL}, api.Peer{Node: "n6", URL: old.URL})
	got := view[missing](c, "/api/agents")
	want := map[string]string{"n2": "unauthorized", "n3": "--http", "n4": "refused", "n5": "wrong address", "n6": "version"}
	for _, m := range got.Missing {
		if !strings.Contains(m.Why, want[m.Node]) {
			t.Errorf("%s is missing because of %q, want %q", m.Node, m.Why, want[m.Node])
		}
		if delete(want, m.Node); strings.Contains(m.Why, "http://") {
			t.Errorf("the reason has an address: %s", m.Why)
		}
	}
	if len(want) > 0 {
		t.Errorf("not named are %v", want)
	}
	if got := view[missing](c, "/api/agents", "Authorization", "Bearer "+token); slices.ContainsFunc(got.Missing, func(m absent) bool { return m.Node == "n2" }) {
		t.Errorf("the token was not passed on: %+v", got)
	}
	for path, code := range map[string]int{
		"/api/node?node=n9": http.StatusNotFound, "/api/node?node=n4": http.StatusBadGateway, "/api/node?node=n5": http.StatusMisdirectedRequest,
		"/api/node?node=n2": http.StatusUnauthorized, "/api/events?node=n9": http.StatusNotFound, "/api/conversations/none": http.StatusNotFound,
	} {
		if got, text := c.ask("GET", path, ""); got != code {
			t.Errorf("%s: %d %s", path, got, text)
		}
	}
	if code, text := c.ask("GET", "/api/node?node=n2", "", "Authorization", "Bearer "+token); code != http.StatusOK || !strings.Contains(text, `"n2"`) {
		t.Errorf("%d %s", code, text)
	}
}

// streamed is the stream of events of n1.
type streamed struct {
	c     *town
	lines *bufio.Reader
}

func (c *town) stream() *streamed {
	c.t.Helper()
	r, err := http.NewRequestWithContext(patience.Context(c.t), "GET", c.servers[0].URL+"/api/events", http.NoBody)
	if err != nil {
		c.t.Fatal(err)
	}
	a, err := c.servers[0].Client().Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = a.Body.Close() })
	return &streamed{c, bufio.NewReader(a.Body)}
}

func (s *streamed) line() string {
	s.c.t.Helper()
	line, err := s.lines.ReadString('\n')
	if err != nil {
		s.c.t.Fatal(err)
	}
	return line
}

// await reads until a line has all parts.
func (s *streamed) await(parts ...string) {
	s.c.t.Helper()
	for {
		line := s.line()
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
			return
		}
	}
}

// The events of all nodes come in one stream, which says whose are missing and since when they are
// there again.
func TestEventsOfTwoNodes(t *testing.T) {
	c := newTown(t, nil)
	stream := c.stream()
	stream.await(`"node":"n2"`, `"present"`)
	id, result := c.delegate()
	stream.await("data:", string(id), `"message.sent"`, `"TASK_ACCEPT"`, `"sender":"w"`) // on n2
	c.servers[1].CloseClientConnections()
	stream.await(`"node":"n2"`, `"missing"`)
	stream.await(`"node":"n2"`, `"present"`)
	if code, text := c.ask("POST", "/api/conversations/"+string(id)+"/cancel", "{}", "Content-Type", jsonType); code != http.StatusOK {
		t.Errorf("%d %s", code, text)
	}
	cancels := 0
	for ended := false; !ended; {
		line := stream.line()
		if strings.Contains(line, `"performative":"CANCEL"`) && strings.Contains(line, `"message.sent"`) {
			cancels++
		}
		ended = strings.Contains(line, `"to":"cancelled"`) && strings.Contains(line, `"initiator"`)
	}
	if cancels != 1 {
		t.Errorf("CANCEL was sent once, and is in the stream %d times", cancels)
	}
	if err := <-result; err == nil {
		t.Error("the delegation was not cancelled")
	}
}

// The stream says when a node is no member of the cluster any more, although its own stream has not
// ended.
func TestEventsOfANodeThatHasGone(t *testing.T) {
	var gone atomic.Bool
	c := newTown(t, func(_ int, o *api.Options) {
		all := o.Peers
		o.Peers = func() []api.Peer {
			if gone.Load() {
				return nil
			}
			return all()
		}
	})
	stream := c.stream()
	stream.await(`"node":"n2"`, `"present"`)
	gone.Store(true)
	stream.await(`"node":"n2"`, `"missing"`, "not a member")
}

// A message of an agent that the other node does not know yet is in the stream once.
func TestEventsOfNewAgents(t *testing.T) {
	c := newTown(t, nil)
	stream := c.stream()
	stream.await(`"node":"n2"`, `"present"`)
	const count = 20
	for i := range count {
		client, err := c.nodes[0].Client(patience.Context(t), performatives.AgentID(fmt.Sprint("client", i)))
		if err != nil {
			t.Fatal(err)
		}
		m, err := performatives.New(performatives.Envelope{
			ID: performatives.NewID(), Performative: performatives.ActRequest, Sender: client.ID(), Receiver: "w", Timestamp: time.Now(), Payload: performatives.Raw(`{"action":"fly"}`),
		})
		if err == nil {
			_, err = client.Ask(patience.Context(t), m)
		}
		if err != nil {
			t.Fatalf("client %d got %v", i, err)
		}
	}
	requests := 0
	for answers := 0; answers < count; { // n2 publishes each after the request
		switch line := stream.line(); {
		case !strings.Contains(line, `"message.sent"`):
		case strings.Contains(line, `"performative":"REQUEST"`):
			requests++
		case strings.Contains(line, `"sender":"w"`):
			answers++
		}
	}
	if requests != count {
		t.Errorf("%d requests are in the stream %d times", count, requests)
	}
}

// A step that waits on another node is listed with its node, and decided there.
func TestApprovalsOfTwoNodes(t *testing.T) {
	queue := &approval.Queue{}
	c := newTown(t, func(i int, o *api.Options) {
		if i == 1 {
			o.Approvals = queue
		}
	})
	published := c.nodes[0].Events().Subscribe(events.SubscribeOptions{Kinds: []events.Kind{observe.KindOperatorActed}})
	defer published.Close()
	if err := c.nodes[1].Spawn(patience.Context(t), "boss", func() actors.Agent { return queue }); err != nil {
		t.Fatal(err)
	}
	verdict := make(chan approval.Approval, 1)
	go func() {
		v, _ := approval.Approve(patience.Context(t), c.nodes[1], "boss", approval.Step{What: "deploy"})
		verdict <- v
	}()
	if _, err := queue.Next(patience.Context(t), 0); err != nil {
		t.Fatal(err)
	}
	steps := view[struct {
		Approvals []struct {
			ID   int    `json:"id"`
			Node string `json:"node"`
		} `json:"approvals"`
	}](c, "/api/approvals").Approvals
	if len(steps) != 1 || steps[0].Node != "n2" {
		t.Fatalf("the steps are %+v", steps)
	}
	at := fmt.Sprint("/api/approvals/", steps[0].ID)
	const yes = `{"approve":true,"reason":"fine"}`
	if code, text := c.ask("POST", at, yes, "Content-Type", jsonType); code != http.StatusNotFound {
		t.Errorf("n1 has no such step: %d %s", code, text)
	}
	if code, text := c.ask("POST", at+"?node=n2", yes, "Content-Type", jsonType); code != http.StatusOK {
		t.Errorf("%d %s", code, text)
	}
	if v := <-verdict; !v.Approved || v.Reason != "fine" {
		t.Errorf("%+v", v)
	}
	if act, _ := actedOn(t, published); act.What != "approve" || act.Outcome != "not_open" {
		t.Errorf("the first act on n1 is %+v", act)
	}
	if act, _ := actedOn(t, published); act.What != "forward" || act.Of != "POST "+at || act.Outcome != "n2: 200" {
		t.Errorf("the second act on n1 is %+v", act)
	}
}

// asker is an agent that sends a request by itself, as a program does that has connected: no node
// has the initiator's side.
type asker struct{ got chan *performatives.Message }

func (asker) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (a asker) Receive(_ *actors.Context, m *performatives.Message) { a.got <- m }

// asks has an asker of a node send the worker a request, and returns when the work has begun.
func asks(t *testing.T, n *runtime.Node, w worker, id performatives.ConversationID) asker {
	t.Helper()
	a := asksFor(t, n, "w", id)
	<-w.begun
	return a
}

// asksFor has an asker of a node send an agent a request.
func asksFor(t *testing.T, n *runtime.Node, to performatives.AgentID, id performatives.ConversationID) asker {
	t.Helper()
	a := asker{make(chan *performatives.Message, 8)}
	name := performatives.AgentID(fmt.Sprint("asker-", id, "-", to))
	if err := n.Spawn(patience.Context(t), name, func() actors.Agent { return a }); err != nil {
		t.Fatal(err)
	}
	self, _ := n.System().Lookup(name)
	m, err := performatives.New(performatives.Envelope{
		ID: performatives.NewID(), Performative: performatives.ActTaskRequest, Sender: name, Receiver: to, ConversationID: id, Timestamp: time.Now(),
		Protocol: delegation.Codon.Name(), ReplyWith: "r", Payload: performatives.TaskRequest{TaskType: "work"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := self.Send(m); err != nil {
		t.Fatal(err)
	}
	return a
}

// fails expects that the asker is told that an operator has stopped the work.
func (a asker) fails(t *testing.T) {
	t.Helper()
	for {
		select {
		case m := <-a.got:
			if f, ok := m.Payload().(performatives.Failure); ok && f.ErrorCode == performatives.CodeCanceled {
				return
			}
			if m.Performative() != performatives.ActTaskAccept {
				t.Fatalf("got %s %+v", m.Performative(), m.Payload())
			}
		case <-patience.Context(t).Done():
			t.Fatal("the asker is not told")
		}
	}
}

// What a connected program has asked for is stopped at the responder, from any node, and the
// program is told. The parameter side names the only side that may end it.
func TestCancelOfAConnectedProgram(t *testing.T) {
	c := newTown(t, nil)
	cancel := func(id, query string, code int, want string) {
		t.Helper()
		if got, text := c.ask("POST", "/api/conversations/"+id+"/cancel"+query, "{}", "Content-Type", jsonType); got != code || !strings.Contains(text, want) {
			t.Errorf("%s%s: %d %s, want %d %s", id, query, got, text, code, want)
		}
	}
	const receipt = `{"outcome":"receipt","state":"failed"}`
	a := asks(t, c.nodes[0], c.worker, "elsewhere")
	cancel("elsewhere", "?side=x", http.StatusBadRequest, `"side"`)
	cancel("elsewhere", "?side=initiator", http.StatusConflict, `"unreachable"`)
	cancel("elsewhere", "", http.StatusOK, receipt) // by n1; the worker is on n2
	a.fails(t)
	cancel("elsewhere", "", http.StatusOK, `"already_ended"`)
	c.servers[0], c.servers[1] = c.servers[1], c.servers[0]
	a = asks(t, c.nodes[1], c.worker, "here")
	cancel("here", "", http.StatusOK, receipt)
	a.fails(t)
	id, result := c.delegate()
	cancel(string(id), "?side=responder", http.StatusOK, receipt)
	if err := <-result; !errors.Is(err, performatives.CodeCanceled) {
		t.Errorf("got %v", err)
	}
}

// A cancellation asks the other nodes at the same time: each of these answers when both have been
// asked.
func TestCancelAsksAtOnce(t *testing.T) {
	_, h, _ := serve(t, func(o *api.Options) {
		var asked sync.WaitGroup
		asked.Add(2)
		var peers []api.Peer
		for _, name := range []string{"a", "b"} {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					asked.Done()
					asked.Wait()
				}
				w.WriteHeader(http.StatusNotFound)
			}))
			t.Cleanup(s.Close)
			peers = append(peers, api.Peer{Node: name, URL: s.URL})
		}
		o.Peers = func() []api.Peer { return peers }
	})
	if got := ask(h, "POST", "/api/conversations/none/cancel", "{}", "Content-Type", jsonType); got.Code != http.StatusNotFound || !strings.Contains(got.Body.String(), `"unknown_conversation"`) {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

// A conversation of which the node has no side is neither under way nor ended as far as it knows.
// Another node may know.
func TestRelayedConversations(t *testing.T) {
	c := newTown(t, nil)
	said := func(node int, id, from, to string) {
		t.Helper()
		m, err := performatives.New(performatives.Envelope{
			ID: performatives.MessageID("m-" + id), Performative: performatives.ActInform, ConversationID: performatives.ConversationID(id), Timestamp: time.Now(),
			Sender: performatives.AgentID(from), Receiver: performatives.AgentID(to),
		})
		if err != nil {
			t.Fatal(err)
		}
		c.nodes[node].Events().Publish(events.MessageSent{At: events.At{Time: m.Timestamp()}, Message: m})
	}
	said(0, "between", "a", "b")
	said(0, "to-n2", "a", "w") // n2 knows more, or has forgotten it
	said(1, "of-n2", "w", "a") // no codon
	id, result := c.delegate()
	for query, want := range map[string]string{
		"": "between:relayed of-n2: to-n2:relayed work:live", "?live=true": "between:relayed work:live", "?live=false": "of-n2:",
		"?live=true&node=n2": "work:live", "?live=false&node=n2": "of-n2:",
	} {
		var got []string
		for _, one := range view[struct {
			Conversations []struct {
				ID      string `json:"conversation_id"`
				Live    bool
				Relayed bool
			}
		}](c, "/api/conversations"+query).Conversations {
			name := strings.Replace(one.ID, string(id), "work", 1) + ":"
			if one.Live {
				name += "live"
			}
			if one.Relayed {
				name += "relayed"
			}
			got = append(got, name)
		}
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %s", query, got, want)
		}
	}
	if one := view[map[string]any](c, "/api/conversations/between"); one["relayed"] != true || one["live"] != false {
		t.Errorf("%v", one)
	}
	c.ask("POST", "/api/conversations/"+string(id)+"/cancel", "{}", "Content-Type", jsonType)
	if err := <-result; err == nil {
		t.Error("the work was not cancelled")
	}
}

// The table of a codon that only another node has is that node's.
func TestCodonOfAnotherNode(t *testing.T) {
	table := notify.Codon.Machine().Table()
	table.Name = "of-n2"
	codon, err := codons.Define(codons.Definition{Table: table, Complete: true, Payloads: notify.Codon.Payloads, Outcomes: notify.Codon.Outcomes})
	if err != nil {
		t.Fatal(err)
	}
	c := newTown(t, func(i int, o *api.Options) {
		if i == 1 {
			o.Codons = append(o.Codons, codon)
		}
	})
	if one := view[map[string]any](c, "/api/codons/of-n2"); one["name"] != "of-n2" {
		t.Errorf("%v", one)
	}
	none := func(path, want string) {
		t.Helper()
		if code, text := c.ask("GET", path, ""); code != http.StatusNotFound || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	none("/api/codons/of-none", `"unknown_codon"`)
	none("/api/codons/of-n2?node=n1", `"unknown_codon"`)
	c.peers = append(c.peers, api.Peer{Node: "n4", URL: "http://127.0.0.1:1"})
	none("/api/codons/of-none", `"incomplete"`)
	none("/api/codons/of-none", "no answer came from n4")
	if one := view[map[string]any](c, "/api/codons/of-n2"); one["name"] != "of-n2" {
		t.Errorf("%v", one)
	}
}

// A node that was lost is named for ten minutes, unless it has left in order or comes back. A
// conversation that the node relayed to an agent of it has ended as the asker was told.
func TestLostNode(t *testing.T) {
	c := newTown(t, nil)
	id, result := c.delegate()
	if one := view[conversation](c, "/api/conversations/"+string(id)); one.Sides[0]["node"] != "n1" || one.Sides[1]["node"] != "n2" {
		t.Errorf("the sides are %+v", one.Sides)
	}
	told, err := performatives.New(performatives.Envelope{
		ID: "f", Performative: performatives.ActFailure, Sender: "a", Receiver: "b", ConversationID: "relayed", InReplyTo: "r", Timestamp: time.Now(),
		Payload: performatives.Failure{ErrorCode: performatives.CodeDisconnected, ErrorText: "the node of the agent was lost: n3"},
	})
	if err != nil {
		t.Fatal(err)
	}
	stream := c.nodes[0].Events()
	stream.Publish(events.MessageSent{At: events.At{Time: told.Timestamp()}, Message: told})
	lose := func(node string, ago time.Duration, reason string) {
		stream.Publish(runtime.MemberLost{At: events.At{Time: time.Now().Add(-ago)}, Node: node, Reason: reason})
	}
	lose("n3", time.Minute, "failed")
	lose("n4", 11*time.Minute, "failed")
	lose("n5", time.Minute, "left")
	lose("n6", time.Minute, "unreachable")
	lose("n2", time.Minute, "unreachable") // it answers
	names := func(path string) (all string) {
		for _, m := range view[missing](c, path).Missing {
			if !strings.Contains(m.Why, "it is lost since 20") {
				t.Errorf("%s: %s is missing: %s", path, m.Node, m.Why)
			}
			all += m.Node + " "
		}
		return all
	}
	if got := names("/api/conversations"); got != "n6 n3 " {
		t.Errorf("a list lacks %q", got)
	}
	if got := names("/api/conversations/" + string(id)); got != "n6 n5 n3 " {
		t.Errorf("a conversation lacks %q", got)
	}
	if got := names("/api/conversations?node=n1"); got != "" {
		t.Errorf("one node lacks %q", got)
	}
	for _, ask := range []struct{ method, path string }{{"GET", "/api/conversations/none"}, {"POST", "/api/conversations/none/cancel"}} {
		if code, text := c.ask(ask.method, ask.path, map[string]string{"POST": "{}"}[ask.method], "Content-Type", jsonType); code != http.StatusNotFound || !strings.Contains(text, `"incomplete"`) ||
			!strings.Contains(text, "n3 (it is lost since") || !strings.Contains(text, "n5 (it is lost since") {
			t.Errorf("%s: %d %s", ask.path, code, text)
		}
	}
	for filter, want := range map[string]int{"": 2, "live=true": 1, "live=false": 1} {
		all := view[list](c, "/api/conversations?"+filter).Conversations
		if len(all) != want || filter == "live=false" && (all[0].ID != "relayed" || all[0].Lost != "the node of the agent was lost: n3") {
			t.Errorf("%q lists %+v", filter, all)
		}
	}
	stream.Publish(runtime.MemberJoined{At: events.At{Time: time.Now()}, Node: "n3"})
	stream.Publish(runtime.MemberLinked{At: events.At{Time: time.Now()}, Node: "n6"})
	if got := names("/api/conversations"); got != "" {
		t.Errorf("a list lacks %q after the nodes have come back", got)
	}
	if code, text := c.ask("POST", "/api/conversations/"+string(id)+"/cancel", "{}", "Content-Type", jsonType); code != http.StatusOK {
		t.Errorf("%d %s", code, text)
	}
	if err := <-result; err == nil {
		t.Error("the asker of the cancelled conversation has a result")
	}
}
