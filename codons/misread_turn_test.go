package codons_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// TestMisreadTurn has an asker, after the comments, send the awaited message type with a payload
// that the reviewer cannot read, a type of the other side, and one that no codon has. The reviewer
// reads the payload as it begins the turn, and does not understand it. The others are no message
// that it awaits: it answers by FAILURE. Either names the reason, and the reviewer is no longer
// bound.
func TestMisreadTurn(t *testing.T) {
	for _, c := range []struct {
		kind string
		body any
		want p.Performative
	}{
		{"REVIEW_REQUEST", p.Raw(`{"Diff":7}`), p.ActNotUnderstood},
		{"APPROVED", comments{"of the other side"}, p.ActFailure},
		{"REVIEW_PLEASE", change{Diff: "x"}, p.ActFailure},
	} {
		inReviews(t, wantsTests, func(t *testing.T, s *actors.System, _ actors.Self) {
			got := make(scripted, 8)
			anna, err := s.Spawn(t.Context(), actors.Spec{ID: "Anna", New: func() actors.Agent { return got }})
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			send := func(first *p.Message, kind string, body any) *p.Message {
				stamp := anna.Stamp()
				e := p.Envelope{
					ID: stamp.ID, Timestamp: stamp.Time, Performative: p.ActRequest, Sender: "Anna", Receiver: "Rev", ConversationID: "review",
					Protocol: review.Name(), MessageType: kind, ReplyWith: string(stamp.ID), Payload: body,
				}
				if first != nil {
					e.InReplyTo = string(first.ID())
				}
				m, err := p.New(e)
				if err != nil {
					t.Fatal(err)
				}
				if err := anna.Send(m); err != nil {
					t.Fatal(err)
				}
				return m
			}
			send(nil, "REVIEW_REQUEST", change{Diff: "x"})
			said := <-got
			if said.MessageType() != "CHANGES_REQUESTED" {
				t.Fatalf("the reviewer said %s %s", said.Performative(), said.MessageType())
			}
			odd := send(said, c.kind, c.body)
			failed := <-got
			if r := failed.AsRefusal(); failed.Performative() != c.want || !failed.Answers(odd) || r.Code != p.CodeInvalidPayload || r.Text == "" {
				t.Errorf("%s: the reviewer said %s %+v, in reply to %s", c.kind, failed.Performative(), failed.AsRefusal(), failed.InReplyTo())
			}
			synctest.Wait() // the reviewer's conversation ends after its answer
			if all := codons.Conversations(s); len(all) != 0 || !time.Now().Equal(began) {
				t.Errorf("%s: after %v the reviewer has %+v", c.kind, time.Since(began), all)
			}
		})
	}
}
