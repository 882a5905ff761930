package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
)

// actionWorker is a worker with actions.
type actionWorker struct {
	worker
	actions []performatives.Action
}

func (s actionWorker) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"Skills"}, Actions: s.actions}
}

// newActionWorker returns a constructor of workers with those actions. Their results
// contain their ids.
func newActionWorker(actions ...string) func() actors.Agent {
	s := actionWorker{worker: worker{func(_ context.Context, t delegation.Task) (performatives.InformResult, error) {
		return performatives.InformResult{Status: performatives.StatusSuccess, Summary: string(t.Agent.ID())}, nil
	}}}
	for _, name := range actions {
		s.actions = append(s.actions, performatives.Action{Name: name, Description: "does " + name, InputSchema: []byte(`{"type":"object"}`)})
	}
	return returning(s)
}

func TestNamespaceDescribesItsAgents(t *testing.T) {
	h := newHub(t, noPeerOptions)
	h.spawn("crm/invoices", newActionWorker("send_invoice", "list"))
	h.spawn("crm/contacts", newActionWorker("add contact", "LIST"))
	h.spawn("crmx", newActionWorker("other"))
	c := newCaller(t, h, nil)
	for i, test := range []struct {
		to   performatives.AgentID
		want []string
	}{
		{"crm", []string{"add contact", "LIST", "send_invoice"}},
		{"CRM", []string{"add contact", "LIST", "send_invoice"}},
		{"system", []string{"add contact", "LIST", "send_invoice", "other"}},
		{"default", []string{"add contact", "LIST", "send_invoice", "other"}},
		{"hub", []string{"add contact", "LIST", "send_invoice", "other"}},
		{"crmx", []string{"other"}},
	} {
		c.say(message(t, "Eddy", test.to, performatives.ActQueryCapabilities, with(performatives.QueryCapabilities{Type: performatives.QuerySummary})))
		m := c.answer(i + 1)
		a, err := performatives.PayloadAs[performatives.InformCapabilities](m)
		if err != nil || a.Capabilities == nil || !m.Sender().Is(test.to) {
			t.Fatalf("%s: %s from %s, %v", test.to, m.Performative(), m.Sender(), err)
		}
		var names []string
		for _, a := range a.Capabilities.Actions {
			names = append(names, a.Name)
			if test.to != "crmx" && len(a.InputSchema) == 0 { // an agent's own summary has no schemas
				t.Errorf("%s: %s has no schema", test.to, a.Name)
			}
		}
		if !slices.Equal(names, test.want) {
			t.Errorf("%s has %q, want %q", test.to, names, test.want)
		}
	}
}

func TestNamespaceAssignsTasks(t *testing.T) {
	h := newHub(t, noPeerOptions)
	h.spawn("crm/b", newActionWorker("list"))
	h.spawn("crm/a", newActionWorker("List"))
	h.spawn("CRM/Z", newActionWorker("list"))
	h.spawn("crm-z", newActionWorker("count")) // not in the namespace, although its id sorts between the namespace and its agents
	h.spawn("crmx", newActionWorker("count"))
	h.spawn("aaa", newActionWorker("list"))
	h.spawn("real", newActionWorker("list"))
	h.spawn("real/below", newActionWorker("count"))
	c := newCaller(t, h, nil)
	n := 0
	result := func(to performatives.AgentID, action string) (string, performatives.Code) {
		c.say(message(t, "Eddy", to, performatives.ActTaskRequest, with(task(action))))
		for {
			n++
			m := c.answer(n)
			if r := m.AsRefusal(); r != nil {
				return "", r.Code
			}
			if m.Performative() == performatives.ActInformResult {
				p, err := performatives.PayloadAs[performatives.InformResult](m)
				if err != nil {
					t.Fatal(err)
				}
				return p.Summary, ""
			}
		}
	}
	for _, test := range []struct {
		to     performatives.AgentID
		action string
		who    string
		code   performatives.Code
	}{
		{"crm", "list", "crm/a", ""},
		{"crm", "LIST", "crm/a", ""},
		{"system", "list", "aaa", ""},
		{"hub", "list", "aaa", ""},
		{"default", "count", "crm-z", ""},
		{"real", "count", "real", ""}, // an agent takes precedence over a namespace, and accepts any task
		{"crm", "count", "", performatives.CodeUnknownAction},
		{"nobody", "count", "", performatives.CodeUnknownAgent},
	} {
		if who, code := result(test.to, test.action); who != test.who || code != test.code {
			t.Errorf("%s of %s is done by %q, %q, want %q, %q", test.action, test.to, who, code, test.who, test.code)
		}
	}
}

