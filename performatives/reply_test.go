package performatives_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	p "github.com/ribosome-agents/ribosome/performatives"
)

// replyOntologies has the acts whose answers have an ontology of their own
// (acl §5); every other answer keeps that of what it answers.
var replyOntologies = map[p.Performative]string{
	p.ActTaskAccept:         "elizaos:ontology:general/task_acceptance",
	p.ActTaskReject:         "elizaos:ontology:general/task_rejection",
	p.ActFailure:            "elizaos:ontology:general/action_execution_failure",
	p.ActNotUnderstood:      "elizaos:ontology:general/message_not_understood",
	p.ActQueryCapabilities:  "elizaos:ontology:agent/capability_query",
	p.ActInformCapabilities: "elizaos:ontology:agent/capability_information",
}

// acl demands the message_id in these answers, even when there is a reply_with
// (acl §4.2, §4.5, §4.7, §4.9).
var refersToID = map[p.Performative]bool{
	p.ActTaskAccept: true, p.ActTaskReject: true, p.ActNotUnderstood: true, p.ActInformCapabilities: true,
}

func TestReplyEveryAct(t *testing.T) {
	asked := mustNew(t, envelope(p.ActTaskRequest))
	for act := range p.Performatives() {
		got, err := asked.ReplyAs(stamps()(), act, contents[act])
		if err != nil {
			t.Errorf("%s: %v", act, err)
			continue
		}
		want := p.Envelope{
			ID: "r-1", Timestamp: noon.Add(time.Second), Performative: act, Payload: contents[act],
			Sender: "Jules", Receiver: "Eddy", ConversationID: "c-1", Protocol: "request",
			InReplyTo: "w-1", Language: p.LanguageJSON, Ontology: "ex:tasks", Priority: p.High, Trace: asked.Trace(),
		}
		if refersToID[act] {
			want.InReplyTo = "m-1"
		}
		if o, ok := replyOntologies[act]; ok {
			want.Ontology = o
		}
		if act.ExpectsReply() {
			want.ReplyWith = "r-1"
		}
		if diff := cmp.Diff(want, got.Envelope()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", act, diff)
		}
		if !got.Answers(asked) {
			t.Errorf("%s does not answer what it answers", act)
		}
	}
}

func TestReplyWithoutReplyWith(t *testing.T) {
	e := envelope(p.ActTaskRequest)
	e.ReplyWith = ""
	got, err := mustNew(t, e).Reply(stamps()(), p.InformResult{Status: p.StatusSuccess})
	if err != nil || got.InReplyTo() != "m-1" {
		t.Errorf("InReplyTo = %q, %v; want the message_id", got.InReplyTo(), err)
	}
}

func TestReplyImpliesTheAct(t *testing.T) {
	asked := mustNew(t, envelope(p.ActRequest))
	got, err := asked.Reply(stamps()(), p.Receipt{Text: "done"})
	if err != nil || got.Performative() != p.ActInform {
		t.Errorf("Reply(Receipt) = %v, %v", got, err)
	}
	if _, err := asked.Reply(stamps()(), p.Raw(`{}`)); err == nil {
		t.Error("Reply(Raw) found an act")
	}
}

// TestZeroActIsThatOfThePayload gives no act to a reply and to a further message: they are those of
// the act that the payload implies, with its rules for InReplyTo, Ontology, ReplyWith and Priority.
func TestZeroActIsThatOfThePayload(t *testing.T) {
	asked := mustNew(t, envelope(p.ActTaskRequest))
	stamp := stamps()()
	for act := range p.Performatives() {
		payload := contents[act]
		if typed, ok := payload.(interface{ Act() p.Performative }); !ok || typed.Act() != act {
			continue
		}
		if diff := cmp.Diff(asked.ReplyEnvelope("Jules", stamp, act, payload), asked.ReplyEnvelope("Jules", stamp, 0, payload)); diff != "" {
			t.Errorf("a reply, %s (-named +implied):\n%s", act, diff)
		}
		if diff := cmp.Diff(asked.FollowEnvelope(stamp, act, payload), asked.FollowEnvelope(stamp, 0, payload)); diff != "" {
			t.Errorf("a further message, %s (-named +implied):\n%s", act, diff)
		}
	}
}

