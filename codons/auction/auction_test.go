package auction_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/auction"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/internal/exhaustive"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// bidder takes every price up to its value, and settles at once. Its functions replace that
// when they are set.
type bidder struct {
	value    int64
	consider func(context.Context, auction.Offered) (bool, error)
	settle   func(context.Context, auction.Bought) (p.InformResult, error)
	max      int
}

func (*bidder) Describe() p.Capabilities { return p.Capabilities{} }

func (c *bidder) MaxTasks() int { return c.max }

func (c *bidder) ConsiderPrice(ctx context.Context, o auction.Offered) (bool, error) {
	if c.consider != nil {
		return c.consider(ctx, o)
	}
	return o.Price <= c.value, nil
}

func (c *bidder) SettlePurchase(ctx context.Context, b auction.Bought) (p.InformResult, error) {
	if c.settle != nil {
		return c.settle(ctx, b)
	}
	return p.InformResult{Status: p.StatusSuccess, Summary: fmt.Sprint("paid ", b.Price)}, nil
}

// spawn spawns bidders with the ids A, B, … and returns the ids.
func spawn(w *kit.World, all ...*bidder) []p.AgentID {
	w.T.Helper()
	var ids []p.AgentID
	for i, c := range all {
		ids = append(ids, p.AgentID(rune('A'+i)))
		w.Add(ids[i], c)
	}
	return ids
}

// values are bidders that bid up to their values.
func values(all ...int64) []*bidder {
	var out []*bidder
	for _, v := range all {
		out = append(out, &bidder{value: v})
	}
	return out
}

func vase() auction.Lot { return auction.Lot{Item: "vase", Start: 10, Step: 5, Reserve: 20} }

// clock is a lot for a Dutch auction.
func clock() auction.Lot { return auction.Lot{Item: "clock", Start: 100, Step: 7, Reserve: 20} }

func english(w *kit.World, ctx context.Context, ids []p.AgentID, opts ...codons.Option) (auction.Sale, error) {
	return auction.English(ctx, w.Eddy, ids, vase(), opts...)
}

func dutch(w *kit.World, ctx context.Context, ids []p.AgentID, opts ...codons.Option) (auction.Sale, error) {
	return auction.Dutch(ctx, w.Eddy, ids, clock(), opts...)
}

func startEnglish(w *kit.World, ctx context.Context, ids []p.AgentID) *auction.Auction {
	w.T.Helper()
	a, err := auction.StartEnglish(ctx, w.Eddy, ids, vase())
	if err != nil {
		w.T.Fatal(err)
	}
	return a
}

// wantSale expects a sale to a bidder for a price.
func wantSale(t testing.TB, s auction.Sale, err error, winner p.AgentID, price int64) {
	t.Helper()
	if err != nil || s.Winner != winner || s.Price != price || s.Result.Summary != fmt.Sprint("paid ", price) {
		t.Errorf("got %+v, %v, want it sold to %s for %d", s, err, winner, price)
	}
}

// wantNoSale expects that the lot was not sold.
func wantNoSale(t testing.TB, s auction.Sale, err error) {
	t.Helper()
	if !errors.Is(err, auction.ErrNoSale) || s.Winner != "" {
		t.Errorf("got %+v, %v, want no sale", s, err)
	}
}

// wantAbsent expects that a bidder is absent, in a state with a code.
func wantAbsent(t testing.TB, s auction.Sale, id p.AgentID, state string, code p.Code) {
	t.Helper()
	for _, a := range s.Absent {
		if a.Bidder == id {
			kit.WantEnd(t, a.Err, machine.State(state), code)
			return
		}
	}
	t.Errorf("%s is not absent: %+v", id, s)
}

