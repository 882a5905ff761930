package codons_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// TestRepliesAreBounded ends conversations whose replies exceed what an agent keeps. The latest are
// repeated, the others are not.
func TestRepliesAreBounded(t *testing.T) {
	for name, c := range map[string]struct{ length, kept, ends int }{
		"short": {10, 10, 100}, "long": {5_000, 2, 40}, "too long": {20_000, 0, 10},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				w.Add("Jules", &kit.Worker{Perform: func(context.Context, delegation.Task) (p.InformResult, error) {
					return p.InformResult{Status: p.StatusSuccess, Summary: strings.Repeat("x", c.length)}, nil
				}})
				a := w.Peer("peer")
				var requests, results []*p.Message
				for range c.ends {
					requests = append(requests, a.Send(p.Envelope{Receiver: "Jules", Payload: kit.Task()}))
					a.Expect(p.ActTaskAccept)
					results = append(results, a.Expect(p.ActInformResult))
					synctest.Wait() // until the conversation has ended, so that the ends are in this order
				}
				for i, request := range requests {
					switch {
					case i >= c.ends-c.kept:
						a.SendAgain(request)
						if again := a.Expect(p.ActInformResult); again.ID() != results[i].ID() {
							t.Errorf("another result for %d", i)
						}
					case i < c.ends/2:
						wantEnded(a, request)
					}
				}
				a.Silent()
			})
		})
	}
}

// TestReceiptsOfOldCancels sends CANCEL again when its receipt is not kept any more.
func TestReceiptsOfOldCancels(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{Perform: kit.UntilDone[p.InformResult, delegation.Task]})
		a := w.Peer("peer")
		var cancels []*p.Message
		for range 100 {
			request := a.Send(p.Envelope{Receiver: "Jules", Payload: kit.Task()})
			a.Expect(p.ActTaskAccept)
			synctest.Wait()
			cancel, err := request.Follow(a.Stamp(), p.Cancel{})
			if err != nil {
				t.Fatal(err)
			}
			a.SendAgain(cancel)
			a.Expect(p.ActInform)
			cancels = append(cancels, cancel)
		}
		for _, cancel := range cancels {
			a.SendAgain(cancel)
			if receipt := a.Expect(p.ActInform); receipt.InReplyTo() != string(cancel.ID()) {
				t.Errorf("a receipt for %q, want one for %q", receipt.InReplyTo(), cancel.ID())
			}
		}
		a.Silent()
	})
}
