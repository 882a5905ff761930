package api_test

import (
	"context"
	"errors"
	"net/http"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/cluster/membership"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/internal/enginedispatcher"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/runtime/observe"
	"github.com/ribosome-agents/ribosome/runtime/observe/api"
)

type refusals struct {
	Refusals []struct {
		From, To, Act, Code, Text, Kind, Node string
		Conversation                          string `json:"conversation_id"`
	} `json:"refusals"`
	Next string `json:"next"`
}

func (r refusals) texts() (all []string) {
	for _, one := range r.Refusals {
		all = append(all, one.Text)
	}
	return all
}

// refuse publishes the refusal of a message, and a dead letter at the same time.
func refuse(t *testing.T, n *runtime.Node, second int64, text string) {
	t.Helper()
	m, err := performatives.New(performatives.Envelope{
		ID: performatives.MessageID("m" + text), Performative: performatives.ActRequest, Sender: "Ann", Receiver: "bob", ConversationID: "c", Protocol: "request",
		Timestamp: time.Unix(1, 0),
	})
	if err != nil {
		t.Fatal(err)
	}
	at := events.At{Time: time.Unix(second, 5)}
	n.Events().Publish(events.MessageRefused{At: at, Message: m, Refusal: &performatives.Refusal{Code: performatives.CodeBusy, Text: text}})
	n.Events().Publish(events.DeadLetter{At: at, To: "carl", Message: m, Code: performatives.CodeStopped})
}

// Refusals are listed by page, the latest first, as the filters say.
func TestRefusalsListed(t *testing.T) {
	n, h, _ := serve(t, nil)
	for i, text := range []string{"one", "two", "three"} {
		refuse(t, n, int64(i+1), text)
	}
	stopped := performatives.CodeStopped.Traits().Text
	for query, want := range map[string]string{
		"":                    stopped + ",three," + stopped + ",two," + stopped + ",one",
		"kind=refused":        "three,two,one",
		"code=busy&limit=2":   "three,two",
		"agent=ANN&limit=1":   stopped,
		"agent=bob":           "three,two,one",
		"agent=Carl&limit=1":  stopped,
		"agent=dora":          "",
		"kind=dead_letter":    stopped + "," + stopped + "," + stopped,
		"code=busy&agent=bob": "three,two,one",
	} {
		if got := strings.Join(read[refusals](t, h, "/api/refusals?"+query).texts(), ","); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	first := read[refusals](t, h, "/api/refusals?kind=refused&limit=1").Refusals[0]
	if first.From != "Ann" || first.To != "bob" || first.Act != "REQUEST" || first.Code != "busy" || first.Conversation != "c" || first.Node != n.Name() {
		t.Errorf("%+v", first)
	}
	pages := 0
	var texts []string
	for cursor := ""; pages == 0 || cursor != ""; pages++ {
		p := read[refusals](t, h, "/api/refusals?limit=2&cursor="+cursor)
		texts, cursor = append(texts, p.texts()...), p.Next
	}
	if got := strings.Join(texts, ","); pages != 3 || strings.Count(got, stopped) != 3 || strings.ReplaceAll(got, stopped, "") != ",three,,two,,one" {
		t.Errorf("%d pages: %s", pages, got)
	}
	for query, code := range map[string]string{"limit=0": `"limit"`, "kind=x": `"kind"`, "cursor=%25": `"cursor"`} {
		if got := ask(h, "GET", "/api/refusals?"+query, ""); got.Code != http.StatusBadRequest || !strings.Contains(got.Body.String(), code) {
			t.Errorf("%s: %d %s", query, got.Code, got.Body)
		}
	}
}

// past returns a time in an interval of rates that is over.
func past() time.Time { return time.Now().Add(-2 * observe.RateInterval) }

// The rates have what was counted in the intervals that are over.
func TestRates(t *testing.T) {
	n, h, _ := serve(t, nil)
	at := events.At{Time: past()}
	n.Events().Publish(lifecycle.Ended{At: at, Subject: &lifecycle.Subject{Conversation: "c", Agent: "a"}, State: standard.StateTimedOut})
	n.Events().Publish(events.DeadLetter{At: at, To: "x", Code: performatives.CodeStopped})
	n.Events().Publish(lifecycle.JobFailed{At: at, Agent: "a"})
	n.Events().Publish(lifecycle.JobFailed{At: at, Agent: "a"})
	v := read[rates](t, h, "/api/rates")
	if sum := v.sum(); v.Interval != 5 || sum["ended"] != 1 || sum["failed"] != 1 || sum["dead_letters"] != 1 || sum["errors"] != 2 || len(sum) != 7 {
		t.Errorf("%+v", v)
	}
}

type rates struct {
	Interval float64          `json:"interval_s"`
	Samples  []map[string]any `json:"samples"`
}

func (r rates) sum() map[string]float64 {
	all := map[string]float64{}
	for _, s := range r.Samples {
		for name, v := range s {
			if n, ok := v.(float64); ok {
				all[name] += n
			}
		}
	}
	return all
}

// Refusals and rates of two nodes are in one list.
func TestRefusalsOfTwoNodes(t *testing.T) {
	c := newTown(t, nil)
	for i, text := range []string{"one", "two", "three", "four"} {
		refuse(t, c.nodes[i%2], int64(i+1), text)
	}
	var texts []string
	for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
		p := view[refusals](c, "/api/refusals?kind=refused&limit=1&cursor="+cursor)
		texts, cursor = append(texts, p.texts()...), p.Next
	}
	if got := strings.Join(texts, ","); got != "four,three,two,one" {
		t.Error(got)
	}
	if own := view[refusals](c, "/api/refusals?kind=refused&node=n2"); len(own.Refusals) != 2 || own.Refusals[0].Node != "n2" {
		t.Errorf("%+v", own)
	}
	at := events.At{Time: past()}
	for _, n := range c.nodes {
		n.Events().Publish(lifecycle.Ended{At: at, Subject: &lifecycle.Subject{Conversation: "c", Agent: "a"}, State: "answered"})
	}
	v := view[rates](c, "/api/rates")
	together := 0
	for i, s := range v.Samples {
		if s["ended"] == 2.0 {
			together++
		}
		if i > 0 && s["time"].(string) <= v.Samples[i-1]["time"].(string) {
			t.Errorf("sample %d is not later than the one before: %+v", i, v)
		}
	}
	if together != 1 {
		t.Errorf("%+v", v)
	}
}