func TestEnglishAuction(t *testing.T) {
	for name, c := range map[string]struct {
		values []int64
		winner p.AgentID
		price  int64
	}{
		"one bidder, above the reserve":  {[]int64{100}, "", 10}, // no other bidder raises the price
		"the highest value":              {[]int64{20, 70, 40}, "B", 45},
		"a tie goes to the first":        {[]int64{40, 40, 40}, "A", 40},
		"the reserve is not reached":     {[]int64{16, 17}, "", 15},
		"no bid at the first price":      {[]int64{9, 3, 0}, "", 0},
		"the reserve is reached exactly": {[]int64{20, 19}, "A", 20},
		"no bid against the leader":      {[]int64{12, 11, 30}, "", 15},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				s, err := english(w, t.Context(), spawn(w, values(c.values...)...))
				if c.winner != "" {
					wantSale(t, s, err, c.winner, c.price)
				} else if wantNoSale(t, s, err); s.Price != c.price {
					t.Errorf("the highest bid is %d, want %d", s.Price, c.price)
				}
				if len(s.Absent) > 0 {
					t.Errorf("absent: %v", s.Absent)
				}
				w.Settled(0)
			})
		})
	}
}

// auctions is how many auctions of random values a test holds.
func auctions() int {
	if exhaustive.Enabled() {
		return 200
	}
	return 20
}

// TestEnglishPrice sells within a step of the second highest value.
func TestEnglishPrice(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 1))
	for range auctions() {
		var all []int64
		for range 2 + rng.IntN(4) {
			all = append(all, 25+rng.Int64N(60))
		}
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			s, err := english(w, t.Context(), spawn(w, values(all...)...))
			if err != nil {
				t.Fatalf("values %v: %v", all, err)
			}
			sorted := slices.Sorted(slices.Values(all))
			second, step := sorted[len(sorted)-2], vase().Step
			if s.Price > second+step || s.Price < second-step || all[s.Winner[0]-'A'] < s.Price {
				t.Errorf("values %v: sold to %s for %d", all, s.Winner, s.Price)
			}
			w.Settled(0)
		})
	}
}

// TestDutchPrice sells at the highest called price that is not above all values, to a bidder that
// takes it.
func TestDutchPrice(t *testing.T) {
	rng := rand.New(rand.NewPCG(32, 1))
	for range auctions() {
		var all []int64
		for range 1 + rng.IntN(4) {
			all = append(all, rng.Int64N(120))
		}
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			s, err := dutch(w, t.Context(), spawn(w, values(all...)...))
			price, rounds := clock().Start, 1
			for slices.Max(all) < price && price > clock().Reserve {
				price, rounds = max(price-clock().Step, clock().Reserve), rounds+1
			}
			if slices.Max(all) < price {
				wantNoSale(t, s, err)
			} else {
				wantSale(t, s, err, s.Winner, price)
				if s.Winner != "" && all[s.Winner[0]-'A'] < price {
					t.Errorf("values %v: %s has taken %d", all, s.Winner, price)
				}
			}
			if s.Rounds != rounds || len(s.Absent) > 0 {
				t.Errorf("values %v: %d rounds, want %d; absent %v", all, s.Rounds, rounds, s.Absent)
			}
			w.Settled(0)
		})
	}
}

// TestDutchFirstInTime sells to the bidder whose bid arrives first, although a bidder that was
// named before it takes the price later, and another one has not answered. Of two bids at the same
// time either wins.
func TestDutchFirstInTime(t *testing.T) {
	after := func(d time.Duration) *bidder {
		return &bidder{consider: func(ctx context.Context, _ auction.Offered) (bool, error) {
			select {
			case <-time.After(d):
			case <-ctx.Done():
			}
			return true, nil
		}}
	}
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		start := time.Now()
		s, err := dutch(w, t.Context(), spawn(w, after(3*time.Second), after(2*time.Second), bidder{}.never()))
		wantSale(t, s, err, "B", 100)
		kit.WantElapsed(t, start, 2*time.Second)
		w.Settled(0)
	})
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		s, err := dutch(w, t.Context(), spawn(w, after(time.Second), after(time.Second), after(time.Second)))
		wantSale(t, s, err, s.Winner, 100)
		w.Settled(0)
	})
}