// A namespace does not give a task to its sender.
func TestNamespaceExcludesTheSender(t *testing.T) {
	h := newHub(t, noPeerOptions)
	c := newCaller(t, h, nil)
	c.say(message(t, "Eddy", "system", performatives.ActQueryCapabilities, offers("list")))
	c.answer(1)
	c.say(message(t, "Eddy", "system", performatives.ActTaskRequest, with(task("list"))))
	if r := c.answer(2).AsRefusal(); r == nil || r.Code != performatives.CodeUnknownAction {
		t.Errorf("told %v", r)
	}
}

// A namespace gives a task to an agent of the sender's connection only when no other
// agent has the action.
func TestNamespacePrefersOthers(t *testing.T) {
	h := newHub(t, noPeerOptions)
	c := newCaller(t, h, nil)
	c.say(message(t, "AAA", "system", performatives.ActQueryCapabilities, offers("list")))
	c.answer(1)
	c.say(message(t, "Eddy", "system", performatives.ActTaskRequest, with(task("list"))))
	if m := c.answer(2); m.Performative() != performatives.ActTaskRequest || m.Receiver() != "AAA" {
		t.Errorf("got %s for %s", m.Performative(), m.Receiver())
	}
	h.spawn("zzz", newActionWorker("list"))
	h.spawn("zzzz", newActionWorker("list"))
	c.say(message(t, "Eddy", "system", performatives.ActTaskRequest, with(task("list"))))
	for n := 3; ; n++ {
		m := c.answer(n)
		if m.Performative() == performatives.ActTaskRequest {
			t.Fatalf("%s got it", m.Receiver())
		}
		if m.Performative() != performatives.ActInformResult {
			continue
		}
		if p, err := performatives.PayloadAs[performatives.InformResult](m); err != nil || p.Summary != "zzz" {
			t.Errorf("done by %q, %v", p.Summary, err)
		}
		return
	}
}

// A conversation with a namespace stays with the agent that got the task.
func TestCancelInNamespace(t *testing.T) {
	started, ended := make(chan struct{}, 1), make(chan error, 1)
	h := newHub(t, noPeerOptions)
	h.spawn("crm/a", returning(actionWorker{newCancellableWorker(started, ended), []performatives.Action{{Name: "list"}}}))
	c := newCaller(t, h, nil)
	request := message(t, "Eddy", "crm", performatives.ActTaskRequest, with(task("list")))
	c.say(request)
	<-started
	cancel, err := request.Follow(performatives.Stamp{ID: "c1", Time: request.Timestamp()}, performatives.Cancel{})
	if err != nil {
		t.Fatal(err)
	}
	c.say(cancel)
	if why := <-ended; !errors.Is(why, codons.ErrCanceled) {
		t.Errorf("the work ended because of %v", why)
	}
	if !slices.ContainsFunc(c.Await(t, 2), func(m *performatives.Message) bool {
		return m.Performative() == performatives.ActInform && m.Sender() == "crm"
	}) {
		t.Error("there is no receipt")
	}
	c.say(cancel) // the conversation is over
	if r := c.answer(3).AsRefusal(); r == nil || r.Code != performatives.CodeConversationEnded {
		t.Errorf("told %v", r)
	}
}

