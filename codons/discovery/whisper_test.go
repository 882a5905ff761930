package discovery_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	p "github.com/ribosome-agents/ribosome/performatives"
)

func specific(match p.MatchType, names ...string) p.QueryCapabilities {
	return p.QueryCapabilities{Type: p.QuerySpecific, Parameters: p.QueryParameters{Capabilities: names, MatchType: match}}
}

// skilled is an agent without a role that has topics.
type skilled []string

func (s skilled) Describe() p.Capabilities { return p.Capabilities{Topics: s} }

func TestWhisper(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{})
		got, err := discovery.Whisper(t.Context(), w.Eddy, "jules", kit.Summary)
		if err != nil || !reflect.DeepEqual(got.Capabilities.Topics, []string{"Debugging", "Unit Testing"}) || len(got.Capabilities.Actions) != 1 {
			t.Errorf("summary: %+v, %v", got, err)
		}
		got, err = discovery.Whisper(t.Context(), w.Eddy, "Jules", kit.Details("execute delegated coding task"))
		if err != nil || got.Action == nil || got.Action.Description != "does it" {
			t.Errorf("details: %+v, %v", got, err)
		}
		_, err = discovery.Whisper(t.Context(), w.Eddy, "Jules", kit.Details("FLY"))
		kit.WantEnd(t, err, "failed", p.CodeUnknownAction)
		for _, c := range []struct {
			q       p.QueryCapabilities
			match   bool
			matched int
		}{
			{specific(p.MatchAll, "debugging", "unit_testing"), true, 2},
			{specific(p.MatchAll, "debugging", "flying"), false, 1},
			{specific("", "debugging", "flying"), false, 1},
			{specific(p.MatchAny, "debugging", "flying"), true, 1},
			{specific(p.MatchAny, "flying"), false, 0},
		} {
			got, err := discovery.Whisper(t.Context(), w.Eddy, "Jules", c.q)
			if err != nil || got.MatchResult == nil || *got.MatchResult != c.match || len(got.Matched) != c.matched {
				t.Errorf("%+v: %+v, %v", c.q, got, err)
			}
		}
		_, err = discovery.Whisper(t.Context(), w.Eddy, "Nobody", kit.Summary)
		kit.WantEnd(t, err, "refused", p.CodeUnknownAgent)
		if _, err := discovery.Whisper(t.Context(), w.Eddy, "Jules", p.QueryCapabilities{Type: "gossip"}); !errors.Is(err, p.CodeInvalidPayload) {
			t.Errorf("got %v", err)
		}
		got, err = discovery.Whisper(t.Context(), w.Eddy, "Eddy", kit.Summary) // of itself
		if err != nil || len(got.Capabilities.Topics) != 2 {
			t.Errorf("its own: %+v, %v", got, err)
		}
		w.Settled(0)
	})
}

// The query has a raw payload, as from a peer whose dialect does not parse it.
func TestWhisperOfRawQueries(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{})
		a := w.Peer("peer")
		for raw, want := range map[string]p.Performative{
			`{"query_type":"gossip"}`:   p.ActNotUnderstood,
			`{}`:                        p.ActNotUnderstood,
			`{"query_type":"summary"}`:  p.ActInformCapabilities,
			`{"query_type":"specific"}`: p.ActNotUnderstood,
		} {
			a.Send(p.Envelope{Receiver: "Jules", Performative: p.ActQueryCapabilities, Payload: p.Raw(raw)})
			a.Expect(want)
		}
		q := a.Send(p.Envelope{Receiver: "Jules", Payload: kit.Summary})
		first := a.Expect(p.ActInformCapabilities)
		a.SendAgain(q)
		if again := a.Expect(p.ActInformCapabilities); again.ID() != first.ID() {
			t.Error("a duplicate got a new answer")
		}
		w.Settled(0)
	})
}

