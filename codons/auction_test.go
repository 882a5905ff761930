package codons_test

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
	p "github.com/ribosome-agents/ribosome/performatives"
)

// collector takes every price up to its value, and settles at once, unless it has
// functions that do otherwise.
type collector struct {
	value    int64
	consider func(context.Context, codons.Offered) (bool, error)
	settle   func(context.Context, codons.Bought) (p.InformResult, error)
	max      int
}

func (*collector) Describe() p.Capabilities { return p.Capabilities{} }

func (c *collector) MaxTasks() int { return c.max }

func (c *collector) ConsiderPrice(ctx context.Context, o codons.Offered) (bool, error) {
	if c.consider != nil {
		return c.consider(ctx, o)
	}
	return o.Price <= c.value, nil
}

func (c *collector) SettlePurchase(ctx context.Context, b codons.Bought) (p.InformResult, error) {
	if c.settle != nil {
		return c.settle(ctx, b)
	}
	return p.InformResult{Status: p.StatusSuccess, Summary: fmt.Sprint("paid ", b.Price)}, nil
}

// gather spawns the collectors A, B, … and returns their ids.
func (w *world) gather(all ...*collector) []p.AgentID {
	w.t.Helper()
	var ids []p.AgentID
	for i, c := range all {
		ids = append(ids, p.AgentID(rune('A'+i)))
		w.spawn(ids[i], c)
	}
	return ids
}

// values are truthful collectors.
func values(all ...int64) []*collector {
	var out []*collector
	for _, v := range all {
		out = append(out, &collector{value: v})
	}
	return out
}

func vase() codons.Lot { return codons.Lot{Item: "vase", Start: 10, Step: 5, Reserve: 20} }

// clock is a lot for a Dutch auction.
func clock() codons.Lot { return codons.Lot{Item: "clock", Start: 100, Step: 7, Reserve: 20} }

func (w *world) english(ctx context.Context, ids []p.AgentID, opts ...codons.Option) (codons.Sale, error) {
	return codons.EnglishAuction(ctx, w.eddy, ids, vase(), opts...)
}

func (w *world) dutch(ctx context.Context, ids []p.AgentID, opts ...codons.Option) (codons.Sale, error) {
	return codons.DutchAuction(ctx, w.eddy, ids, clock(), opts...)
}

func (w *world) startEnglish(ctx context.Context, ids []p.AgentID) *codons.Auction {
	w.t.Helper()
	a, err := codons.StartEnglishAuction(ctx, w.eddy, ids, vase())
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// wantSale expects that it was sold to that bidder for that price.
func wantSale(t testing.TB, s codons.Sale, err error, winner p.AgentID, price int64) {
	t.Helper()
	if err != nil || s.Winner != winner || s.Price != price || s.Result.Summary != fmt.Sprint("paid ", price) {
		t.Errorf("got %+v, %v, want it sold to %s for %d", s, err, winner, price)
	}
}

// wantNoSale expects that nothing was sold.
func wantNoSale(t testing.TB, s codons.Sale, err error) {
	t.Helper()
	if !errors.Is(err, codons.ErrNoSale) || s.Winner != "" {
		t.Errorf("got %+v, %v, want no sale", s, err)
	}
}

// wantAbsent expects that the bidder left in that way.
func wantAbsent(t testing.TB, s codons.Sale, id p.AgentID, state string, code p.Code) {
	t.Helper()
	for _, a := range s.Absent {
		if a.Bidder == id {
			wantEnd(t, a.Err, machineState(state), code)
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
		"one bidder, above the reserve":  {[]int64{100}, "", 10}, // it bids against nobody
		"the highest value":              {[]int64{20, 70, 40}, "B", 45},
		"a tie goes to the first":        {[]int64{40, 40, 40}, "A", 40},
		"the reserve is not reached":     {[]int64{16, 17}, "", 15},
		"nobody takes the first price":   {[]int64{9, 3, 0}, "", 0},
		"the reserve is reached exactly": {[]int64{20, 19}, "A", 20},
		"nobody bids against the leader": {[]int64{12, 11, 30}, "", 15},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				s, err := w.english(t.Context(), w.gather(values(c.values...)...))
				if c.winner != "" {
					wantSale(t, s, err, c.winner, c.price)
				} else if wantNoSale(t, s, err); s.Price != c.price {
					t.Errorf("the highest bid is %d, want %d", s.Price, c.price)
				}
				if len(s.Absent) > 0 {
					t.Errorf("absent: %v", s.Absent)
				}
				w.settled(0)
			})
		})
	}
}

// TestEnglishAuctionOfTruthfulBidders has a price within a step of what the second
// would have paid.
func TestEnglishAuctionOfTruthfulBidders(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 1))
	for range 60 {
		var all []int64
		for range 2 + rng.IntN(4) {
			all = append(all, 25+rng.Int64N(60))
		}
		inWorld(t, func(t *testing.T, w *world) {
			s, err := w.english(t.Context(), w.gather(values(all...)...))
			if err != nil {
				t.Fatalf("values %v: %v", all, err)
			}
			sorted := slices.Sorted(slices.Values(all))
			second, step := sorted[len(sorted)-2], vase().Step
			if s.Price > second+step || s.Price < second-step || all[s.Winner[0]-'A'] < s.Price {
				t.Errorf("values %v: sold to %s for %d", all, s.Winner, s.Price)
			}
			w.settled(0)
		})
	}
}