func TestListOfAgents(t *testing.T) {
	h := newHub(t, noPeerOptions)
	h.spawn("Jules", newActionWorker("debug_code"))
	o := newOutpost(t, h, "out")
	if err := o.up.Connect(patience.Context(t)); err != nil {
		t.Fatal(err)
	}
	m, err := o.Ask(patience.Context(t), "system", performatives.QueryRef{Reference: "agents"})
	if err != nil {
		t.Fatal(err)
	}
	a, err := performatives.PayloadAs[performatives.InformRef](m)
	if err != nil {
		t.Fatal(err)
	}
	agents, err := performatives.Decode[[]struct {
		ID      string                 `json:"id"`
		Node    string                 `json:"node"`
		Actions []performatives.Action `json:"actions"`
	}](a.Value)
	if err != nil || len(agents) != 1 || agents[0].ID != "Jules" || agents[0].Node != "hub" || len(agents[0].Actions) != 1 {
		t.Errorf("got %+v, %v", agents, err)
	}
	m, err = o.Ask(patience.Context(t), "system", performatives.QueryRef{Reference: "members"})
	if err != nil {
		t.Fatal(err)
	}
	if a, err = performatives.PayloadAs[performatives.InformRef](m); err != nil {
		t.Fatal(err)
	}
	const members = `[{"node":"hub","epoch":0,"gossip":"","links":"","labels":{},"leaving":false,"agents":1}]` // a node without a cluster is the only one
	if got, err := json.Marshal(a.Value); err != nil || string(got) != members {
		t.Errorf("the members are %s, %v", got, err)
	}
	if _, err := o.Ask(patience.Context(t), "system", performatives.QueryRef{Reference: "weather"}); !errors.Is(err, performatives.CodeUnknownReference) {
		t.Errorf("an unknown reference: %v", err)
	}
	for _, to := range []performatives.AgentID{"system", "Jules"} { // neither decides conditions
		if _, err := o.Ask(patience.Context(t), to, performatives.QueryIf{Condition: performatives.ContentOf("it rains")}); !errors.Is(err, performatives.CodeCannotDecide) {
			t.Errorf("a statement to %s: %v", to, err)
		}
	}
	if _, err := o.Ask(patience.Context(t), "Jules", performatives.QueryRef{Reference: "weather"}); !errors.Is(err, performatives.CodeUnknownReference) {
		t.Errorf("a reference of an agent that has none: %v", err)
	}
}

func TestIntroductions(t *testing.T) {
	h := newHub(t, noPeerOptions)
	h.spawn("Eliza", newActionWorker("chat"))
	for name, to := range map[string]performatives.AgentID{"a": "system", "b": "hub", "c": "", "d": "Eliza"} {
		c := newCaller(t, h, nil)
		id := performatives.AgentID(name)
		c.say(message(t, id, to, performatives.ActQueryCapabilities, offers("work-"+name)))
		a, err := performatives.PayloadAs[performatives.InformCapabilities](c.answer(1))
		if err != nil || a.Capabilities == nil {
			t.Errorf("to %q: %+v, %v", to, a, err)
		} else if _, ok := a.Capabilities.Action("chat"); !ok {
			t.Errorf("to %q: told of %+v", to, a.Capabilities.Actions)
		}
		if e, ok := h.Directory().Lookup(id); !ok || len(e.Capabilities.Actions) != 1 || !slices.Contains(h.Directory().IDs(), id) {
			t.Errorf("to %q: found as %+v, %t", to, e, ok)
		}
	}
}

// namespaces are the names under which a peer can reach the agent team/a.
var namespaces = []performatives.AgentID{"system", "Default", "hub", "team"}

// A peer that is a node can delegate to a namespace as to an agent.
func TestDelegateToNamespace(t *testing.T) {
	h := newHub(t, noPeerOptions)
	h.spawn("team/a", returning(actionWorker{reporter, []performatives.Action{{Name: "debug_code"}}}))
	o := connected(t, h, "out", nil)
	for _, name := range namespaces {
		progress := 0.0
		got, err := delegation.Delegate(patience.Context(t), o, name, performatives.TaskRequest{TaskType: "debug_code", Description: "x"},
			delegation.WithProgress(func(u performatives.StatusUpdate) { progress = *u.Progress }))
		if err != nil || got.Summary != "done: x" || progress != 50 {
			t.Errorf("%s: %+v, %v, %v %%", name, got, err, progress)
		}
	}
	if _, err := delegation.Delegate(patience.Context(t), o, "team", task("unheard_of")); !errors.Is(err, performatives.CodeUnknownAction) {
		t.Errorf("what nobody can do: %v", err)
	}
}

