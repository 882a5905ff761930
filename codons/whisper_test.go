package codons_test

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
	p "github.com/ribosome-agents/ribosome/performatives"
)

var summary = p.QueryCapabilities{Type: p.QuerySummary}

func details(action string) p.QueryCapabilities {
	return p.QueryCapabilities{Type: p.QueryActionDetails, Parameters: p.QueryParameters{ActionName: action}}
}

func specific(match p.MatchType, names ...string) p.QueryCapabilities {
	return p.QueryCapabilities{Type: p.QuerySpecific, Parameters: p.QueryParameters{Capabilities: names, MatchType: match}}
}

// skilled is an agent of no role that has topics.
type skilled []string

func (s skilled) Describe() p.Capabilities { return p.Capabilities{Topics: s} }

func TestWhisper(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Jules", &worker{})
		got, err := codons.Whisper(t.Context(), w.eddy, "jules", summary)
		if err != nil || !reflect.DeepEqual(got.Capabilities.Topics, []string{"Debugging", "Unit Testing"}) || len(got.Capabilities.Actions) != 1 {
			t.Errorf("summary: %+v, %v", got, err)
		}
		got, err = codons.Whisper(t.Context(), w.eddy, "Jules", details("execute delegated coding task"))
		if err != nil || got.Action == nil || got.Action.Description != "does it" {
			t.Errorf("details: %+v, %v", got, err)
		}
		_, err = codons.Whisper(t.Context(), w.eddy, "Jules", details("FLY"))
		wantEnd(t, err, "failed", p.CodeUnknownAction)
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
			got, err := codons.Whisper(t.Context(), w.eddy, "Jules", c.q)
			if err != nil || got.MatchResult == nil || *got.MatchResult != c.match || len(got.Matched) != c.matched {
				t.Errorf("%+v: %+v, %v", c.q, got, err)
			}
		}
		_, err = codons.Whisper(t.Context(), w.eddy, "Nobody", summary)
		wantEnd(t, err, "refused", p.CodeUnknownAgent)
		if _, err := codons.Whisper(t.Context(), w.eddy, "Jules", p.QueryCapabilities{Type: "gossip"}); !errors.Is(err, p.CodeInvalidPayload) {
			t.Errorf("got %v", err)
		}
		got, err = codons.Whisper(t.Context(), w.eddy, "Eddy", summary) // oneself
		if err != nil || len(got.Capabilities.Topics) != 2 {
			t.Errorf("oneself: %+v, %v", got, err)
		}
		w.settled(0)
	})
}

// TestWhisperRaw has a peer ask in the content that no dialect has read.
func TestWhisperRaw(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Jules", &worker{})
		a := w.puppet("puppet")
		for raw, want := range map[string]p.Performative{
			`{"query_type":"gossip"}`:   p.ActNotUnderstood,
			`{}`:                        p.ActNotUnderstood,
			`{"query_type":"summary"}`:  p.ActInformCapabilities,
			`{"query_type":"specific"}`: p.ActNotUnderstood,
		} {
			a.say(p.Envelope{Receiver: "Jules", Performative: p.ActQueryCapabilities, Payload: p.Raw(raw)})
			a.next(want)
		}
		q := a.say(p.Envelope{Receiver: "Jules", Payload: summary})
		first := a.next(p.ActInformCapabilities)
		a.send(q)
		if again := a.next(p.ActInformCapabilities); again.ID() != first.ID() {
			t.Error("a duplicate was answered anew")
		}
		w.settled(0)
	})
}

func TestWhisperAll(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Jules", &worker{})
		w.spawn("Tess", skilled{"Unit Testing"})
		w.spawn("Otto", skilled{"Unit Testing", "Debugging", "Flying"})
		w.spawn("Eliza", skilled{"Poetry"})
		block := make(chan struct{})
		w.spawn("Mute", &mute{block})
		mute, _ := w.Lookup("Mute")
		_ = mute.Later(func(actors.Agent) { <-block })
		defer close(block)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		all := []p.AgentID{"Eliza", "Mute", "Tess", "Jules", "Nobody", "Otto"}
		got, err := codons.WhisperAll(ctx, w.eddy, all, specific(p.MatchAny, "debugging", "unit testing", "flying"))
		if err != nil {
			t.Fatal(err)
		}
		wantElapsed(t, start, time.Second)
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
		if _, err := codons.WhisperAll(t.Context(), w.eddy, all, p.QueryCapabilities{}); !errors.Is(err, p.CodeInvalidPayload) {
			t.Errorf("got %v", err)
		}
		if got, err := codons.WhisperAll(t.Context(), w.eddy, nil, summary); err != nil || len(got) != 0 {
			t.Errorf("of nobody: %v, %v", got, err)
		}
	})
}

type mute struct{ block chan struct{} }

func (*mute) Describe() p.Capabilities { return p.Capabilities{} }

func TestWhisperIsCancelled(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		block := make(chan struct{})
		w.spawn("Jules", &worker{})
		self := w.spawn("Mute", &mute{block})
		_ = self.Later(func(actors.Agent) { <-block })
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errCause) })
		start := time.Now()
		got, err := codons.WhisperAll(ctx, w.eddy, []p.AgentID{"Mute", "Jules"}, summary)
		wantElapsed(t, start, time.Second)
		if len(got) != 1 || !errors.Is(err, context.Canceled) || !errors.Is(err, errCause) {
			t.Errorf("got %v, %v", got, err)
		}
		close(block)
		w.settled(0)
		if n := w.monitor.count("Mute -> Eddy: REFUSE"); n > 1 {
			t.Errorf("%q", w.monitor.lines())
		}
	})
}

func TestWhisperIsRetried(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Jules", &worker{})
		for _, act := range []p.Performative{p.ActQueryCapabilities, p.ActInformCapabilities} {
			w.net.lose(act, 2)
			start := time.Now()
			if _, err := codons.Whisper(t.Context(), w.eddy, "Jules", summary, codons.WithRetry(codons.Retry{Jitter: -1})); err != nil {
				t.Error(err)
			}
			wantElapsed(t, start, 3*codons.DefaultRetry)
		}
	})
}

func TestWhisperOfAStoppingParty(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		block := make(chan struct{})
		self := w.spawn("Mute", &mute{block})
		_ = self.Later(func(actors.Agent) { <-block })
		failed := make(chan error, 1)
		go func() {
			_, err := codons.Whisper(t.Context(), w.eddy, "Mute", summary)
			failed <- err
		}()
		synctest.Wait()
		_ = w.StopAgent(t.Context(), "Eddy")
		wantEnd(t, <-failed, "abandoned", p.CodeStopped)
		close(block)
		w.settled(0)
	})
}

// More agents than the asker's mailbox has room for are asked in turn.
func TestWhisperAllOfManyAgents(t *testing.T) {
	s, err := actors.NewSystem(actors.Options{Capacity: 600, Protocols: []actors.Protocol{codons.WhisperingWind{}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Stop(context.Background()) }()
	var ids []p.AgentID
	for i := range 3000 {
		ids = append(ids, p.AgentID(fmt.Sprint("a", i)))
		spawn(t.Context(), s, ids[i], poet{})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	got, err := codons.WhisperAll(ctx, spawn(t.Context(), s, "asker", poet{}), ids, p.QueryCapabilities{Type: p.QuerySummary})
	if err != nil || len(got) != len(ids) {
		t.Errorf("got %d candidates of %d, %v", len(got), len(ids), err)
	}
}
