package observe_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/observe"
)

// Refusals and dead letters are listed with their reasons, the latest first.
func TestRefusals(t *testing.T) {
	n, r := record(t, observe.Options{})
	m, at := message(t, "c", "1", nil), events.At{Time: time.Unix(7, 0)}
	long := strings.Repeat("é", 2000)
	for _, ev := range []events.Event{
		events.MessageRefused{At: at, Message: m, Refusal: &performatives.Refusal{Code: performatives.CodeBusy, Text: "password=canary, and busy"}},
		events.MessageRefused{At: at, Message: m, Refusal: &performatives.Refusal{Code: performatives.CodeBusy, Text: long}},
		events.MessageRefused{At: at, Message: m},
		events.DeadLetter{At: at, To: "gone", Message: m, Code: performatives.CodeStopped},
		events.DeadLetter{At: at, To: "actor$1", Message: 3, Code: performatives.CodeStopped},
	} {
		n.Events().Publish(ev)
	}
	all := r.Refusals()
	if len(all) != 5 || r.Counts().Refusals != 5 || r.Counts().RefusalsForgotten != 0 {
		t.Fatalf("%+v", all)
	}
	for i := range all[1:] { // there may be events of the node between them
		if all[i].Seq <= all[i+1].Seq {
			t.Errorf("%d has the number %d, and the one before it %d", i, all[i].Seq, all[i+1].Seq)
		}
	}
	stopped := performatives.CodeStopped.Traits().Text
	refused := observe.Refusal{
		Node: "node", Time: at.Time, Kind: observe.KindRefused, Code: performatives.CodeBusy, Text: "password=***, and busy", From: m.Sender(), To: m.Receiver(),
		Act: m.Performative().String(), Message: m.ID(), Conversation: "c",
	}
	unknown, dead := refused, refused
	unknown.Code, unknown.Text = performatives.CodeUnspecified, performatives.CodeUnspecified.Traits().Text
	dead.Kind, dead.Code, dead.Text, dead.To = observe.KindDeadLetter, performatives.CodeStopped, stopped, "gone"
	value := observe.Refusal{Node: "node", Time: at.Time, Kind: observe.KindDeadLetter, Code: performatives.CodeStopped, Text: stopped, To: "actor$1"}
	for i, want := range map[int]observe.Refusal{0: value, 1: dead, 2: unknown, 4: refused} {
		if want.Seq = all[i].Seq; all[i] != want {
			t.Errorf("%d: %+v, want %+v", i, all[i], want)
		}
	}
	if text := all[3].Text; len(text) > 520 || !strings.HasPrefix(long, strings.TrimSuffix(text, "…")) {
		t.Errorf("a long text is %q", text)
	}
}

// Of refusals, the last ones are kept, and the others are counted.
func TestRefusalsBounded(t *testing.T) {
	n, r := record(t, observe.Options{Refusals: 3})
	for i := range 8 {
		n.Events().Publish(events.DeadLetter{To: fmt.Sprint(i), Code: performatives.CodeStopped})
	}
	var to []string
	for _, one := range r.Refusals() {
		to = append(to, string(one.To))
	}
	if got := strings.Join(to, " "); got != "7 6 5" || r.Counts().Refusals != 3 || r.Counts().RefusalsForgotten != 5 {
		t.Errorf("%s, %+v", got, r.Counts())
	}
}

// Errors and restarts of an agent are counted from its start to its stop.
func TestIncidents(t *testing.T) {
	n, r := record(t, observe.Options{})
	publish := func(all ...events.Event) {
		for _, ev := range all {
			n.Events().Publish(ev)
		}
	}
	restart := events.Supervised{Agent: "W", Decision: events.Decision{Child: actor.NewPID("nonhost", "W"), Directive: actor.RestartDirective}}
	stop := restart
	stop.Directive = actor.StopDirective
	group := restart
	group.Agent = ""
	publish(lifecycle.JobFailed{Agent: "W", Err: errors.New("oh")}, events.AgentStarted{Agent: "w"}, lifecycle.JobFailed{Agent: "w"}, lifecycle.JobFailed{Agent: "W"},
		restart, events.AgentStarted{Agent: "w", Again: true}, stop, group)
	if got := r.Incidents(); len(got) != 1 || got["w"] != (observe.Incidents{Errors: 2, Restarts: 1}) {
		t.Errorf("%+v", got)
	}
	publish(events.AgentStopped{Agent: "W"})
	if got := r.Incidents(); len(got) != 0 {
		t.Errorf("after its stop: %+v", got)
	}
}