func TestCancelNamespaceAcross(t *testing.T) {
	started, ended := make(chan struct{}, 1), make(chan error, 1)
	h := newHub(t, noPeerOptions)
	h.spawn("team/a", returning(actionWorker{newCancellableWorker(started, ended), []performatives.Action{{Name: "debug_code"}}}))
	o := connected(t, h, "out", nil)
	for _, name := range namespaces {
		cancelAcross(t, o, name, started, ended)
	}
}

func TestNamespaceNeedsInput(t *testing.T) {
	curious := worker{func(ctx context.Context, t delegation.Task) (performatives.InformResult, error) {
		more, err := t.NeedInput(ctx, "which file?")
		return performatives.InformResult{Status: performatives.StatusSuccess, Summary: more.Description}, err
	}}
	h := newHub(t, noPeerOptions)
	h.spawn("team/a", returning(actionWorker{curious, []performatives.Action{{Name: "debug_code"}}}))
	o := connected(t, h, "out", nil)
	for _, name := range namespaces {
		got, err := delegation.Delegate(patience.Context(t), o, name, task("debug_code"),
			delegation.WithInput(func(context.Context, performatives.InformResult) (performatives.TaskRequest, bool) {
				return performatives.TaskRequest{TaskType: "debug_code", Description: "main.py"}, true
			}))
		if err != nil || got.Summary != "main.py" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// An immediate refusal is sent under the name of the namespace, also when the agent is a
// peer with a full connection.
func TestNamespaceRefusesUnderItsName(t *testing.T) {
	h := newHub(t, noPeerOptions)
	busy, proceed := make(chan struct{}, 2), make(chan struct{})
	create := returning(&slow{actionWorker{actions: []performatives.Action{{Name: "list"}}}, busy, proceed})
	if err := h.Spawn(patience.Context(t), "team/a", create, runtime.WithCapacity(1)); err != nil {
		t.Fatal(err)
	}
	defer close(proceed)
	c := newCaller(t, h, nil)
	c.say(message(t, "Eddy", "team/a", performatives.ActInform))
	<-busy
	c.say(message(t, "Eddy", "team/a", performatives.ActInform)) // fills the mailbox
	c.say(message(t, "Eddy", "team", performatives.ActTaskRequest, with(task("list"))))
	if r := c.answer(1).AsRefusal(); r == nil || r.Code != performatives.CodeBusy || r.From != "team" {
		t.Errorf("told %+v", r)
	}
}

// slow is an agent that blocks in its first message until proceed is closed.
type slow struct {
	actionWorker
	busy    chan<- struct{}
	proceed <-chan struct{}
}

func (s *slow) Receive(*actors.Context, *performatives.Message) {
	s.busy <- struct{}{}
	<-s.proceed
}

// A message to a namespace goes to the namespace, even if the peer has a conversation of
// the same id with an agent.
func TestNamespaceBesideAnAgent(t *testing.T) {
	started, ended := make(chan struct{}, 1), make(chan error, 1)
	h := newHub(t, noPeerOptions)
	h.spawn("Jules", returning(newCancellableWorker(started, ended)))
	c := newCaller(t, h, nil)
	request := message(t, "Eddy", "Jules", performatives.ActTaskRequest, with(task("list")))
	c.say(request)
	<-started
	c.answer(1) // TASK_ACCEPT
	c.say(message(t, "Eddy", "system", performatives.ActQueryCapabilities, with(performatives.QueryCapabilities{Type: performatives.QuerySummary}),
		func(e *performatives.Envelope) { e.ConversationID = request.ConversationID() }))
	if m := c.answer(2); m.Performative() != performatives.ActInformCapabilities || m.Sender() != "system" {
		t.Errorf("%s from %s", m.Performative(), m.Sender())
	}
}

// polyglot is an agent that reads one language.
type polyglot struct{}

func (polyglot) Describe() performatives.Capabilities {
	return performatives.Capabilities{Actions: []performatives.Action{{Name: "sing"}}, Languages: []string{"application/json"}}
}

// An agent that declares languages refuses others, naming those it has, whether it is of the node or
// of a peer. Natural languages pass (addenda §9).
func TestLanguages(t *testing.T) {
	h := newHub(t, noPeerOptions)
	h.spawn("Here", func() actors.Agent { return polyglot{} })
	o := newOutpost(t, h, "out")
	if err := o.Spawn(patience.Context(t), "There", func() actors.Agent { return polyglot{} }); err != nil {
		t.Fatal(err)
	}
	if err := o.up.Connect(patience.Context(t)); err != nil {
		t.Fatal(err)
	}
	h.awaitVisible("There")
	for _, to := range []performatives.AgentID{"Here", "There"} {
		for language, want := range map[string]performatives.Code{"": performatives.CodeUnknownReference, "en": performatives.CodeUnknownReference, "application/xml": performatives.CodeUnsupportedLanguage} {
			_, err := h.Ask(patience.Context(t), to, performatives.QueryRef{Reference: "x"}, func(e *performatives.Envelope) { e.Language = language })
			r := performatives.RefusalOf(err)
			if r == nil || r.Code != want || want == performatives.CodeUnsupportedLanguage && !strings.Contains(r.Text, `"application/json"`) {
				t.Errorf("%s in %q: %v, want %s", to, language, err, want)
			}
		}
	}
}

// member is a worker of a group, which is busy or performs tasks.
type member struct {
	worker
	busy bool
}

func (member) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"Code Review"}}
}