func TestReplyFrom(t *testing.T) {
	e := envelope(p.ActCFP)
	e.Receiver = ""
	call := mustNew(t, e)
	if _, err := call.Reply(stamps()(), p.Refuse{}); err == nil {
		t.Error("nobody answered a broadcast")
	}
	got, err := call.ReplyFrom("Ada", stamps()(), p.ActPropose, p.Raw(`{"price":3}`))
	if err != nil || got.Sender() != "Ada" || got.Receiver() != "Eddy" || got.InReplyTo() != "w-1" {
		t.Errorf("ReplyFrom = %+v, %v", got, err)
	}
}

func TestReplyOntologies(t *testing.T) {
	tests := []struct {
		asked  string
		answer any
		want   string
	}{
		{p.OntologyDebugRequest, p.InformResult{Status: p.StatusSuccess}, p.OntologySolutionProvided},
		{p.OntologyDebugRequest, p.InformResult{Status: p.StatusPartial}, p.OntologyDebugAnalysis},
		{p.OntologyDebugRequest, p.InformResult{Status: p.StatusFailure}, p.OntologyDebugAnalysis},
		{p.OntologyRefactorRequest, p.InformResult{Status: p.StatusSuccess}, p.OntologyRefactorSuggestion},
		{p.OntologyDebugAnalysis, p.TaskRequest{TaskType: "x"}, p.OntologyDebugRequest},
		{p.OntologySolutionProvided, p.TaskRequest{TaskType: "x"}, p.OntologyDebugRequest},
		{p.OntologyRefactorSuggestion, p.TaskRequest{TaskType: "x"}, p.OntologyRefactorRequest},
		{"elizaos:ide:explain_code", p.InformResult{Status: p.StatusSuccess}, "elizaos:ide:explain_code"},
		{"", p.StatusUpdate{}, ""},
	}
	for _, tt := range tests {
		e := envelope(p.ActRequest)
		e.Ontology = tt.asked
		got, err := mustNew(t, e).Reply(stamps()(), tt.answer)
		if err != nil || got.Ontology() != tt.want {
			t.Errorf("%T to %q: ontology %q, %v; want %q", tt.answer, tt.asked, got.Ontology(), err, tt.want)
		}
	}
}

func TestFollow(t *testing.T) {
	asked := mustNew(t, envelope(p.ActTaskRequest))
	for _, tt := range []struct {
		payload  any
		priority p.Priority
	}{{p.Cancel{Reason: "late"}, p.High}, {p.TaskRequest{TaskType: "more"}, p.High}} {
		got, err := asked.Follow(stamps()(), tt.payload)
		if err != nil {
			t.Fatal(err)
		}
		want := p.Envelope{
			ID: "r-1", Timestamp: noon.Add(time.Second), Performative: got.Performative(), Payload: tt.payload,
			Sender: "Eddy", Receiver: "Jules", ConversationID: "c-1", Protocol: "request", InReplyTo: "m-1",
			ReplyWith: "r-1", ReplyBy: asked.ReplyBy(), Language: p.LanguageJSON, Ontology: "ex:tasks",
			Priority: tt.priority, Trace: asked.Trace(),
		}
		if diff := cmp.Diff(want, got.Envelope()); diff != "" {
			t.Errorf("Follow(%T) (-want +got):\n%s", tt.payload, diff)
		}
	}
}

func TestCancelOvertakesWhatItStops(t *testing.T) {
	for asked, want := range map[p.Priority]p.Priority{p.Low: p.High, p.Normal: p.High, p.High: p.High, p.Urgent: p.Urgent} {
		e := envelope(p.ActTaskRequest)
		e.Priority = asked
		got, err := mustNew(t, e).Follow(stamps()(), p.Cancel{})
		if err != nil || got.Priority() != want {
			t.Errorf("CANCEL of a %s request is %s, %v; want %s", asked, got.Priority(), err, want)
		}
	}
}
