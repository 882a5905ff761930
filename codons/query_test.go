package codons_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// weather is a condition, platform a value.
type (
	weather struct {
		City string `json:"city"`
		Rain bool   `json:"rain"`
	}
	platform struct {
		Height int `json:"height"`
	}
)

// observatory answers queries of both kinds by functions.
type observatory struct {
	plain
	truth func(codons.AskedIf) (bool, error)
	value func(codons.AskedRef) (any, error)
}

func (o *observatory) HandleQueryIf(_ context.Context, q codons.AskedIf) (bool, error) {
	return o.truth(q)
}

func (o *observatory) HandleQueryRef(_ context.Context, q codons.AskedRef) (any, error) {
	return o.value(q)
}

func TestQueryIfSaysTrueOrFalse(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Oracle", &observatory{truth: func(q codons.AskedIf) (bool, error) {
			c, err := p.Decode[weather](q.Condition)
			if q.Message.Sender() != "Eddy" || q.Agent.ID() != "Oracle" {
				t.Errorf("%s was asked by %s", q.Agent.ID(), q.Message.Sender())
			}
			return c.City == "London", err
		}})
		for city, want := range map[string]bool{"London": true, "Cairo": false} {
			for _, condition := range []any{weather{city, true}, p.RawContent([]byte(`{"rain": true, "city": "` + city + `"}`))} {
				got, err := codons.QueryIf(t.Context(), w.eddy, "Oracle", condition)
				if err != nil || got != want {
					t.Errorf("%s: got %t, %v", city, got, err)
				}
			}
		}
		_, err := codons.QueryIf(t.Context(), w.eddy, "Oracle", "rain?")
		wantEnd(t, err, "not_understood", p.CodeInvalidPayload)
		if _, err := codons.QueryIf(t.Context(), w.eddy, "Oracle", nil); !isCode(err, p.CodeInvalidPayload) {
			t.Errorf("no condition: %v", err)
		}
		w.settled(0)
	})
}

// TestQueryIfOfWhatIsNoJSON stays within the process.
func TestQueryIfOfWhatIsNoJSON(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Oracle", &observatory{truth: func(codons.AskedIf) (bool, error) { return true, nil }})
		if got, err := codons.QueryIf(t.Context(), w.eddy, "Oracle", make(chan int)); err != nil || !got {
			t.Errorf("got %t, %v", got, err)
		}
	})
}

func TestQueryRefGivesTheValue(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Oracle", &observatory{value: func(q codons.AskedRef) (any, error) {
			switch q.Reference {
			case "station":
				return platform{70}, nil
			case "raw":
				return json.RawMessage(`{"height":7}`), nil
			}
			return nil, nil //nolint:nilnil // null is a value
		}})
		for reference, want := range map[string]int{"station": 70, "raw": 7, "nothing": 0} {
			got, err := codons.QueryRef[platform](t.Context(), w.eddy, "Oracle", reference)
			if err != nil || got.Height != want {
				t.Errorf("%s: got %+v, %v", reference, got, err)
			}
		}
		_, err := codons.QueryRef[string](t.Context(), w.eddy, "Oracle", "station")
		wantEnd(t, err, "answered", p.CodeInvalidPayload)
		if _, err := codons.QueryRef[string](t.Context(), w.eddy, "Oracle", ""); !isCode(err, p.CodeInvalidPayload) {
			t.Errorf("no reference: %v", err)
		}
		w.settled(0)
	})
}

// TestQueriesEcho has a peer ask and look at the answers as they travel.
func TestQueriesEcho(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Oracle", &observatory{
			truth: func(codons.AskedIf) (bool, error) { return false, nil },
			value: func(codons.AskedRef) (any, error) { return nil, nil }, //nolint:nilnil // null is a value
		})
		a := w.puppet("puppet")
		asked := a.say(p.Envelope{Receiver: "Oracle", Performative: p.ActQueryIf, Payload: p.Raw(`{"condition":"x > 1"}`)})
		answer := a.next(p.ActInformIf)
		i, _ := p.PayloadAs[p.InformIf](answer)
		if text, _ := p.Decode[string](i.Condition); text != "x > 1" || *i.Truth || !answer.Answers(asked) {
			t.Errorf("got %+v", i)
		}
		a.say(p.Envelope{Receiver: "Oracle", Payload: p.QueryRef{Reference: "x"}})
		r, _ := p.PayloadAs[p.InformRef](a.next(p.ActInformRef))
		if text, _ := json.Marshal(r.Value); r.Reference != "x" || string(text) != "null" {
			t.Errorf("got %+v", r)
		}
		for _, act := range []p.Performative{p.ActQueryIf, p.ActQueryRef} {
			a.say(p.Envelope{Receiver: "Oracle", Performative: act, Payload: p.Raw(`{}`)})
			if r := a.next(p.ActNotUnderstood).AsRefusal(); r.Code != p.CodeInvalidPayload {
				t.Errorf("an empty %s: %v", act, r)
			}
		}
	})
}

// TestAnswersToOtherQueries come from a peer that confuses them, or says nothing of
// what they are about.
func TestAnswersToOtherQueries(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		yes := true
		a := w.puppet("puppet")
		for _, c := range []struct {
			payload any
			ok      bool
		}{
			{p.InformIf{Condition: p.ContentOf("y"), Truth: &yes}, false},
			{p.InformIf{Condition: p.RawContent([]byte(`"x"`)), Truth: &yes}, true},
			{p.InformIf{Truth: &yes}, true},
		} {
			u, err := started(codons.StartQueryIf(t.Context(), w.eddy, "puppet", "x"))
			checkAnswer(t, a, u, err, p.ActQueryIf, c.payload, c.ok)
		}
		for _, c := range []struct {
			payload any
			ok      bool
		}{
			{p.InformRef{Reference: "y", Value: p.ContentOf(true)}, false},
			{p.InformRef{Reference: "x", Value: p.ContentOf(true)}, true},
			{p.InformRef{Value: p.ContentOf(true)}, true},
		} {
			u, err := started(codons.StartQueryRef[bool](t.Context(), w.eddy, "puppet", "x"))
			checkAnswer(t, a, u, err, p.ActQueryRef, c.payload, c.ok)
		}
	})
}

func checkAnswer(t *testing.T, a *puppet, u *ongoing, err error, act p.Performative, payload any, ok bool) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	a.reply(a.next(act), payload)
	switch got, err := u.wait(); {
	case !ok:
		wantEnd(t, err, "answered", p.CodeInvalidPayload)
	case err != nil || got != true:
		t.Errorf("%+v: got %v, %v", payload, got, err)
	}
}