func TestWhisperAll(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{})
		w.Add("Tess", skilled{"Unit Testing"})
		w.Add("Otto", skilled{"Unit Testing", "Debugging", "Flying"})
		w.Add("Eliza", skilled{"Poetry"})
		block := make(chan struct{})
		w.Add("Blocked", &blocked{block})
		silent, _ := w.Lookup("Blocked")
		_ = silent.Later(func(actors.Agent) { <-block })
		defer close(block)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		all := []p.AgentID{"Eliza", "Blocked", "Tess", "Jules", "Nobody", "Otto"}
		got, err := discovery.WhisperAll(ctx, w.Eddy, all, specific(p.MatchAny, "debugging", "unit testing", "flying"))
		if err != nil {
			t.Fatal(err)
		}
		kit.WantElapsed(t, start, time.Second)
		var order []p.AgentID
		for _, c := range got {
			order = append(order, c.Agent)
		}
		if want := []p.AgentID{"Otto", "Jules", "Tess", "Eliza"}; !reflect.DeepEqual(order, want) {
			t.Errorf("ranked %q, want %q", order, want)
		}
		if c := got[3]; c.Match || len(c.Matched) != 0 {
			t.Errorf("Eliza: %+v", c)
		}
		if c := got[1]; !c.Match || len(c.Matched) != 2 {
			t.Errorf("Jules: %+v", c)
		}
		if _, err := discovery.WhisperAll(t.Context(), w.Eddy, all, p.QueryCapabilities{}); !errors.Is(err, p.CodeInvalidPayload) {
			t.Errorf("got %v", err)
		}
		if got, err := discovery.WhisperAll(t.Context(), w.Eddy, nil, kit.Summary); err != nil || len(got) != 0 {
			t.Errorf("no agents: %v, %v", got, err)
		}
	})
}

// blocked is an agent whose actor a test blocks.
type blocked struct{ block chan struct{} }

func (*blocked) Describe() p.Capabilities { return p.Capabilities{} }

func TestWhisperIsCancelled(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		block := make(chan struct{})
		w.Add("Jules", &kit.Worker{})
		self := w.Add("Blocked", &blocked{block})
		_ = self.Later(func(actors.Agent) { <-block })
		ctx, cancel := context.WithCancelCause(t.Context())
		home := errors.New("the user went home")
		time.AfterFunc(time.Second, func() { cancel(home) })
		start := time.Now()
		got, err := discovery.WhisperAll(ctx, w.Eddy, []p.AgentID{"Blocked", "Jules"}, kit.Summary)
		kit.WantElapsed(t, start, time.Second)
		if len(got) != 1 || !errors.Is(err, context.Canceled) || !errors.Is(err, home) {
			t.Errorf("got %v, %v", got, err)
		}
		close(block)
		w.Settled(0)
		if n := w.Count("Blocked -> Eddy: REFUSE"); n > 1 {
			t.Errorf("%q", w.Lines())
		}
	})
}

func TestWhisperIsRetried(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{})
		for _, act := range []p.Performative{p.ActQueryCapabilities, p.ActInformCapabilities} {
			w.Net.Lose(act, 2)
			start := time.Now()
			if _, err := discovery.Whisper(t.Context(), w.Eddy, "Jules", kit.Summary, codons.WithRetry(codons.Retry{Jitter: -1})); err != nil {
				t.Error(err)
			}
			kit.WantElapsed(t, start, 3*codons.DefaultRetry)
		}
	})
}

func TestWhisperEndsWhenItsPartyStops(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		block := make(chan struct{})
		self := w.Add("Blocked", &blocked{block})
		_ = self.Later(func(actors.Agent) { <-block })
		failed := make(chan error, 1)
		go func() {
			_, err := discovery.Whisper(t.Context(), w.Eddy, "Blocked", kit.Summary)
			failed <- err
		}()
		synctest.Wait()
		_ = w.StopAgent(t.Context(), "Eddy")
		kit.WantEnd(t, <-failed, "abandoned", p.CodeStopped)
		close(block)
		w.Settled(0)
	})
}

// More agents than the asker's mailbox has room for are asked in turn.
func TestWhisperAllOfManyAgents(t *testing.T) {
	kit.InWorldWith(t, codons.Times{}, actors.Options{Capacity: 600}, func(t *testing.T, w *kit.World) {
		var ids []p.AgentID
		for i := range 3000 {
			ids = append(ids, p.AgentID(fmt.Sprint("a", i)))
			w.Add(ids[i], kit.Poet{})
		}
		got, err := discovery.WhisperAll(t.Context(), w.Eddy, ids, p.QueryCapabilities{Type: p.QuerySummary})
		if err != nil || len(got) != len(ids) {
			t.Errorf("got %d candidates of %d, %v", len(got), len(ids), err)
		}
	})
}
