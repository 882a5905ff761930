package discovery_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/query"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// linguist is an agent with many roles that declares ontologies. Its task debug_code has one.
type linguist struct{ *reserved }

func (linguist) Describe() p.Capabilities {
	return p.Capabilities{
		Actions:    []p.Action{{Name: "DEBUG-CODE", Ontology: p.OntologyDebugRequest}, {Name: "sing"}},
		Ontologies: []string{p.OntologyDebugRequest, "ex:music"},
	}
}

func (linguist) RequiresHandshake() bool { return false }

func newLinguist(w *kit.Worker) linguist { return linguist{&reserved{w, newReserved().host}} }

// ontologiesOf returns the ontologies of the messages with an act, in their order.
func ontologiesOf(t *testing.T, sent *events.Subscription, act p.Performative) (all []string) {
	t.Helper()
	for _, e := range kit.Published[events.MessageSent](t, sent) {
		if e.Message.Performative() == act {
			all = append(all, e.Message.Ontology())
		}
	}
	return all
}

func TestUnknownOntology(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", newLinguist(&kit.Worker{Max: 1}))
		w.Add("Anyone", &kit.Worker{})
		ctx, other := t.Context(), codons.WithOntology("ex:weather")
		for range 2 { // the refused request has taken no slot
			_, err := w.Delegate(ctx, other)
			kit.WantEnd(t, err, "not_understood", p.CodeUnknownOntology)
			if text := kit.EndOf(t, err).Refusal.Text; !strings.Contains(text, `"ex:music"`) || !strings.Contains(text, `"ex:weather"`) {
				t.Errorf("got the text %q", text)
			}
		}
		if _, err := query.If(ctx, w.Eddy, "Jules", "x", other); !errors.Is(err, p.CodeUnknownOntology) {
			t.Errorf("query-if: %v", err)
		}
		if _, err := query.Ref[int](ctx, w.Eddy, "Jules", "x", other); !errors.Is(err, p.CodeUnknownOntology) {
			t.Errorf("query-ref: %v", err)
		}
		if _, err := delegation.Delegate(ctx, w.Eddy, "Anyone", kit.Task(), other); err != nil {
			t.Errorf("an agent that declares none: %v", err)
		}
		if a, err := discovery.Whisper(ctx, w.Eddy, "Jules", p.QueryCapabilities{Type: p.QuerySummary}, other); err != nil || !slices.Contains(a.Capabilities.Ontologies, "ex:music") {
			t.Errorf("discovery: %+v, %v", a, err)
		}
		w.Settled(0)
	})
}

func TestKnownOntology(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", newLinguist(&kit.Worker{}))
		sent := kit.Recording(&w.Events, events.KindMessageSent)
		for _, tt := range []struct{ task, ontology, want string }{
			{"debug_code", p.OntologyDebugRequest, p.OntologySolutionProvided},
			{"debug_code", "ex:music", "ex:music"},
			{"debug_code", "", p.OntologySolutionProvided}, // the action's own
			{"sing", "ex:music", "ex:music"},
			{"sing", "", ""},
			{"dance", "", ""},
		} {
			_, err := delegation.Delegate(t.Context(), w.Eddy, "Jules", p.TaskRequest{TaskType: tt.task}, codons.WithOntology(tt.ontology))
			if got := ontologiesOf(t, sent, p.ActInformResult); err != nil || !slices.Equal(got, []string{tt.want}) {
				t.Errorf("%s in %q: got %q, %v; want %q", tt.task, tt.ontology, got, err, tt.want)
			}
		}
		w.Settled(0)
	})
}

// The ontology of a further round is checked too, because no guard sees it.
func TestUnknownOntologyOfFurtherRound(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", newLinguist(&kit.Worker{Perform: func(context.Context, delegation.Task) (p.InformResult, error) {
			return kit.Asking("branch"), nil
		}}))
		a := w.Peer("peer")
		request := a.Send(p.Envelope{Receiver: "Jules", Ontology: "ex:music", Payload: kit.Task()})
		a.Expect(p.ActTaskAccept)
		a.Expect(p.ActInformResult)
		further := request.FollowEnvelope(a.Stamp(), p.ActTaskRequest, kit.Task())
		further.Ontology = "ex:weather"
		a.Send(further)
		if no := a.Expect(p.ActNotUnderstood).AsRefusal(); no.Code != p.CodeUnknownOntology {
			t.Errorf("got %+v", no)
		}
		w.Settled(0)
	})
}

// A further round that names an ontology has its result in that one, although the first named none.
func TestOntologyOfFurtherRound(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", newLinguist(&kit.Worker{Perform: func(context.Context, delegation.Task) (p.InformResult, error) {
			return kit.Asking("branch"), nil
		}}))
		a := w.Peer("peer")
		request := a.Send(p.Envelope{Receiver: "Jules", Payload: kit.Task()})
		a.Expect(p.ActTaskAccept)
		if got := a.Expect(p.ActInformResult).Ontology(); got != p.OntologyDebugAnalysis {
			t.Errorf("got %q", got)
		}
		further := request.FollowEnvelope(a.Stamp(), p.ActTaskRequest, kit.Task())
		further.Ontology = "ex:music"
		a.Send(further)
		a.Expect(p.ActTaskAccept)
		if got := a.Expect(p.ActInformResult).Ontology(); got != "ex:music" {
			t.Errorf("got %q", got)
		}
		a.Send(request.FollowEnvelope(a.Stamp(), p.ActCancel, p.Cancel{}))
		a.Expect(p.ActInform)
		w.Settled(0)
	})
}

func TestOntologyGuardFollowsAnnounce(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		jules := w.Add("Jules", &kit.Worker{})
		for _, known := range []string{"ex:weather", "ex:music"} {
			jules.Announce(p.Capabilities{Ontologies: []string{known}})
			_, err := w.Delegate(t.Context(), codons.WithOntology("ex:weather"))
			if errors.Is(err, p.CodeUnknownOntology) != (known != "ex:weather") {
				t.Errorf("knowing %s: got %v", known, err)
			}
		}
		w.Settled(0)
	})
}
