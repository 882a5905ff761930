package runtime_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/watch"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
)

// codeReview is the codon of an application: a change is reviewed until it is approved.
var codeReview = codons.MustDefine(codons.Definition{
	Table: machine.Table{
		Name: "code-review", Title: "Code review", Purpose: "A change is reviewed until it is approved.", Source: "the tests",
		Terminal: []machine.State{"approved"},
		Jobs: []machine.Job{
			{Role: machine.Responder, Name: "review", Ends: []string{"approve", "comment"}, Doc: "the change is read"},
			{Role: machine.Initiator, Name: "revise", Ends: []string{"resubmit"}, Doc: "the change is revised"},
		},
		Rows: []machine.Row{
			machine.Asks(machine.Idle).When(machine.Commanded(machine.CommandStart)).Goto("waiting", machine.Send(performatives.ActRequest)).Because("a change"),
			machine.Asks("waiting").When(machine.ReceiveTagged(performatives.ActInform, "REVIEW_DONE")).Goto("approved").Because("no objections"),
			machine.Asks("waiting").When(machine.ReceiveTagged(performatives.ActInform, "REVIEW_COMMENTS")).Goto("revising", machine.Run("revise")).Because("comments"),
			machine.Asks("revising").When(machine.Commanded("resubmit")).Goto("waiting", machine.Send(performatives.ActRequest)).Because("it is revised"),
			machine.Answers(machine.Idle, "commented").When(machine.Receive(performatives.ActRequest)).Goto("reviewing", machine.Run("review")).Because("a change"),
			machine.Answers("reviewing").When(machine.Commanded("approve")).Goto("approved", machine.SendTagged(performatives.ActInform, "REVIEW_DONE")).Because("no objections"),
			machine.Answers("reviewing").When(machine.Commanded("comment")).Goto("commented", machine.SendTagged(performatives.ActInform, "REVIEW_COMMENTS")).Because("objections"),
		},
	},
	Messages: codons.Messages{
		"REVIEW_REQUEST":  codons.Says[review](performatives.ActRequest),
		"REVIEW_COMMENTS": codons.Says[verdict](performatives.ActInform),
		"REVIEW_DONE":     codons.Says[verdict](performatives.ActInform),
	},
})

// codeReviewer is what an agent implements to review code.
type codeReviewer interface {
	actors.Agent
	Review(ctx context.Context, t codons.Turn[review]) (codons.Command, error)
}

// strictReviewer approves test files only.
type strictReviewer struct{}

func (strictReviewer) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"review"}}
}

func (strictReviewer) Review(_ context.Context, t codons.Turn[review]) (codons.Command, error) {
	if !strings.HasSuffix(t.Content.File, "_test.go") {
		return codons.Command{Name: "comment", Data: verdict{File: t.Content.File}}, nil
	}
	return codons.Command{Name: "approve", Data: verdict{t.Content.File, true}}, nil
}

// reviewing are the options of a node whose agents review code.
func reviewing() runtime.Options {
	return runtime.Options{Name: "hub", Codons: []*codons.Service{codeReview.Answer(codons.Method("review", codeReviewer.Review))}}
}

// addTest revises a review.
func addTest(_ context.Context, t codons.Turn[verdict]) (codons.Command, error) {
	return codons.Command{Name: "resubmit", Data: review{strings.TrimSuffix(t.Content.File, ".go") + "_test.go"}}, nil
}

// TestOwnCodonOverTransports has an agent review code in two rounds, over each transport and
// dialect and in both directions. Each message has its own message type.
func TestOwnCodonOverTransports(t *testing.T) {
	strict := func() actors.Agent { return strictReviewer{} }
	everywhereOf(t, reviewing(), crew{"Ada": strict}, crew{"Bob": strict}, func(t *testing.T, h *hub, o *outpost, _ **wire.Session) {
		for to, ends := range map[performatives.AgentID][2]*runtime.Node{"Ada": {o.Node, h.Node}, "Bob": {h.Node, o.Node}} {
			asker, home := ends[0], ends[1]
			requests, answers := listen(t, home, events.KindMessageReceived), listen(t, asker, events.KindMessageReceived)
			end, err := codeReview.Ask(patience.Context(t), asker, to, review{"a.go"}, codons.On("revise", addTest), codons.WithRetry(codons.Retry{First: -1}))
			if err != nil || end.State != "approved" {
				t.Fatalf("%s: got %+v, %v", to, end, err)
			}
			if v, err := performatives.PayloadAs[verdict](end.Message); err != nil || v != (verdict{"a_test.go", true}) {
				t.Errorf("%s: got %+v, %v", to, v, err)
			}
			checkTypes(t, requests, to, "REQUEST REVIEW_REQUEST", "REQUEST REVIEW_REQUEST")
			checkTypes(t, answers, asker.Self().ID(), "INFORM REVIEW_COMMENTS", "INFORM REVIEW_DONE")
			if err := home.StopAgent(patience.Context(t), to); err != nil { // over the gateway, each round is a conversation of its own
				t.Error(err)
			}
		}
	})
}