// The node itself is listed with the conversations that its program has begun, so that the list has
// as many agents as the node counts.
func TestNodeIsListed(t *testing.T) {
	n, h, w := serve(t, nil)
	delegate(t, n, w, performatives.TaskRequest{TaskType: "work"})
	type row struct {
		Agent, Node   string
		Conversations int
	}
	all := read[struct{ Agents []row }](t, h, "/api/agents").Agents
	if want := []row{{"node", "node", 1}, {"w", "node", 1}}; !slices.Equal(all, want) {
		t.Errorf("got %+v, want %+v", all, want)
	}
	if of := read[struct{ Agents int }](t, h, "/api/node"); of.Agents != len(all) {
		t.Errorf("%d agents are counted, and %d listed", of.Agents, len(all))
	}
}

// An agent's handlers under way, its errors and its restarts are shown.
func TestAgentsAtWork(t *testing.T) {
	n, h, w := serve(t, nil)
	result := delegate(t, n, w, performatives.TaskRequest{TaskType: "work"})
	type agents struct {
		Agents []map[string]any `json:"agents"`
	}
	of := func() map[string]any {
		for _, a := range read[agents](t, h, "/api/agents").Agents {
			if a["agent"] == "w" {
				return a
			}
		}
		return nil
	}
	if got := of(); got["running"] != 1.0 || got["errors"] != 0.0 || got["restarts"] != 0.0 {
		t.Errorf("%+v", got)
	}
	n.Events().Publish(lifecycle.JobFailed{Agent: "W", Err: errors.New("oh")})
	if got := of(); got["errors"] != 1.0 {
		t.Errorf("%+v", got)
	}
	if err := n.StopAgent(patience.Context(t), "w"); err != nil {
		t.Fatal(err)
	}
	if err := <-result; err == nil {
		t.Error("the work has ended well")
	}
}

// An agent whose actor does not come back is shown as busy, with what it handles, until it does.
func TestBusyAgentIsShown(t *testing.T) {
	if enginedispatcher.Enabled {
		t.Skip("the engine's dispatcher does not tell which agents are busy")
	}
	n, h, _ := serve(t, nil)
	entered, release := make(chan struct{}), make(chan struct{})
	if err := n.Spawn(patience.Context(t), "stuck", func() actors.Agent { return stuck{entered, release} }); err != nil {
		t.Fatal(err)
	}
	m, err := performatives.New(performatives.Envelope{
		ID: "m1", Performative: performatives.ActInform, Sender: "Ada", Receiver: "stuck", Timestamp: time.Now(), Payload: performatives.Raw(`{"a":1}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Send(m); err != nil {
		t.Fatal(err)
	}
	<-entered
	await := func(busy bool) {
		type row struct {
			Agent string     `json:"agent"`
			Since *time.Time `json:"busy_since"`
			With  string     `json:"busy_with"`
		}
		for ctx := patience.Context(t); ctx.Err() == nil; goruntime.Gosched() {
			for _, a := range read[struct{ Agents []row }](t, h, "/api/agents").Agents {
				if a.Agent == "stuck" && (a.Since != nil) == busy && (!busy || a.With == "INFORM of Ada in conversation m1") {
					return
				}
			}
		}
		t.Errorf("busy=%t is not shown", busy)
	}
	await(true)
	close(release)
	await(false)
}

// stuck is an agent that blocks its actor.
type stuck struct{ entered, release chan struct{} }

func (stuck) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (s stuck) Receive(*actors.Context, *performatives.Message) {
	close(s.entered)
	<-s.release
}

// A node that has not reached any of its seeds is not ready, and says so.
func TestReadyWithCluster(t *testing.T) {
	const seed = "127.0.0.1:1" // where nobody listens
	n, err := runtime.New(runtime.Options{Name: "n", Cluster: &runtime.ClusterOptions{
		Gossip: "127.0.0.1:0", Profile: membership.Local, Join: []string{seed}, JoinTime: time.Millisecond,
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = n.Stop(context.Background()) }()
	r, err := observe.New(n, observe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	h, err := api.New(api.Options{Node: n, Recorder: r})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if got := ask(checked(t, h), "GET", "/readyz", ""); got.Code != http.StatusServiceUnavailable || strings.TrimSpace(got.Body.String()) != `{"status":"joining","cluster":"joining"}` {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	c := newTown(t, func(i int, o *api.Options) { o.Draining = func() bool { return i == 1 } })
	if code, text := c.ask("GET", "/readyz", ""); code != http.StatusOK || strings.TrimSpace(text) != `{"status":"ready","cluster":"joined"}` {
		t.Errorf("%d %s", code, text)
	}
	c.servers[0], c.servers[1] = c.servers[1], c.servers[0]
	if code, text := c.ask("GET", "/readyz", ""); code != http.StatusServiceUnavailable || strings.TrimSpace(text) != `{"status":"draining","cluster":"joined"}` {
		t.Errorf("%d %s", code, text)
	}
}
