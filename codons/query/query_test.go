package query_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/query"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// weather is the condition and platform the value of these tests.
type (
	weather struct {
		City string `json:"city"`
		Rain bool   `json:"rain"`
	}
	platform struct {
		Height int `json:"height"`
	}
)

// oracle answers queries of both kinds by functions.
type oracle struct {
	kit.Plain
	truth func(query.AskedIf) (bool, error)
	value func(query.AskedRef) (any, error)
}

func (o *oracle) HandleQueryIf(_ context.Context, q query.AskedIf) (bool, error) { return o.truth(q) }

func (o *oracle) HandleQueryRef(_ context.Context, q query.AskedRef) (any, error) { return o.value(q) }

func TestIf(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Oracle", &oracle{truth: func(q query.AskedIf) (bool, error) {
			c, err := p.Decode[weather](q.Condition)
			if q.Message.Sender() != "Eddy" || q.Agent.ID() != "Oracle" {
				t.Errorf("%s got the question from %s", q.Agent.ID(), q.Message.Sender())
			}
			return c.City == "London", err
		}})
		for city, want := range map[string]bool{"London": true, "Cairo": false} {
			for _, condition := range []any{weather{city, true}, p.RawContent([]byte(`{"rain": true, "city": "` + city + `"}`))} {
				got, err := query.If(t.Context(), w.Eddy, "Oracle", condition)
				if err != nil || got != want {
					t.Errorf("%s: got %t, %v", city, got, err)
				}
			}
		}
		_, err := query.If(t.Context(), w.Eddy, "Oracle", "rain?")
		kit.WantEnd(t, err, "not_understood", p.CodeInvalidPayload)
		if _, err := query.If(t.Context(), w.Eddy, "Oracle", nil); !errors.Is(err, p.CodeInvalidPayload) {
			t.Errorf("no condition: %v", err)
		}
		w.Settled(0)
	})
}

// TestIfWithoutJSON has a condition that cannot be written as JSON. Within the process it need
// not be.
func TestIfWithoutJSON(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Oracle", &oracle{truth: func(query.AskedIf) (bool, error) { return true, nil }})
		w.NoJSON.Store(true)
		if got, err := query.If(t.Context(), w.Eddy, "Oracle", make(chan int)); err != nil || !got {
			t.Errorf("got %t, %v", got, err)
		}
	})
}

func TestRef(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Oracle", &oracle{value: func(q query.AskedRef) (any, error) {
			switch q.Reference {
			case "station":
				return platform{70}, nil
			case "raw":
				return json.RawMessage(`{"height":7}`), nil
			}
			return nil, nil //nolint:nilnil // null is a value
		}})
		for reference, want := range map[string]int{"station": 70, "raw": 7, "nothing": 0} {
			got, err := query.Ref[platform](t.Context(), w.Eddy, "Oracle", reference)
			if err != nil || got.Height != want {
				t.Errorf("%s: got %+v, %v", reference, got, err)
			}
		}
		_, err := query.Ref[string](t.Context(), w.Eddy, "Oracle", "station")
		kit.WantEnd(t, err, "answered", p.CodeInvalidPayload)
		if _, err := query.Ref[string](t.Context(), w.Eddy, "Oracle", ""); !errors.Is(err, p.CodeInvalidPayload) {
			t.Errorf("no reference: %v", err)
		}
		w.Settled(0)
	})
}

// TestAnswersRepeatTheQuestion checks the messages that a peer gets.
func TestAnswersRepeatTheQuestion(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Oracle", &oracle{
			truth: func(query.AskedIf) (bool, error) { return false, nil },
			value: func(query.AskedRef) (any, error) { return nil, nil }, //nolint:nilnil // null is a value
		})
		a := w.Peer("peer")
		asked := a.Send(p.Envelope{Receiver: "Oracle", Performative: p.ActQueryIf, Payload: p.Raw(`{"condition":"x > 1"}`)})
		answer := a.Expect(p.ActInformIf)
		i, _ := p.PayloadAs[p.InformIf](answer)
		if text, _ := p.Decode[string](i.Condition); text != "x > 1" || *i.Truth || !answer.Answers(asked) {
			t.Errorf("got %+v", i)
		}
		a.Send(p.Envelope{Receiver: "Oracle", Payload: p.QueryRef{Reference: "x"}})
		r, _ := p.PayloadAs[p.InformRef](a.Expect(p.ActInformRef))
		if text, _ := json.Marshal(r.Value); r.Reference != "x" || string(text) != "null" {
			t.Errorf("got %+v", r)
		}
		for _, act := range []p.Performative{p.ActQueryIf, p.ActQueryRef} {
			a.Send(p.Envelope{Receiver: "Oracle", Performative: act, Payload: p.Raw(`{}`)})
			if r := a.Expect(p.ActNotUnderstood).AsRefusal(); r.Code != p.CodeInvalidPayload {
				t.Errorf("an empty %s: %v", act, r)
			}
		}
	})
}

// TestAnswersToOtherQuestions has a peer repeat another question in its answer, the same
// question, and none.
func TestAnswersToOtherQuestions(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		yes := true
		a := w.Peer("peer")
		for _, c := range []struct {
			payload any
			ok      bool
		}{
			{p.InformIf{Condition: p.ContentOf("y"), Truth: &yes}, false},
			{p.InformIf{Condition: p.RawContent([]byte(`"x"`)), Truth: &yes}, true},
			{p.InformIf{Truth: &yes}, true},
		} {
			u, err := kit.Started(query.StartIf(t.Context(), w.Eddy, "peer", "x"))
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
			u, err := kit.Started(query.StartRef[bool](t.Context(), w.Eddy, "peer", "x"))
			checkAnswer(t, a, u, err, p.ActQueryRef, c.payload, c.ok)
		}
	})
}

// checkAnswer has the peer answer a question, and checks whether the initiator accepts the answer.
func checkAnswer(t *testing.T, a *kit.Peer, u *kit.Ongoing, err error, act p.Performative, payload any, ok bool) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	a.Reply(a.Expect(act), payload)
	switch got, err := u.Wait(); {
	case !ok:
		kit.WantEnd(t, err, "answered", p.CodeInvalidPayload)
	case err != nil || got != true:
		t.Errorf("%+v: got %v, %v", payload, got, err)
	}
}