// checkTypes expects an agent to have received messages of these acts and message types.
func checkTypes(t *testing.T, received *record, agent performatives.AgentID, want ...string) {
	t.Helper()
	var got []string
	for _, e := range received.all() {
		if r, ok := e.(events.MessageReceived); ok && r.Agent.Is(agent) {
			got = append(got, r.Message.Performative().String()+" "+r.Message.MessageType())
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s has received (-want +got):\n%s", agent, d)
	}
}

// TestCodonsThatClaimTheSame make no node, and both are named.
func TestCodonsThatClaimTheSame(t *testing.T) {
	role := func(name, typ string) *codons.Service {
		d := codeReview.Definition
		d.Table.Name = name
		d.Messages = codons.Messages{typ: d.Messages["REVIEW_REQUEST"], "REVIEW_COMMENTS": d.Messages["REVIEW_COMMENTS"], "REVIEW_DONE": d.Messages["REVIEW_DONE"]}
		return codons.MustDefine(d).Answer(codons.Method("review", codeReviewer.Review))
	}
	for want, roles := range map[string][]*codons.Service{
		"the protocol code-review, of the codons code-review and code-review":             {role("code-review", "A"), role("code-review", "B")},
		"the message type REVIEW_REQUEST, of the codons code-review and other-review":     {role("code-review", "REVIEW_REQUEST"), role("other-review", "REVIEW_REQUEST")},
		"the protocol task-delegation, of the codons task-delegation and task-delegation": {delegation.Service},
		"Options.Codons[0] is nil": {nil},
	} {
		_, err := runtime.New(runtime.Options{Codons: roles})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestNodeConversations lists what is under way, and finds one by its id.
func TestNodeConversations(t *testing.T) {
	n := newNode(t, reviewing())
	began, goOn := make(chan struct{}), make(chan struct{})
	if err := n.Spawn(patience.Context(t), "Rev", func() actors.Agent { return heldReviewer{began, goOn} }); err != nil {
		t.Fatal(err)
	}
	asked, err := codeReview.Start(patience.Context(t), n, "Rev", review{"a_test.go"}, codons.On("revise", addTest))
	if err != nil {
		t.Fatal(err)
	}
	<-began
	sides := n.Conversation(asked.Conversation())
	if len(sides) != 2 || sides[0].Protocol != "code-review" || len(n.Conversation("another")) != 0 {
		t.Errorf("got %+v", sides)
	}
	close(goOn)
	if _, err := asked.Wait(); err != nil {
		t.Error(err)
	}
}

// heldReviewer waits in its review.
type heldReviewer struct{ began, goOn chan struct{} }

func (heldReviewer) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (r heldReviewer) Review(_ context.Context, t codons.Turn[review]) (codons.Command, error) {
	close(r.began)
	<-r.goOn
	return codons.Command{Name: "approve", Data: verdict{t.Content.File, true}}, nil
}

// proposer answers a review by a PROPOSE, which the table does not have, and a CANCEL by FAILURE.
type proposer struct{}

func (proposer) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (proposer) Receive(c *actors.Context, m *performatives.Message) {
	switch m.Performative() { //nolint:exhaustive // an answer to NOT_UNDERSTOOD would make a loop that fills the queue of the watch
	case performatives.ActCancel:
		_ = c.ReplyAs(m, performatives.ActFailure, performatives.Failure{ErrorCode: performatives.CodeFailed, ErrorText: "nothing was reviewed"})
	case performatives.ActRequest:
		_ = c.ReplyAs(m, performatives.ActPropose, verdict{})
	}
}

// TestWatchChecksOwnCodons checks that the watch of a node knows the codons of Options.Codons,
// and tells their message types apart.
func TestWatchChecksOwnCodons(t *testing.T) {
	o := reviewing()
	o.Watch = &watch.Options{Codons: []*codons.Codon{codeReview}} // named twice, which is no error
	n := newNode(t, o)
	violations := n.Events().Subscribe(events.SubscribeOptions{Kinds: []events.Kind{lifecycle.KindViolation}})
	defer violations.Close()
	for id, agent := range map[performatives.AgentID]actors.Agent{"Rev": strictReviewer{}, "Odd": proposer{}} {
		if err := n.Spawn(patience.Context(t), id, func() actors.Agent { return agent }); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := codeReview.Ask(patience.Context(t), n, "Rev", review{"a.go"}, codons.On("revise", addTest)); err != nil {
		t.Fatal(err)
	}
	asked, err := codeReview.Start(patience.Context(t), n, "Odd", review{"a.go"}, codons.On("revise", addTest))
	if err != nil {
		t.Fatal(err)
	}
	defer asked.Cancel()
	v, err := events.Next[lifecycle.Violation](patience.Context(t), violations)
	if err != nil || v.Sender != "Odd" {
		t.Errorf("got %v, %v, want a violation of Odd", v, err)
	}
}
