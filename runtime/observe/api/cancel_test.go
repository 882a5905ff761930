package api_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/runtime/observe"
	"github.com/ribosome-agents/ribosome/runtime/observe/api"
)

// tidy is a worker whose work goes on for a second after the end of its context.
type tidy struct {
	worker
	running *atomic.Int64
}

func (w tidy) PerformTask(ctx context.Context, task delegation.Task) (performatives.InformResult, error) {
	w.running.Add(1)
	defer w.running.Add(-1)
	r, err := w.worker.PerformTask(ctx, task)
	time.Sleep(time.Second)
	return r, err
}

// fakeNodes are other nodes, by their names. A request comes to them without a network, so that its
// time is virtual.
type fakeNodes map[string]http.HandlerFunc

func (f fakeNodes) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	if f[r.URL.Host](w, r); r.Context().Err() != nil {
		return nil, r.Context().Err()
	}
	return w.Result(), nil
}

// hangs is a node that never answers.
func hangs(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// refuses is a node that refuses each request.
func refuses(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

// has is a node with a side of the conversation under way. It answers a request to end that by
// cancel.
func has(role string, cancel http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost && r.URL.Query().Get("side") == role:
			cancel(w, r)
		case r.Method == http.MethodPost:
			w.WriteHeader(http.StatusConflict)
		default:
			says(fmt.Sprintf(`{"conversation_id":"c","live":true,"sides":[{"agent":"a","role":%q,"state":"working"}]}`, role))(w, r)
		}
	}
}

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }
}

// among starts a node among others, in a bubble.
func among(t *testing.T, nodes fakeNodes) (*runtime.Node, *served, worker) {
	t.Helper()
	n, h, w := serve(t, func(o *api.Options) {
		o.Peers = func() (peers []api.Peer) {
			for _, name := range slices.Sorted(maps.Keys(nodes)) {
				peers = append(peers, api.Peer{Node: name, URL: "http://" + name})
			}
			return peers
		}
	})
	h.Through(nodes)
	return n, h, w
}

// cancelled cancels the conversation "c", and returns the answer and how long it took.
func cancelled(h http.Handler, query string, headers ...string) (answer string, took time.Duration) {
	start := time.Now()
	got := ask(h, "POST", "/api/conversations/c/cancel"+query, "{}", append(headers, "Content-Type", jsonType)...)
	return fmt.Sprint(got.Code, " ", strings.TrimSpace(got.Body.String())), time.Since(start)
}

const (
	stopped      = `200 {"outcome":"receipt","state":"failed"}`
	stillRunning = `200 {"outcome":"still_running"}`
)

// lacking is a receipt that names n2 as missing.
func lacking(why string) string {
	return fmt.Sprintf(`200 {"outcome":"receipt","state":"failed","missing":[{"node":"n2","why":%q}]}`, why)
}

// A program has asked two agents with one id, and a group has one id for two agents: the answer
// comes when the work of both has ended.
func TestCancelOfSeveralSides(t *testing.T) {
	for name, test := range map[string]struct {
		begin func(t *testing.T, n *runtime.Node, to performatives.AgentID)
		want  string
	}{
		"responders": {func(t *testing.T, n *runtime.Node, to performatives.AgentID) { asksFor(t, n, to, "c") }, stopped},
		"initiators": {func(t *testing.T, n *runtime.Node, to performatives.AgentID) {
			d, err := delegation.Start(patience.Context(t), n, to, performatives.TaskRequest{TaskType: "x", Description: "x"}, codons.WithConversation("c"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _, _ = d.Wait() }) // it is cancelled
		}, `200 {"outcome":"receipt","state":"cancelled"}`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, h, w := serve(t, nil)
				slow := tidy{w, new(atomic.Int64)}
				if err := n.Spawn(patience.Context(t), "slow", func() actors.Agent { return slow }); err != nil {
					t.Fatal(err)
				}
				for _, to := range []performatives.AgentID{"w", "slow"} {
					test.begin(t, n, to)
					<-w.begun
				}
				if got, took := cancelled(h, ""); got != test.want || took != time.Second || slow.running.Load() != 0 {
					t.Errorf("%s after %v, and %d still run", got, took, slow.running.Load())
				}
			})
		})
	}
}

