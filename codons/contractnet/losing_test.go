package contractnet_test

import (
	"errors"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/codons/contractnet"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// loser is a bidder that records its lost proposals.
type loser struct {
	bidder
	lost []contractnet.LostProposal
}

func (l *loser) ProposalLost(lost contractnet.LostProposal) { l.lost = append(l.lost, lost) }

// TestLostProposal tells a bidder that its proposal was rejected, and that one has lapsed. The
// winner hears nothing.
func TestLostProposal(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		winner, second := &loser{bidder: bidder{cost: 1}}, &loser{bidder: bidder{cost: 2}}
		w.Add("A", winner)
		w.Add("B", second)
		if _, err := call(w, t.Context(), []p.AgentID{"A", "B"}); err != nil {
			t.Fatal(err)
		}
		w.Settled(0)
		a := w.Peer("caller")
		a.Send(p.Envelope{Receiver: "B", Payload: contractnet.Call{Task: kit.Task(), ResultBy: time.Now().Add(time.Minute)}})
		for m := <-a.Got; m.Performative() != p.ActFailure; m = <-a.Got { // the proposal is repeated until it lapses
			if m.Performative() != p.ActPropose {
				t.Fatalf("got %s", m.Performative())
			}
		}
		w.Settled(0)
		if len(winner.lost) > 0 || len(second.lost) != 2 {
			t.Fatalf("the winner has lost %+v, the other %+v", winner.lost, second.lost)
		}
		for i, code := range []p.Code{p.CodeRejected, p.CodeExpired} {
			if l := second.lost[i]; !errors.Is(&l.Reason, code) || l.Proposal.Cost != 2 || l.Call.Task.TaskType != "debug_code" || l.Agent.ID() != "B" {
				t.Errorf("got %+v, want the code %s", l, code)
			}
		}
	})
}

// TestMisreadBidder has a bidder answer the call by an act that the caller cannot read. The other
// bidder wins. A caller that cannot read a proposal frees its bidder.
func TestMisreadBidder(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		odd, second := w.Peer("A"), &loser{bidder: bidder{cost: 2}}
		w.Add("B", second)
		tender := startCall(w, t.Context(), []p.AgentID{"A", "B"})
		odd.ReplyOddly(odd.Expect(p.ActCFP))
		a, err := tender.Wait()
		wantWinners(t, a, err, "B")
		wantLoss(t, a, "A", "misread", p.CodeUnexpectedAct)
		w.Settled(0)

		caller := w.Peer("caller")
		caller.Send(p.Envelope{Receiver: "B", Payload: contractnet.Call{Task: kit.Task(), ResultBy: time.Now().Add(time.Minute)}})
		caller.Reply(caller.Expect(p.ActPropose), p.NotUnderstood{ReasonCode: p.CodeUnexpectedAct, ReasonText: "eh?"})
		if said := caller.Expect(p.ActFailure).AsRefusal(); said.Code != p.CodeStillRunning {
			t.Errorf("got %v", said)
		}
		w.Settled(0)
	})
}

// TestBidderMisreads has a caller answer a proposal by an act that its bidder cannot read. The
// bidder says so at once, and is no longer bound. It answers an award that comes then by its
// FAILURE.
func TestBidderMisreads(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("B", &bidder{cost: 2})
		caller := w.Peer("caller")
		caller.Send(p.Envelope{Receiver: "B", Payload: contractnet.Call{Task: kit.Task(), ResultBy: time.Now().Add(time.Minute)}})
		proposal := caller.Expect(p.ActPropose)
		start := time.Now()
		odd := caller.Send(proposal.ReplyEnvelope(caller.ID(), caller.Stamp(), p.ActDisconfirm, p.Raw("{}")))
		failed := caller.Expect(p.ActFailure)
		if r := failed.AsRefusal(); r.Code != p.CodeUnexpectedAct || !failed.Answers(odd) {
			t.Errorf("got %v about %s", r, failed.InReplyTo())
		}
		kit.WantElapsed(t, start, 0)
		w.Settled(0)
		caller.Send(proposal.ReplyEnvelope(caller.ID(), caller.Stamp(), p.ActAcceptProposal, nil))
		if m := caller.Expect(p.ActFailure); m.ID() != failed.ID() {
			t.Errorf("got another FAILURE: %v", m.AsRefusal())
		}
		caller.Silent()
	})
}
