package codons_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// council considers proposals by a function.
type council struct {
	plain
	consider func(context.Context, codons.Proposed) (codons.Verdict, error)
}

func (c *council) ConsiderProposal(ctx context.Context, q codons.Proposed) (codons.Verdict, error) {
	return c.consider(ctx, q)
}

// plan is what is proposed.
type plan struct {
	Build string `json:"build"`
}

func kindPropose() kind {
	return kind{
		name: "propose", opening: p.ActPropose, answer: p.ActAcceptProposal, good: codons.Verdict{Accepted: true, Reason: "fine"},
		agent: func(h handle) actors.Agent {
			return &council{consider: func(ctx context.Context, _ codons.Proposed) (codons.Verdict, error) {
				err := h(ctx, func() error { return nil })
				return codons.Verdict{Accepted: true, Reason: "fine"}, err
			}}
		},
		start: func(ctx context.Context, party codons.Party, to p.AgentID, opts ...codons.Option) (*ongoing, error) {
			return started(codons.StartPropose(ctx, party, to, plan{"a bridge"}, opts...))
		},
	}
}

// thrifty accepts what is cheap.
func thrifty(_ context.Context, q codons.Proposed) (codons.Verdict, error) {
	wanted, err := p.PayloadAs[plan](q.Message)
	return codons.Verdict{Accepted: wanted.Build == "a bench", Reason: "of " + wanted.Build}, err
}

func TestProposalsAreAcceptedOrRejected(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Council", &council{consider: thrifty})
		for build, want := range map[string]bool{"a bench": true, "a bridge": false} {
			got, err := codons.Propose(t.Context(), w.eddy, "Council", plan{build})
			if err != nil || got.Accepted != want || got.Reason != "of "+build {
				t.Errorf("%s: got %+v, %v", build, got, err)
			}
		}
		if _, err := codons.Propose(t.Context(), w.eddy, "Council", "a text"); !isCode(err, p.CodeInvalidPayload) {
			t.Errorf("a text for a proposal: %v", err)
		}
		w.settled(0)
		if n := w.Counts(); n.DeadLetters != 0 || n.Refused != 0 {
			t.Errorf("somebody answered a verdict: %+v", n)
		}
	})
}

// TestVerdictsOfOthers come from a peer with words of its own.
func TestVerdictsOfOthers(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.puppet("Council")
		for _, c := range []struct {
			act     p.Performative
			payload any
			want    codons.Verdict
			code    p.Code
		}{
			{p.ActAcceptProposal, nil, codons.Verdict{Accepted: true}, ""},
			{p.ActAcceptProposal, p.Raw(`{"price":7}`), codons.Verdict{Accepted: true}, ""},
			{p.ActAcceptProposal, p.Raw(`{"reason_text":7}`), codons.Verdict{Accepted: true}, ""},
			{p.ActAcceptProposal, p.Raw(`{"reason_text":"good"}`), codons.Verdict{Accepted: true, Reason: "good"}, ""},
			{p.ActRejectProposal, p.Raw(`{}`), codons.Verdict{}, ""},
			{p.ActRejectProposal, p.Raw(`{"reason_text":"bad"}`), codons.Verdict{Reason: "bad"}, ""},
			{p.ActRejectProposal, p.RejectProposal{ReasonCode: p.CodeBusy, ReasonText: "later"}, codons.Verdict{}, p.CodeBusy},
		} {
			pending, err := codons.StartPropose(t.Context(), w.eddy, "Council", plan{"a bridge"})
			if err != nil {
				t.Fatal(err)
			}
			answer, err := a.next(p.ActPropose).ReplyAs(a.Stamp(), c.act, c.payload)
			if err != nil {
				t.Fatal(err)
			}
			a.send(answer)
			got, err := pending.Wait()
			if got != c.want || (err == nil) != (c.code == "") {
				t.Errorf("%s %s: got %+v, %v", c.act, c.payload, got, err)
			}
			if c.code != "" {
				wantEnd(t, err, "rejected", c.code)
			}
		}
		a.silence() // nobody answers a verdict
	})
}

// TestLateAcceptance comes when the proposer has given up: it goes nowhere, and
// nobody answers it.
func TestLateAcceptance(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.puppet("Council")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		pending, err := codons.StartPropose(ctx, w.eddy, "Council", plan{"a bridge"}, codons.WithRetry(codons.NoRetry()))
		if err != nil {
			t.Fatal(err)
		}
		proposal := a.next(p.ActPropose)
		_, err = pending.Wait()
		wantEnd(t, err, "timed_out", p.CodeTimeout)
		w.settled(0)
		before := w.Counts()
		answer, _ := proposal.ReplyAs(a.Stamp(), p.ActAcceptProposal, nil)
		a.send(answer)
		a.silence()
		if n := w.Counts(); n.DeadLetters != before.DeadLetters+1 || n.Refused != before.Refused {
			t.Errorf("before %+v, after %+v", before, n)
		}
	})
}

// TestUndeliverableAcceptance finds the proposer gone.
func TestUndeliverableAcceptance(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		decide := make(chan struct{})
		w.spawn("Council", &council{consider: func(context.Context, codons.Proposed) (codons.Verdict, error) {
			<-decide
			return codons.Verdict{Accepted: true}, nil
		}})
		a := w.puppet("puppet")
		a.say(p.Envelope{Receiver: "Council", Performative: p.ActPropose, Payload: p.Raw(`{"build":"x"}`)})
		synctest.Wait()
		if err := w.StopAgent(t.Context(), "puppet"); err != nil {
			t.Fatal(err)
		}
		before := w.Counts()
		close(decide)
		w.settled(0)
		if n := w.Counts(); n.Refused != before.Refused+1 || n.DeadLetters != before.DeadLetters {
			t.Errorf("before %+v, after %+v", before, n)
		}
	})
}

// TestLateBids are no proposals of this codon.
func TestLateBids(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Council", &council{consider: func(context.Context, codons.Proposed) (codons.Verdict, error) {
			t.Error("a bid was taken for a proposal")
			return codons.Verdict{}, nil
		}})
		a := w.puppet("puppet")
		a.say(p.Envelope{Receiver: "Council", Performative: p.ActPropose, InReplyTo: "cfp-1", Payload: p.Raw(`{"price":7}`)})
		if r := (<-a.got).AsRefusal(); r == nil || r.Code != p.CodeIncapable {
			t.Errorf("got %v", r)
		}
	})
}