// A program has asked agents of two nodes with one id: both end, whichever node is asked.
func TestCancelOfRespondersOfTwoNodes(t *testing.T) {
	c := newTown(t, nil)
	own := worker{make(chan struct{}, 1)}
	if err := c.nodes[0].Spawn(patience.Context(t), "own", func() actors.Agent { return own }); err != nil {
		t.Fatal(err)
	}
	asksFor(t, c.nodes[0], "own", "c")
	asksFor(t, c.nodes[0], "w", "c")
	<-own.begun
	<-c.worker.begun
	code, text := c.ask("POST", "/api/conversations/c/cancel", "{}", "Content-Type", jsonType)
	if code != http.StatusOK || !strings.Contains(text, `"receipt"`) || len(c.nodes[0].Conversation("c"))+len(c.nodes[1].Conversation("c")) > 0 {
		t.Errorf("%d %s; under way are %+v and %+v", code, text, c.nodes[0].Conversation("c"), c.nodes[1].Conversation("c"))
	}
}

// The node of a responder asks that of the initiator, and no other one, if that has it: CANCEL is
// what the responder expects.
func TestCancelAtTheNodeOfTheResponder(t *testing.T) {
	c := newTown(t, nil)
	id, result := c.delegate()
	third := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("another node is asked") }))
	t.Cleanup(third.Close)
	c.peers = append(c.peers, api.Peer{Node: "n3", URL: third.URL})
	c.servers[0], c.servers[1] = c.servers[1], c.servers[0] // n2 is asked
	if code, text := c.ask("POST", "/api/conversations/"+string(id)+"/cancel", "{}", "Content-Type", jsonType); code != http.StatusOK || !strings.Contains(text, `"state":"cancelled"`) {
		t.Errorf("%d %s", code, text)
	}
	if err := <-result; err == nil {
		t.Error("the work was not cancelled")
	}
}

// Only nodes that have a side matter: another one may be silent or refuse all. The work at the
// asked node stops at once, and what other nodes have is known after five seconds. The worst
// outcome is the answer, after thirty seconds at most.
func TestCancelAmongNodes(t *testing.T) {
	const unknown = `404 {"error":{"code":"incomplete","text":"no node that has answered knows it; no answer came from n2 (`
	receipt, running := says(`{"outcome":"receipt","state":"failed"}`), says(`{"outcome":"still_running","state":"failed"}`)
	for name, test := range map[string]struct {
		nodes fakeNodes
		here  bool // the worker works for a program that has connected
		want  string
		took  time.Duration
	}{
		"none has it":                {fakeNodes{"n2": refuses(404)}, true, stopped, 0},
		"one hangs":                  {fakeNodes{"n2": hangs}, true, lacking("context deadline exceeded"), 5 * time.Second},
		"one hangs, all unknown":     {fakeNodes{"n2": hangs, "n3": refuses(404)}, false, unknown, 5 * time.Second},
		"one hangs, another has it":  {fakeNodes{"n2": hangs, "n3": has("responder", receipt)}, false, lacking("context deadline exceeded"), 5 * time.Second},
		"one hangs, an initiator":    {fakeNodes{"n2": hangs, "n3": has("initiator", receipt)}, false, lacking("context deadline exceeded"), 5 * time.Second},
		"403":                        {fakeNodes{"n2": refuses(403)}, true, lacking("it answers 403"), 0},
		"421":                        {fakeNodes{"n2": refuses(421)}, true, lacking("it answers 421"), 0},
		"502":                        {fakeNodes{"n2": refuses(502)}, true, lacking("it answers 502"), 0},
		"503":                        {fakeNodes{"n2": refuses(503)}, true, lacking("it answers 503"), 0},
		"403, unknown":               {fakeNodes{"n2": refuses(403)}, false, unknown, 0},
		"503, unknown":               {fakeNodes{"n2": refuses(503)}, false, unknown, 0},
		"no JSON, unknown":           {fakeNodes{"n2": says("x")}, false, unknown, 0},
		"403, another has it":        {fakeNodes{"n2": refuses(403), "n3": has("responder", receipt)}, false, lacking("it answers 403"), 0},
		"it runs elsewhere":          {fakeNodes{"n2": has("responder", running)}, true, `200 {"outcome":"still_running","state":"failed"}`, 0},
		"a receipt here and there":   {fakeNodes{"n2": has("responder", receipt)}, true, stopped, 0},
		"ended elsewhere":            {fakeNodes{"n2": has("responder", says(`{"outcome":"already_ended"}`))}, true, stopped, 0},
		"one does not end its side":  {fakeNodes{"n2": has("responder", hangs)}, true, stillRunning, 30 * time.Second},
		"one has it, and is refused": {fakeNodes{"n2": has("responder", refuses(503))}, true, stillRunning, 0},
		"only that one":              {fakeNodes{"n2": has("responder", refuses(503))}, false, `502 {"error":{"code":"node_unreachable","text":"the node n2 does not answer as a node does: it answers 503"}}`, 0},
		"no row": {fakeNodes{"n2": has("responder", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusConflict)
			says(`{"error":{"code":"no_row","text":"x"}}`)(w, nil)
		})}, true, stillRunning, 0},
		"late": {fakeNodes{"n2": func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(4 * time.Second)
			has("responder", hangs)(w, r)
		}}, false, stillRunning, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, h, w := among(t, test.nodes)
				stops := make(chan time.Duration, 1)
				if test.here {
					a := asksFor(t, n, "w", "c")
					<-w.begun
					start := time.Now()
					go func() {
						a.fails(t)
						stops <- time.Since(start)
					}()
				}
				got, took := cancelled(h.Handler, "")
				if matches := strings.HasPrefix(got, test.want); !matches || test.want != unknown && got != test.want || took != test.took {
					t.Errorf("%s after %v", got, took)
				}
				if test.here {
					if after := <-stops; after != 0 {
						t.Errorf("the work here stops after %v", after)
					}
				}
			})
		})
	}
}