// TestDutchReserveIsTheLastPrice calls the reserve last, also when it is less than a step away.
func TestDutchReserveIsTheLastPrice(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		ids := spawn(w, values(19, 21, 19)...)
		s, err := dutch(w, t.Context(), ids)
		wantSale(t, s, err, "B", 20)
		s, err = dutch(w, t.Context(), ids[:1])
		if wantNoSale(t, s, err); s.Price != 0 || s.Rounds != 13 {
			t.Errorf("got %+v", s)
		}
		w.Settled(0)
	})
}

// TestTranscripts compares the messages of auctions with the golden files.
func TestTranscripts(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		s, err := english(w, t.Context(), spawn(w, &bidder{value: 23}))
		wantNoSale(t, s, err)
		s, err = auction.English(t.Context(), w.Eddy, []p.AgentID{"A"}, auction.Lot{Item: "vase", Start: 20, Step: 5})
		wantSale(t, s, err, "A", 20)
		synctest.Wait()
		kit.Golden(t, "english-auction", w.Lines())
	})
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		s, err := dutch(w, t.Context(), spawn(w, &bidder{value: 90}))
		wantSale(t, s, err, "A", 86)
		synctest.Wait()
		kit.Golden(t, "dutch-auction", w.Lines())
	})
}

// TestMessagesToBidder checks the contents of the messages that a bidder gets.
func TestMessagesToBidder(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		a, end := w.Peer("A"), time.Now().Add(codons.DefaultDeadline)
		sale := startEnglish(w, t.Context(), []p.AgentID{"A"})
		lot, err := p.PayloadAs[auction.Lot](a.Expect(p.ActInform))
		if err != nil || lot.Item != "vase" || lot.Reserve != 20 || lot.Step != 5 || !lot.EndsBy.Equal(end) {
			t.Errorf("it begins with %+v, %v", lot, err)
		}
		cfp := a.Expect(p.ActCFP)
		if o, err := p.PayloadAs[auction.Offer](cfp); err != nil || o.Price != 10 || o.Round != 1 || !cfp.ReplyBy().Equal(time.Now().Add(auction.DefaultRoundTime)) {
			t.Errorf("called %+v by %v, %v", o, cfp.ReplyBy(), err)
		}
		bid, err := cfp.ReplyAs(a.Stamp(), p.ActPropose, p.Raw(`{"price":10}`))
		if err != nil {
			t.Fatal(err)
		}
		a.SendAgain(bid)
		if yes := a.Expect(p.ActAcceptProposal); !yes.Answers(bid) {
			t.Errorf("%s is not about the bid", yes.InReplyTo())
		}
		over, err := p.PayloadAs[auction.End](a.Expect(p.ActInform))
		if want := (auction.End{Item: "vase", Over: true}); err != nil || over != want {
			t.Errorf("it ends with %+v, %v", over, err)
		}
		s, err := sale.Wait()
		wantNoSale(t, s, err)
		a.Silent()
	})
}

func TestInvalidLots(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		ids := spawn(w, &bidder{})
		for name, lot := range map[string]auction.Lot{
			"no item":               {Step: 1, Start: 1},
			"no step":               {Item: "vase", Start: 1},
			"a negative price":      {Item: "vase", Step: 1, Start: -1},
			"a negative reserve":    {Item: "vase", Step: 1, Start: 1, Reserve: -1},
			"a reserve above Start": {Item: "vase", Step: 1, Start: 1, Reserve: 2},
		} {
			if _, err := auction.Dutch(t.Context(), w.Eddy, ids, lot); !errors.Is(err, p.CodeInvalidPayload) {
				t.Errorf("%s: %v", name, err)
			}
		}
		w.Settled(0)
	})
}

func TestAuctioneerCannotBid(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		if _, err := auction.English(t.Context(), w.Eddy, []p.AgentID{w.Eddy.ID()}, auction.Lot{Item: "it", Start: 1, Step: 1}); err == nil {
			t.Error("no error")
		}
		w.Settled(0)
	})
}
