package approval_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/approval"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	p "github.com/ribosome-agents/ribosome/performatives"
)

func TestPropose(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Council", &proposalHandler{consider: acceptBench})
		for build, want := range map[string]bool{"a bench": true, "a bridge": false} {
			got, err := approval.Propose(t.Context(), w.Eddy, "Council", plan{Build: build})
			if err != nil || got.Accepted != want || got.Reason != "of "+build {
				t.Errorf("%s: got %+v, %v", build, got, err)
			}
		}
		if _, err := approval.Propose(t.Context(), w.Eddy, "Council", "a text"); !errors.Is(err, p.CodeInvalidPayload) {
			t.Errorf("a string as proposal: %v", err)
		}
		w.Settled(0)
		if n := w.Counts(); n.DeadLetters != 0 || n.Refused != 0 {
			t.Errorf("a verdict was answered: %+v", n)
		}
	})
}

// A peer of another implementation may send any content with its verdict.
func TestContentsOfVerdicts(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		a := w.Peer("Council")
		for _, c := range []struct {
			act     p.Performative
			payload any
			want    approval.Verdict
			code    p.Code
		}{
			{p.ActAcceptProposal, nil, approval.Verdict{Accepted: true}, ""},
			{p.ActAcceptProposal, p.Raw(`{"price":7}`), approval.Verdict{Accepted: true}, ""},
			{p.ActAcceptProposal, p.Raw(`{"reason_text":7}`), approval.Verdict{Accepted: true}, ""},
			{p.ActAcceptProposal, p.Raw(`{"reason_text":"good"}`), approval.Verdict{Accepted: true, Reason: "good"}, ""},
			{p.ActRejectProposal, p.Raw(`{}`), approval.Verdict{}, ""},
			{p.ActRejectProposal, p.Raw(`{"reason_text":"bad"}`), approval.Verdict{Reason: "bad"}, ""},
			{p.ActRejectProposal, p.RejectProposal{ReasonCode: p.CodeBusy, ReasonText: "later"}, approval.Verdict{}, p.CodeBusy},
		} {
			pending, err := approval.StartPropose(t.Context(), w.Eddy, "Council", plan{Build: "a bridge"})
			if err != nil {
				t.Fatal(err)
			}
			answer, err := a.Expect(p.ActPropose).ReplyAs(a.Stamp(), c.act, c.payload)
			if err != nil {
				t.Fatal(err)
			}
			a.SendAgain(answer)
			got, err := pending.Wait()
			if got != c.want || (err == nil) != (c.code == "") {
				t.Errorf("%s %s: got %+v, %v", c.act, c.payload, got, err)
			}
			if c.code != "" {
				kit.WantEnd(t, err, "rejected", c.code)
			}
		}
		a.Silent() // a verdict is not answered
	})
}

// An acceptance after the initiator's deadline is a dead letter and is not answered.
func TestLateAcceptance(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		a := w.Peer("Council")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		pending, err := approval.StartPropose(ctx, w.Eddy, "Council", plan{Build: "a bridge"}, codons.WithRetry(codons.NoRetry()))
		if err != nil {
			t.Fatal(err)
		}
		proposal := a.Expect(p.ActPropose)
		_, err = pending.Wait()
		kit.WantEnd(t, err, "timed_out", p.CodeTimeout)
		w.Settled(0)
		before := w.Counts()
		answer, _ := proposal.ReplyAs(a.Stamp(), p.ActAcceptProposal, nil)
		a.SendAgain(answer)
		a.Silent()
		if n := w.Counts(); n.DeadLetters != before.DeadLetters+1 || n.Refused != before.Refused {
			t.Errorf("before %+v, after %+v", before, n)
		}
	})
}

// The initiator has stopped when the acceptance is sent.
func TestUndeliverableAcceptance(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		decide := make(chan struct{})
		w.Add("Council", &proposalHandler{consider: func(context.Context, approval.Proposed) (approval.Verdict, error) {
			<-decide
			return approval.Verdict{Accepted: true}, nil
		}})
		a := w.Peer("peer")
		a.Send(p.Envelope{Receiver: "Council", Performative: p.ActPropose, Payload: p.Raw(`{"build":"x"}`)})
		synctest.Wait()
		if err := w.StopAgent(t.Context(), "peer"); err != nil {
			t.Fatal(err)
		}
		before := w.Counts()
		close(decide)
		w.Settled(0)
		if n := w.Counts(); n.Refused != before.Refused+1 || n.DeadLetters != before.DeadLetters {
			t.Errorf("before %+v, after %+v", before, n)
		}
	})
}

// A PROPOSE in reply to a message is a bid, not a proposal.
func TestBidIsNoProposal(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Council", &proposalHandler{consider: func(context.Context, approval.Proposed) (approval.Verdict, error) {
			t.Error("a bid was taken for a proposal")
			return approval.Verdict{}, nil
		}})
		a := w.Peer("peer")
		a.Send(p.Envelope{Receiver: "Council", Performative: p.ActPropose, InReplyTo: "cfp-1", Payload: p.Raw(`{"price":7}`)})
		if r := (<-a.Got).AsRefusal(); r == nil || r.Code != p.CodeIncapable {
			t.Errorf("got %v", r)
		}
	})
}