// Other nodes say what they have of a conversation, and what became of a request to end it. The
// answer, and the outcome of the act, follow from that.
func TestOutcomesAmongNodes(t *testing.T) {
	const (
		ended     = `{"conversation_id":"c","sides":[{"agent":"a","role":"responder","state":"failed","ended":true}]}`
		completed = `{"conversation_id":"c","sides":[{"agent":"a","role":"initiator","state":"completed","ended":true},` +
			`{"agent":"b","role":"responder","state":"completed","ended":true}]}`
		passed = `{"conversation_id":"c","live":true,"sides":[]}`
	)
	conflict := func(code string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusConflict)
			says(`{"error":{"code":"`+code+`","text":"x"}}`)(w, nil)
		}
	}
	over := func(state string) http.HandlerFunc {
		return says(`{"outcome":"already_ended","state":"` + state + `"}`)
	}
	for name, test := range map[string]struct {
		nodes fakeNodes
		query string
		want  string // the first part of the answer
		act   string // the outcome of the act
	}{
		"nobody knows it":           {nodes: fakeNodes{"n2": refuses(404)}, want: `404 {"error":{"code":"unknown_conversation"`, act: "unknown_conversation"},
		"nobody who answers":        {nodes: fakeNodes{"n2": refuses(503)}, want: `404 {"error":{"code":"incomplete"`, act: "incomplete"},
		"ended there":               {nodes: fakeNodes{"n2": says(ended)}, want: `200 {"outcome":"already_ended"}`, act: "already_ended"},
		"completed there":           {nodes: fakeNodes{"n2": says(completed)}, want: `200 {"outcome":"already_ended","state":"completed"}`, act: "already_ended"},
		"completed, and one silent": {nodes: fakeNodes{"n2": says(completed), "n3": refuses(503)}, want: `200 {"outcome":"already_ended","state":"completed","missing":[{"node":"n3"`, act: "already_ended"},
		"passed on there":           {nodes: fakeNodes{"n2": says(passed)}, want: `409 {"error":{"code":"unreachable"`, act: "unreachable"},
		"ended and passed on":       {nodes: fakeNodes{"n2": says(ended), "n3": says(passed)}, want: `409 {"error":{"code":"unreachable"`, act: "unreachable"},
		"without sides":             {nodes: fakeNodes{"n2": says(`{"conversation_id":"c","sides":[]}`)}, want: `409 {"error":{"code":"unreachable"`, act: "unreachable"},
		"stopped there":             {nodes: fakeNodes{"n2": has("responder", says(`{"outcome":"receipt","state":"failed"}`))}, want: stopped, act: "n2: receipt"},
		"stopped at two": {
			nodes: fakeNodes{"n2": has("responder", says(`{"outcome":"receipt"}`)), "n3": has("responder", says(`{"outcome":"receipt","state":"failed"}`))},
			want:  stopped, act: "n2, n3: receipt",
		},
		"ended at two, one state":   {nodes: fakeNodes{"n2": has("responder", over("")), "n3": has("responder", over("x"))}, want: `200 {"outcome":"already_ended","state":"x"}`, act: "already_ended"},
		"ended at two, two states":  {nodes: fakeNodes{"n2": has("responder", over("x")), "n3": has("responder", over("y"))}, want: `200 {"outcome":"already_ended","state":"x"}`, act: "already_ended"},
		"no row there":              {nodes: fakeNodes{"n2": has("responder", conflict("no_row"))}, want: `409 {"error":{"code":"no_row"`, act: "no_row"},
		"another conflict there":    {nodes: fakeNodes{"n2": has("responder", conflict("x"))}, want: `409 {"error":{"code":"unreachable"`, act: "unreachable"},
		"gone in between":           {nodes: fakeNodes{"n2": has("responder", refuses(404))}, want: `409 {"error":{"code":"unreachable"`, act: "unreachable"},
		"refused there":             {nodes: fakeNodes{"n2": has("responder", refuses(503))}, want: `502 {"error":{"code":"node_unreachable"`, act: "n2: it answers 503"},
		"no JSON":                   {nodes: fakeNodes{"n2": has("responder", says("x"))}, want: `502 {"error":{"code":"node_unreachable"`, act: "n2: it answers 200"},
		"only responders":           {nodes: fakeNodes{"n2": has("initiator", hangs)}, query: "?side=responder", want: `409 {"error":{"code":"unreachable"`, act: "unreachable"},
		"only initiators":           {nodes: fakeNodes{"n2": has("responder", hangs)}, query: "?side=initiator", want: `409 {"error":{"code":"unreachable"`, act: "unreachable"},
		"only initiators, one over": {nodes: fakeNodes{"n2": says(completed)}, query: "?side=initiator", want: `200 {"outcome":"already_ended","state":"completed"}`, act: "already_ended"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, h, _ := among(t, test.nodes)
				published := n.Events().Subscribe(events.SubscribeOptions{Kinds: []events.Kind{observe.KindOperatorActed}})
				defer published.Close()
				if got, took := cancelled(h.Handler, test.query); !strings.HasPrefix(got, test.want) || took != 0 {
					t.Errorf("%s after %v", got, took)
				}
				if act, more := actedOn(t, published); act.Outcome != test.act || more {
					t.Errorf("the act is %+v, and there are more: %v", act, more)
				}
			})
		})
	}
}