func (w member) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	if w.busy {
		return delegation.Reject(performatives.CodeBusy, "after lunch")
	}
	return delegation.Accept()
}

// A task for a group goes to the first of its agents that accepts it, and that the peer may call.
func TestGroup(t *testing.T) {
	h := newHub(t, noPeerOptions, func(o *wire.Options) {
		o.Authorize = func(_ wire.Identity, m *performatives.Message) error {
			if m.Receiver().Is("Adam") {
				return errors.New("not Adam")
			}
			return nil
		}
	})
	performed := func(by string) func(context.Context, delegation.Task) (performatives.InformResult, error) {
		return func(context.Context, delegation.Task) (performatives.InformResult, error) {
			return performatives.InformResult{Status: performatives.StatusSuccess, Summary: by}, nil
		}
	}
	h.spawn("Adam", func() actors.Agent { return member{worker{performed("Adam")}, false} })
	h.spawn("Bea", func() actors.Agent { return member{worker{performed("Bea")}, true} })
	h.spawn("Cem", func() actors.Agent { return member{worker{performed("Cem")}, false} })
	o := newOutpost(t, h, "out")
	if err := o.up.Connect(patience.Context(t)); err != nil {
		t.Fatal(err)
	}
	task := performatives.TaskRequest{TaskType: "review"}
	for range 2 {
		r, err := o.Delegate(patience.Context(t), "group:code_review", task)
		if err != nil || r.Summary != "Cem" || string(r.Extra["handled_by"]) != `"Cem"` {
			t.Errorf("got %+v, %v", r, err)
		}
	}
	other := newOutpost(t, newHubOf(t, h.Node, noPeerOptions), "other") // by another server of the node
	if err := other.up.Connect(patience.Context(t)); err != nil {
		t.Fatal(err)
	}
	if r, err := other.Delegate(patience.Context(t), "group:code_review", task); err != nil || r.Summary != "Adam" {
		t.Errorf("of another server: %+v, %v", r, err)
	}
	if _, err := o.Delegate(patience.Context(t), "group:singing", task); !errors.Is(err, performatives.CodeNoMatch) {
		t.Errorf("a group of nobody: %v", err)
	}
	if err := h.StopAgent(patience.Context(t), "Cem"); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Delegate(patience.Context(t), "group:Code Review", task); !errors.Is(err, performatives.CodeNoMatch) || !strings.Contains(err.Error(), "Bea: busy") {
		t.Errorf("a group that is busy: %v", err)
	}
}

// Where the agent that delegates tasks of groups cannot start, the asker is told so.
func TestGroupWithoutItsAgent(t *testing.T) {
	h := newHub(t, noPeerOptions)
	h.spawn("hub/groups", func() actors.Agent { return member{} })
	o := newOutpost(t, h, "out")
	if err := o.up.Connect(patience.Context(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Delegate(patience.Context(t), "group:code_review", performatives.TaskRequest{TaskType: "review"}); !errors.Is(err, performatives.CodeInternal) || !strings.Contains(err.Error(), "it could not start one") {
		t.Errorf("got %v", err)
	}
}
