package auction_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/auction"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// holdFirst keeps the first message of an act, and returns a function that delivers it to A.
func holdFirst(w *kit.World, act p.Performative) (deliver func()) {
	var held *p.Message
	w.Net.Intercept(func(m *p.Message) bool {
		if held != nil || m.Performative() != act {
			return false
		}
		held = m
		return true
	})
	return func() {
		w.T.Helper()
		if held == nil {
			w.T.Fatal("no message was held")
		}
		if err := w.Deliver("A", held); err != nil {
			w.T.Error(err)
		}
	}
}

// TestOvertakenAnnouncement has the announcement of an auction arrive after the bidder has left.
// Neither it nor the end of the auction begins another conversation.
func TestOvertakenAnnouncement(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		began := w.Events.Subscribe(events.SubscribeOptions{Kinds: []events.Kind{lifecycle.KindTransition}})
		deliver := holdFirst(w, p.ActInform)
		s, err := english(w, t.Context(), spawn(w, bidder{}.never()))
		wantNoSale(t, s, err)
		synctest.Wait()
		deliver()
		w.Settled(0)
		began.Close()
		n := 0
		for r := range began.C {
			if e := r.Event.(lifecycle.Transition); e.Agent == "A" && e.From == machine.Idle {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d conversations of the bidder began, want 1", n)
		}
	})
}

// TestCancelOvertakesPurchase has CANCEL arrive before the REQUEST of the purchase, at a bidder
// that has not got the announcement. The bidder does not settle.
func TestCancelOvertakesPurchase(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		ids := spawn(w, &bidder{value: 100, settle: func(context.Context, auction.Bought) (p.InformResult, error) {
			t.Error("the bidder settles")
			return kit.Result(p.StatusSuccess), nil
		}})
		var request *p.Message
		announced := false
		w.Net.Intercept(func(m *p.Message) bool {
			switch {
			case m.Performative() == p.ActInform && !announced:
				announced = true
				return true
			case m.Performative() == p.ActRequest:
				request = m
				return true
			}
			return false
		})
		sale, err := auction.StartDutch(t.Context(), w.Eddy, ids, clock())
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		sale.Cancel()
		synctest.Wait()
		w.Net.Intercept(nil)
		if err := w.Deliver("A", request); err != nil {
			t.Error(err)
		}
		if _, err := sale.Wait(); !errors.Is(err, p.CodeCanceled) {
			t.Errorf("got %v, want the receipt for CANCEL", err)
		}
		w.Settled(0)
	})
}

// TestAnnouncementAfterThePrice has the announcement arrive after the first price, or after CANCEL.
// It is late, and not unexpected.
func TestAnnouncementAfterThePrice(t *testing.T) {
	for name, cancelled := range map[string]bool{"after the price": false, "after CANCEL": true} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				dropped := kit.Recording(&w.Events, events.KindMessageDeadLettered)
				release := make(chan struct{})
				ids := spawn(w, &bidder{consider: func(context.Context, auction.Offered) (bool, error) {
					<-release
					return false, nil
				}})
				deliver := holdFirst(w, p.ActInform)
				sale := startEnglish(w, t.Context(), ids)
				synctest.Wait()
				if cancelled {
					sale.Cancel()
					synctest.Wait()
				}
				deliver()
				synctest.Wait()
				close(release)
				_, _ = sale.Wait()
				w.Settled(0)
				if all := kit.Published[events.DeadLetter](t, dropped); len(all) != 1 || all[0].Code != machine.DropLate {
					t.Errorf("dropped %+v, want the announcement as late", all)
				}
			})
		})
	}
}

// TestAbsentBidderRefusesAgain calls a price to a bidder that has left before it, and repeats the
// call. Each call gets the refusal, as the first one may be lost.
func TestAbsentBidderRefusesAgain(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		spawn(w, &bidder{value: 100})
		a := w.Peer("peer")
		lot := vase()
		lot.EndsBy = time.Now().Add(time.Minute)
		first := a.Send(p.Envelope{Receiver: "A", Protocol: auction.EnglishCodon.Name(), Payload: lot})
		time.Sleep(2 * time.Minute)
		call := a.Send(first.FollowEnvelope(a.Stamp(), p.ActCFP, auction.Offer{Lot: lot, Price: 10, Round: 1}))
		for range 2 {
			if no := a.Expect(p.ActFailure); !no.Answers(call) || no.AsRefusal().Code != p.CodeConversationEnded {
				t.Errorf("got %v", no.AsRefusal())
			}
			a.SendAgain(call)
		}
		a.Expect(p.ActFailure)
		w.Settled(0)
	})
}

// TestOvertakenPrice has the first price arrive after the bid for the second one. The bidder drops
// it, and its bid binds it still.
func TestOvertakenPrice(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		dropped := kit.Recording(&w.Events, events.KindMessageDeadLettered)
		var first *p.Message
		w.Net.Intercept(func(m *p.Message) bool {
			offer, err := p.PayloadAs[auction.Offer](m)
			if m.Performative() == p.ActCFP && err == nil && offer.Round == 1 {
				first = m
				return true
			}
			if m.Performative() == p.ActAcceptProposal {
				if err := w.Deliver("A", first); err != nil {
					t.Error(err)
				}
			}
			return false
		})
		var asked []int
		s, err := dutch(w, t.Context(), spawn(w, &bidder{consider: func(_ context.Context, o auction.Offered) (bool, error) {
			asked = append(asked, o.Round)
			return true, nil
		}}))
		wantSale(t, s, err, "A", 93)
		w.Settled(0)
		if len(asked) != 1 || asked[0] != 2 {
			t.Errorf("asked in the rounds %v", asked)
		}
		if all := kit.Published[events.DeadLetter](t, dropped); len(all) != 1 || all[0].Code != machine.DropStale {
			t.Errorf("dropped %+v, want the first price as stale", all)
		}
	})
}
