package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/runtime/observe"
	"github.com/ribosome-agents/ribosome/runtime/observe/api"
	"github.com/ribosome-agents/ribosome/wire/auth"
)

// drained is the answer to a drain.
type drained struct {
	Node    string `json:"node"`
	Epoch   uint64 `json:"epoch"`
	Outcome string `json:"outcome"`
	Lost    string `json:"lost"`
}

// isClosed reports whether a channel is closed.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// An operator of n2 has it drain by way of n1, of which he is none. Each of the two nodes publishes
// what it did, and n1 goes on.
func TestDrainOfAnotherNode(t *testing.T) {
	const ann, bob = "ann-0123456789abcdefghij", "bob-0123456789abcdefghij"
	known, err := auth.Tokens([]auth.Token{{Value: ann, Name: "ann"}, {Value: bob, Name: "bob"}})
	if err != nil {
		t.Fatal(err)
	}
	var peers [2]*runtime.Peers
	c := newTown(t, func(i int, o *api.Options) {
		p, err := runtime.NewPeers(o.Node, runtime.PeerOptions{Operators: [][]performatives.AgentID{{"bob"}, {"ann"}}[i]})
		if err != nil {
			t.Fatal(err)
		}
		peers[i], o.Auth, o.Drain = p, known, p.Drain
	})
	c.peers = append(c.peers, api.Peer{Node: "n3"})
	epoch := c.nodes[1].Members()[1].Epoch
	var acted [2]*events.Subscription
	for i, n := range c.nodes {
		acted[i] = n.Events().Subscribe(events.SubscribeOptions{Kinds: []events.Kind{observe.KindOperatorActed, runtime.KindNodeDraining}})
		defer acted[i].Close()
	}
	for path, want := range map[string]struct {
		token string
		code  int
		text  string
	}{
		"/api/node/drain":         {ann, http.StatusBadRequest, `"node"`},
		"/api/node/drain?node=":   {ann, http.StatusBadRequest, `"node"`},
		"/api/node/drain?node=n9": {ann, http.StatusNotFound, "unknown_node"},
		"/api/node/drain?node=n3": {ann, http.StatusBadGateway, "node_unreachable"},
		"/api/node/drain?node=n1": {ann, http.StatusForbidden, "only an operator of the node n1"},
		"/api/node/drain?node=n2": {bob, http.StatusForbidden, "only an operator of the node n2"},
		"/api/node/drain?node=N2": {"nobody-0123456789abcdef", http.StatusUnauthorized, "unauthorized"},
	} {
		code, text := c.ask("POST", path, "{}", "Content-Type", jsonType, "Authorization", "Bearer "+want.token)
		if code != want.code || !strings.Contains(text, want.text) {
			t.Errorf("%s: %d %s, want %d %s", path, code, text, want.code, want.text)
		}
	}
	if isClosed(peers[0].Drained()) || isClosed(peers[1].Drained()) {
		t.Error("a node has drained for nobody")
	}
	code, text := c.ask("POST", "/api/node/drain?node=N2", "{}", "Content-Type", jsonType, "Authorization", "Bearer "+ann)
	var got drained
	if err := json.Unmarshal([]byte(text), &got); err != nil || code != http.StatusOK || got != (drained{"n2", epoch, "handed_over", ""}) {
		t.Errorf("%d %s %v", code, text, err)
	}
	<-peers[1].Drained()
	if isClosed(peers[0].Drained()) {
		t.Error("n1 has drained, too")
	}
	for i, want := range []observe.OperatorActed{
		{Who: "ann", What: "forward", Of: "POST /api/node/drain", Outcome: "n2: 200"},
		{Who: "ann", What: "drain", Of: "n2", Outcome: "handed_over"},
	} {
		begun := false
		for {
			r, err := acted[i].Next(patience.Context(t))
			if err != nil {
				t.Fatal(err)
			}
			if e, ok := r.Event.(runtime.NodeDraining); ok {
				begun = e.Principal == "ann" && e.Agent == ""
				continue
			}
			act := r.Event.(observe.OperatorActed)
			if act.Of != want.Of || act.Outcome != want.Outcome {
				continue // what was refused above
			}
			if act.Who != want.Who || act.What != want.What || act.Host == "" || begun != (i == 1) {
				t.Errorf("n%d has published %+v after it has begun: %v", i+1, act, begun)
			}
			break
		}
	}
}

// A drain that takes long is answered before it ends, and one that has lost agents says which.
// Without Options.Drain it is refused.
func TestOutcomesOfADrain(t *testing.T) {
	for name, tt := range map[string]struct {
		drain func(context.Context, string) (string, error)
		code  int
		want  drained
		acted string
	}{
		"it goes on":     {func(context.Context, string) (string, error) { return "", context.DeadlineExceeded }, 200, drained{Outcome: "draining"}, "draining"},
		"it loses some":  {func(context.Context, string) (string, error) { return "3 agents", nil }, 200, drained{Outcome: "handed_over", Lost: "3 agents"}, "handed_over: 3 agents"},
		"by nobody here": {nil, http.StatusForbidden, drained{}, "forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			n, h, _ := serve(t, func(o *api.Options) { o.Drain = tt.drain })
			published := n.Events().Subscribe(events.SubscribeOptions{Kinds: []events.Kind{observe.KindOperatorActed}})
			defer published.Close()
			a := ask(h, "POST", "/api/node/drain?node="+n.Name(), "{}", "Content-Type", jsonType)
			var got drained
			if err := json.Unmarshal(a.Body.Bytes(), &got); err != nil || a.Code != tt.code {
				t.Fatalf("%d %s %v", a.Code, a.Body, err)
			}
			if tt.want.Outcome != "" {
				tt.want.Node = n.Name()
			}
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
			if act, _ := actedOn(t, published); act.What != "drain" || act.Outcome != tt.acted {
				t.Errorf("the act is %+v", act)
			}
		})
	}
}