// TestDutchAuctionOfTruthfulBidders is won by the first of those who take the
// highest price that anybody takes.
func TestDutchAuctionOfTruthfulBidders(t *testing.T) {
	rng := rand.New(rand.NewPCG(32, 1))
	for range 60 {
		var all []int64
		for range 1 + rng.IntN(4) {
			all = append(all, rng.Int64N(120))
		}
		inWorld(t, func(t *testing.T, w *world) {
			s, err := w.dutch(t.Context(), w.gather(values(all...)...))
			price, rounds := clock().Start, 1
			for slices.Max(all) < price && price > clock().Reserve {
				price, rounds = max(price-clock().Step, clock().Reserve), rounds+1
			}
			if slices.Max(all) < price {
				wantNoSale(t, s, err)
			} else {
				first := slices.IndexFunc(all, func(v int64) bool { return v >= price })
				wantSale(t, s, err, p.AgentID(rune('A'+first)), price)
			}
			if s.Rounds != rounds || len(s.Absent) > 0 {
				t.Errorf("values %v: %d rounds, want %d; absent %v", all, s.Rounds, rounds, s.Absent)
			}
			w.settled(0)
		})
	}
}

// TestDutchAuctionDownToTheReserve calls that as its last price.
func TestDutchAuctionDownToTheReserve(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ids := w.gather(values(19, 21, 20)...)
		s, err := w.dutch(t.Context(), ids)
		wantSale(t, s, err, "B", 20)
		s, err = w.dutch(t.Context(), ids[:1])
		if wantNoSale(t, s, err); s.Price != 0 || s.Rounds != 13 {
			t.Errorf("got %+v", s)
		}
		w.settled(0)
	})
}

func TestAuctionTranscripts(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		s, err := w.english(t.Context(), w.gather(&collector{value: 23}))
		wantNoSale(t, s, err)
		s, err = codons.EnglishAuction(t.Context(), w.eddy, []p.AgentID{"A"}, codons.Lot{Item: "vase", Start: 20, Step: 5})
		wantSale(t, s, err, "A", 20)
		synctest.Wait()
		golden(t, "english-auction", w.monitor.lines())
	})
	inWorld(t, func(t *testing.T, w *world) {
		s, err := w.dutch(t.Context(), w.gather(&collector{value: 90}))
		wantSale(t, s, err, "A", 86)
		synctest.Wait()
		golden(t, "dutch-auction", w.monitor.lines())
	})
}

// TestWhatBiddersLearn follows what travels.
func TestWhatBiddersLearn(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, end := w.puppet("A"), time.Now().Add(codons.DefaultDeadline)
		auction := w.startEnglish(t.Context(), []p.AgentID{"A"})
		lot, err := p.PayloadAs[codons.Lot](a.next(p.ActInform))
		if err != nil || lot.Item != "vase" || lot.Reserve != 20 || lot.Step != 5 || !lot.EndsBy.Equal(end) {
			t.Errorf("it begins with %+v, %v", lot, err)
		}
		cfp := a.next(p.ActCFP)
		if o, err := p.PayloadAs[codons.Offer](cfp); err != nil || o.Price != 10 || o.Round != 1 || !cfp.ReplyBy().Equal(time.Now().Add(codons.DefaultRoundTime)) {
			t.Errorf("called %+v by %v, %v", o, cfp.ReplyBy(), err)
		}
		bid, err := cfp.ReplyAs(a.Stamp(), p.ActPropose, p.Raw(`{"price":10}`))
		if err != nil {
			t.Fatal(err)
		}
		a.send(bid)
		if yes := a.next(p.ActAcceptProposal); !yes.Answers(bid) {
			t.Errorf("%s is not about the bid", yes.InReplyTo())
		}
		over, err := p.PayloadAs[codons.AuctionEnd](a.next(p.ActInform))
		if want := (codons.AuctionEnd{Item: "vase", Over: true}); err != nil || over != want {
			t.Errorf("it ends with %+v, %v", over, err)
		}
		s, err := auction.Wait()
		wantNoSale(t, s, err)
		a.silence()
	})
}

func TestAuctionsThatCannotBegin(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.gather(&collector{})
		if _, err := w.english(t.Context(), nil); err == nil {
			t.Error("no bidders, no error")
		}
		if _, err := w.english(t.Context(), []p.AgentID{"A", "a"}); err == nil {
			t.Error("a bidder twice, no error")
		}
		if _, err := w.english(t.Context(), []p.AgentID{"A", ""}); !errors.Is(err, p.CodeInvalidPayload) {
			t.Errorf("nobody: %v", err)
		}
		for name, lot := range map[string]codons.Lot{
			"no item":               {Step: 1, Start: 1},
			"no step":               {Item: "vase", Start: 1},
			"a negative price":      {Item: "vase", Step: 1, Start: -1},
			"a negative reserve":    {Item: "vase", Step: 1, Start: 1, Reserve: -1},
			"a reserve above Start": {Item: "vase", Step: 1, Start: 1, Reserve: 2},
		} {
			if _, err := codons.DutchAuction(t.Context(), w.eddy, []p.AgentID{"A"}, lot); !errors.Is(err, p.CodeInvalidPayload) {
				t.Errorf("%s: %v", name, err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := w.english(ctx, []p.AgentID{"A"}); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled before: %v", err)
		}
		w.settled(0)
	})
}
