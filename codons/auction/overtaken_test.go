package auction_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/auction"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
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

// TestOvertakenAnnouncement has the announcement of an auction arrive after the bidder has left. Neither it
// nor the end of the auction begins another conversation.
func TestOvertakenAnnouncement(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		began := w.Events.Subscribe(actors.SubscribeOptions{Kinds: []actors.Kind{codons.KindTransition}})
		deliver := holdFirst(w, p.ActInform)
		s, err := english(w, t.Context(), spawn(w, bidder{}.never()))
		wantNoSale(t, s, err)
		synctest.Wait()
		deliver()
		w.Settled(0)
		began.Close()
		n := 0
		for r := range began.C {
			if e := r.Event.(codons.Transition); e.Agent == "A" && e.From == machine.Idle {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d conversations of the bidder began, want 1", n)
		}
	})
}

// TestCancelOvertakesPurchase has CANCEL arrive before the REQUEST of the purchase, at a bidder that has not
// got the announcement. The bidder does not settle.
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
