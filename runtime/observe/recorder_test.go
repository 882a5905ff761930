package observe_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/internal/leakcheck"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/runtime/observe"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// worker is an agent whose PerformTask is a function.
type worker func(context.Context) (performatives.InformResult, error)

func (worker) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"Work"}}
}

func (worker) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

func (w worker) PerformTask(ctx context.Context, _ delegation.Task) (performatives.InformResult, error) {
	return w(ctx)
}

// record starts a node and a recorder of its events.
func start(t *testing.T) *runtime.Node {
	t.Helper()
	n, err := runtime.New(runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return n
}

func record(t *testing.T, o observe.Options) (*runtime.Node, *observe.Recorder) {
	t.Helper()
	n := start(t)
	r, err := observe.New(n, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return n, r
}

// message returns a message of a conversation.
func message(t *testing.T, conversation, id string, payload any) *performatives.Message {
	t.Helper()
	m, err := performatives.New(performatives.Envelope{
		ID: performatives.MessageID(id), Performative: performatives.ActInform, Sender: "a", Receiver: "b",
		ConversationID: performatives.ConversationID(conversation), Timestamp: time.Unix(1, 0), Payload: payload,
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// sent publishes that messages were sent, in order.
func sent(n *runtime.Node, all ...*performatives.Message) {
	for _, m := range all {
		n.Events().Publish(events.MessageSent{At: events.At{Time: m.Timestamp()}, Message: m})
	}
}

// A delegation is live while it runs, and its messages, sides and ends stay readable afterwards.
func TestRecordsADelegation(t *testing.T) {
	n, r := record(t, observe.Options{})
	begun, finish := make(chan struct{}), make(chan struct{})
	err := n.Spawn(patience.Context(t), "w", func() actors.Agent {
		return worker(func(context.Context) (performatives.InformResult, error) {
			close(begun)
			<-finish
			return performatives.InformResult{Status: performatives.StatusSuccess, Summary: "done"}, nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	result := make(chan error)
	go func() {
		_, err := n.Delegate(patience.Context(t), "w", performatives.TaskRequest{TaskType: "work", Description: "do it"})
		result <- err
	}()
	<-begun
	live := r.Conversations()
	if len(live) != 1 || !live[0].Live || len(live[0].Sides) != 2 || live[0].Protocol == "" || live[0].Messages != nil {
		t.Errorf("under way: %+v", live)
	}
	for _, c := range live {
		for _, s := range c.Sides {
			if s.Ended || s.Path != nil || s.State == "" || s.Since.IsZero() || s.Role == "initiator" && s.Deadline.IsZero() {
				t.Errorf("under way: %+v", s)
			}
		}
	}
	c, _ := r.Conversation(live[0].ID)
	for i, want := range []string{"initiator idle requested", "responder idle considering working"} { // it may be later before the initiator knows of the work
		if s := c.Sides[i]; !strings.HasPrefix(s.Role+" "+strings.Join(s.Path, " "), want) {
			t.Errorf("under way: the %s has come through %q, want %q", s.Role, s.Path, want)
		}
	}
	close(finish)
	if err := <-result; err != nil {
		t.Fatal(err)
	}
	if err := n.Stop(patience.Context(t)); err != nil { // both sides have ended
		t.Fatal(err)
	}
	r.Close()
	ended := r.Conversations()
	if len(ended) != 1 || ended[0].Live {
		t.Fatalf("afterwards: %+v", ended)
	}
	c, ok := r.Conversation(ended[0].ID)
	if !ok || len(c.Sides) != 2 || !c.Sides[0].Ended || !c.Sides[1].Ended || c.Count != len(c.Messages) || c.Count < 2 {
		t.Fatalf("afterwards: %+v", c)
	}
	for _, s := range c.Sides {
		if want := map[string]string{"initiator": "idle requested working completed", "responder": "idle considering working completed"}[s.Role]; strings.Join(s.Path, " ") != want {
			t.Errorf("the path of the %s is %q, want %q", s.Role, s.Path, want)
		}
	}
	first, last := c.Messages[0], c.Messages[len(c.Messages)-1]
	if first.Sender != "node" || first.Receiver != "w" || first.Sent != 1 || first.Received != 1 || !strings.Contains(string(first.Payload), "do it") {
		t.Errorf("first message: %+v", first)
	}
	if last.Performative != "INFORM_RESULT" || last.Sender != "w" || !strings.Contains(string(last.Payload), `"done"`) {
		t.Errorf("last message: %+v", last)
	}
	if _, ok := r.Conversation("none"); ok {
		t.Error("found a conversation that never was")
	}
	if got := r.Counts(); got.Lost != 0 || got.Forgotten != 0 || got.Conversations != 1 || got.Bytes <= 0 {
		t.Errorf("%+v", got)
	}
}

// A message that is sent twice and then refused is one message.
func TestRecordsACopyOnce(t *testing.T) {
	n, r := record(t, observe.Options{})
	m := message(t, "c", "1", nil)
	sent(n, m, m)
	n.Events().Publish(events.MessageRefused{Message: m, Refusal: &performatives.Refusal{Code: performatives.CodeUnknownAgent}})
	r.Close()
	c, _ := r.Conversation("c")
	if len(c.Messages) != 1 || c.Messages[0].Sent != 2 || c.Messages[0].Refused != performatives.CodeUnknownAgent {
		t.Errorf("%+v", c)
	}
}

// Each bound pushes out the oldest, and says how much.
func TestBounds(t *testing.T) {
	size := func(messages int) int { // of a conversation
		n, r := record(t, observe.Options{})
		for i := range messages {
			sent(n, message(t, "c3", fmt.Sprint(i), nil))
		}
		r.Close()
		return r.Counts().Bytes
	}
	for _, test := range []struct {
		name      string
		options   observe.Options
		want      string // ids of the conversations
		messages  string // ids of the messages of the last conversation
		forgotten uint64
	}{
		{"none reached", observe.Options{}, "c1 c2 c3", "5 6 7", 0},
		{"conversations", observe.Options{Conversations: 2}, "c1 c3", "5 6 7", 1}, // c1 had a later event than c2
		{"messages", observe.Options{Messages: 2}, "c1 c2 c3", "6 7", 0},
		{"bytes", observe.Options{Bytes: size(3) + 500}, "c3", "5 6 7", 2},
		{"bytes of one conversation", observe.Options{Bytes: size(2) + 100}, "c3", "6 7", 3}, // c1 twice
	} {
		t.Run(test.name, func(t *testing.T) {
			n, r := record(t, test.options)
			for i, c := range []string{"c1", "c2", "c1", "c1", "c3", "c3", "c3"} {
				sent(n, message(t, c, fmt.Sprint(i+1), nil))
			}
			r.Close()
			var ids, messages []string
			for _, c := range r.Conversations() {
				ids = append(ids, string(c.ID))
			}
			c, _ := r.Conversation("c3")
			for _, m := range c.Messages {
				messages = append(messages, string(m.ID))
			}
			if got := strings.Join(ids, " "); got != test.want {
				t.Errorf("conversations %q, want %q", got, test.want)
			}
			if got := strings.Join(messages, " "); got != test.messages || c.Count != 3 || c.Forgotten != 3-len(messages) {
				t.Errorf("messages %q, want %q: %+v", got, test.messages, c)
			}
			if got := r.Counts(); got.Forgotten != test.forgotten || test.options.Bytes > 0 && got.Bytes > test.options.Bytes {
				t.Errorf("%+v, want %d forgotten", got, test.forgotten)
			}
		})
	}
}

// code is a payload whose JSON is made by a function.
type code struct{ make func() ([]byte, error) }

func (c code) MarshalJSON() ([]byte, error) { return c.make() }

// A payload without JSON, or with too much of it, is left out with a reason that quotes nothing of
// it.
func TestPayloadLeftOut(t *testing.T) {
	for _, test := range []struct {
		name    string
		payload any
		want    string
	}{
		{"panic", code{func() ([]byte, error) { panic("canary") }}, "panicked"},
		{"error", code{func() ([]byte, error) { return nil, fmt.Errorf("canary") }}, "cannot be made"},
		{"too large", performatives.Raw(`{"text":"canary` + strings.Repeat("x", 100) + `"}`), "it has 117 bytes, and the recorder keeps 100"},
	} {
		t.Run(test.name, func(t *testing.T) {
			n, r := record(t, observe.Options{PayloadBytes: 100})
			sent(n, message(t, "c", "1", test.payload))
			r.Close()
			c, _ := r.Conversation("c")
			if len(c.Messages) != 1 || c.Messages[0].Payload != nil || !strings.Contains(c.Messages[0].LeftOut, test.want) ||
				strings.Contains(c.Messages[0].LeftOut, "canary") {
				t.Errorf("%+v", c.Messages)
			}
		})
	}
}

// A message that is refused is shown as before, with the code of its last refusal, also one that
// the recorder does not keep in memory.
func TestRefusedMessage(t *testing.T) {
	for _, size := range []int{10, 1 << 20} {
		n, r := record(t, observe.Options{PayloadBytes: 100})
		m := message(t, "c", "1", performatives.Raw(`{"text":"`+strings.Repeat("x", size)+`"}`))
		sent(n, m)
		before, _ := r.Conversation("c")
		n.Events().Publish(events.DeadLetter{Message: m, Code: performatives.CodeStopped})
		n.Events().Publish(events.MessageRefused{Message: m, Refusal: &performatives.Refusal{Code: performatives.CodeBusy}})
		after, _ := r.Conversation("c")
		if len(after.Messages) != 1 || after.Messages[0].Refused != performatives.CodeBusy || before.Messages[0].Refused != "" {
			t.Fatalf("%d bytes: %+v", size, after.Messages)
		}
		after.Messages[0].Refused = ""
		if diff := cmp.Diff(before.Messages, after.Messages); diff != "" {
			t.Errorf("%d bytes: %s", size, diff)
		}
		r.Close()
	}
}

// A message is shown with the time that the caller gives, as it is.
func TestShowHasTheTime(t *testing.T) {
	_, r := record(t, observe.Options{})
	defer r.Close()
	for _, at := range []time.Time{{}, time.Date(1600, 1, 2, 3, 4, 5, 6, time.FixedZone("east", 9*3600))} {
		if got := r.Show(at, message(t, "c", "1", nil)).Time; got != at {
			t.Errorf("%v is shown as %v", at, got)
		}
	}
}

// Secrets in payloads are masked unless the options say otherwise.
func TestPayloadMasked(t *testing.T) {
	for _, test := range []struct {
		mask []string
		want string
	}{
		{nil, `{"text":"hi","token":"***"}`},
		{[]string{"text"}, `{"text":"***","token":"canary"}`},
		{[]string{}, `{"text":"hi","token":"canary"}`},
	} {
		n, r := record(t, observe.Options{Mask: test.mask})
		sent(n, message(t, "c", "1", performatives.Raw(`{"token":"canary","text":"hi"}`)))
		r.Close()
		c, _ := r.Conversation("c")
		if len(c.Messages) != 1 || string(c.Messages[0].Payload) != test.want {
			t.Errorf("%q: %+v", test.mask, c.Messages)
		}
	}
}

func TestOptionsRefused(t *testing.T) {
	n, _ := record(t, observe.Options{})
	if _, err := observe.New(n, observe.Options{Bytes: -1}); err == nil || !strings.Contains(err.Error(), "Options.Bytes is -1") {
		t.Errorf("got %v", err)
	}
}

// The record has the parent of a conversation, and its sides count toward the bound on memory. Of
// two ends of one side, the later one counts.
func TestRecordsEnds(t *testing.T) {
	n, r := record(t, observe.Options{Conversations: 1})
	of := lifecycle.Subject{Agent: "a", Peer: "b", Conversation: "old", Protocol: "p"}
	publish := func(n *runtime.Node, of lifecycle.Subject, began, at int64, state machine.State) {
		n.Events().Publish(lifecycle.Ended{At: events.At{Time: time.Unix(at, 0)}, Subject: &of, State: state, Began: time.Unix(began, 0)})
	}
	publish(n, of, 0, 1, "done")
	of.Conversation, of.Parent = "c", "top"
	publish(n, of, 2, 3, "done")
	of.Parent = ""
	publish(n, of, 3, 4, "failed")
	of.Peer = "d"
	publish(n, of, 1, 5, "done")
	r.Close()
	c, _ := r.Conversation("c")
	if len(c.Sides) != 2 || c.Parent != "top" || c.Protocol != "p" || !c.Updated.Equal(time.Unix(5, 0)) {
		t.Fatalf("%+v", c)
	}
	for i, want := range []observe.Side{{Peer: "d", State: "done", Since: time.Unix(5, 0)}, {Peer: "b", State: "failed", Since: time.Unix(4, 0)}} { // the first that began first
		if s := c.Sides[i]; !s.Ended || s.Agent != "a" || s.Peer != want.Peer || s.State != want.State || !s.Since.Equal(want.Since) {
			t.Errorf("%+v, want %+v", s, want)
		}
	}
	alone, lone := record(t, observe.Options{})
	publish(alone, of, 1, 2, "done")
	lone.Close()
	if two, one := r.Counts().Bytes, lone.Counts().Bytes; two <= one {
		t.Errorf("two sides have %d bytes, one has %d", two, one)
	}
}

// A child under way has its parent and its budget, also when its events were lost.
func TestLiveChild(t *testing.T) {
	n, r := record(t, observe.Options{})
	r.Close() // records nothing from here on
	recording, err := observe.New(n, observe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer recording.Close()
	begun, finish := make(chan struct{}), make(chan struct{})
	for id, perform := range map[performatives.AgentID]worker{
		"top": func(ctx context.Context) (performatives.InformResult, error) {
			return delegation.Delegate(ctx, n, "leaf", performatives.TaskRequest{TaskType: "work"})
		},
		"leaf": func(context.Context) (performatives.InformResult, error) {
			close(begun)
			<-finish
			return performatives.InformResult{Status: performatives.StatusSuccess}, nil
		},
	} {
		if err := n.Spawn(patience.Context(t), id, func() actors.Agent { return perform }); err != nil {
			t.Fatal(err)
		}
	}
	result := make(chan error)
	go func() {
		_, err := n.Delegate(patience.Context(t), "top", performatives.TaskRequest{TaskType: "work"}, codons.WithBudget(codons.Budget{"usd": 5}))
		result <- err
	}()
	<-begun
	all := r.Conversations()
	if len(all) != 2 {
		t.Fatalf("%+v", all)
	}
	child, ok := r.Conversation(all[0].ID)
	if !ok || child.Parent != all[1].ID || !child.Live || len(child.Sides) != 2 || child.Sides[0].Budget == nil || child.Began.IsZero() {
		t.Errorf("%+v", child)
	}
	if got := r.Children(child.Parent); !slices.Equal(got, []performatives.ConversationID{child.ID}) || len(r.Children(child.ID)) > 0 {
		t.Errorf("the children are %v, want %s", got, child.ID)
	}
	if trace, ok := recording.Trace(string(child.ID)); !ok || trace.ID != child.Parent || trace.Messages[0].Conversation != child.Parent {
		t.Errorf("the trace of the child: %+v", trace)
	}
	close(finish)
	if err := <-result; err != nil {
		t.Fatal(err)
	}
}

// The path of a side has its last states in their order, and is not in lists. Of two ends of one
// side, the path of the later one counts. A conversation that takes the memory of a forgotten one
// has none of its path.
func TestPath(t *testing.T) {
	n, r := record(t, observe.Options{Conversations: 1})
	end := func(conversation string, state machine.State, path ...machine.State) {
		n.Events().Publish(lifecycle.Ended{
			Subject: &lifecycle.Subject{Conversation: performatives.ConversationID(conversation), Protocol: "p", Agent: "a", Peer: "b", Role: machine.Initiator}, State: state, Path: path,
		})
	}
	path := func(conversation string) string {
		t.Helper()
		c, ok := r.Conversation(performatives.ConversationID(conversation))
		if !ok || len(c.Sides) != 1 {
			t.Fatalf("%+v", c)
		}
		c.Sides[0].Path = append(c.Sides[0].Path, "the caller's") // it owns the result
		return strings.Join(c.Sides[0].Path[:len(c.Sides[0].Path)-1], " ")
	}
	end("one", "answered", "idle", "asked", "answered")
	end("one", "abandoned", "asked") // of an actor that failed, after a step of which nothing is known
	for range 2 {
		if got := path("one"); got != "asked abandoned" {
			t.Error(got)
		}
	}
	before := r.Counts().Bytes
	var long []machine.State
	for i := range observe.MaxPath {
		long = append(long, machine.State(fmt.Sprint(i)))
	}
	end("one", "abandoned", long...)
	if got := strings.Fields(path("one")); len(got) != observe.MaxPath || got[0] != "1" || got[observe.MaxPath-1] != "abandoned" {
		t.Errorf("%d: %q", len(got), got)
	}
	if got := r.Counts().Bytes - before; got != 16*(observe.MaxPath-1) {
		t.Errorf("the longer path counts %d bytes", got)
	}
	if all := r.Conversations(); len(all) != 1 || all[0].Sides[0].Path != nil {
		t.Errorf("a list has %+v", all)
	}
	end("two", "told", "idle", "asked", "told")
	end("three", "told", "idle", "told")
	if got := path("three"); got != "idle told" {
		t.Error(got)
	}
}

// An agent that speaks with itself has two sides.
func TestSidesOfOneAgent(t *testing.T) {
	n, r := record(t, observe.Options{})
	for _, role := range []machine.Role{machine.Initiator, machine.Responder} {
		n.Events().Publish(lifecycle.Ended{Subject: &lifecycle.Subject{Conversation: "c", Protocol: "p", Agent: "a", Peer: "a", Role: role}, State: "done"})
	}
	c, _ := r.Conversation("c")
	if len(c.Sides) != 2 || c.Sides[0].Role != "initiator" || c.Sides[1].Role != "responder" {
		t.Errorf("%+v", c.Sides)
	}
}