// The initiator has ended, and its CANCEL was lost: the responder is stopped. It had ended where no
// responder is under way, also if another node has recorded that.
func TestCancelAfterTheEndOfTheInitiator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		there := `{"conversation_id":"c","sides":[{"agent":"a","role":"initiator","state":"timed_out","ended":true}]}`
		n, h, w := among(t, fakeNodes{"n2": func(w http.ResponseWriter, r *http.Request) { says(there)(w, r) }})
		const over = `200 {"outcome":"already_ended","state":"timed_out"}`
		if got, _ := cancelled(h, ""); got != over {
			t.Errorf("at another node: %s", got)
		}
		a := asksFor(t, n, "w", "c")
		<-w.begun
		n.Events().Publish(lifecycle.Ended{At: events.At{Time: time.Now()}, Subject: &lifecycle.Subject{Conversation: "c", Agent: "asker-c-w", Peer: "w"}, State: standard.StateTimedOut})
		if got, _ := cancelled(h, "?side=initiator"); got != over {
			t.Errorf("the initiator: %s", got)
		}
		if got, _ := cancelled(h, ""); got != stopped {
			t.Error(got)
		}
		a.fails(t)
		there = `{}`
		if got, _ := cancelled(h, ""); got != over {
			t.Errorf("again: %s", got)
		}
	})
}
