package kit

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// Bidding is a protocol in which a caller has agents bid and one of them does the work. Its
// Test has the cases that the contract net and the auctions share. The caller is Eddy.
type Bidding struct {
	// Start begins to call the bidders.
	Start func(ctx context.Context, w *World, bidders []p.AgentID) (BiddingRun, error)
	// Agent returns an agent that bids as b says.
	Agent func(b BidderFuncs) actors.Agent
	// NoWinner is the error of a run without a winner.
	NoWinner error
	// AnswerWithin is the time for the answers of one round, as Start sets it.
	AnswerWithin time.Duration
	// SilentRounds is the number of rounds of a run in which the strongest bidder never answers and
	// the others have the strengths 4 and 3. Zero means that such a bidder is out after one round.
	SilentRounds int
	// Acts are the acts that a successful run sends.
	Acts []p.Performative
	// Once are those of Acts that are never sent again, or answered before they would be.
	Once []p.Performative
}

// BidderFuncs is a bidder of a test. A nil function does what any good bidder does.
type BidderFuncs struct {
	Strength int                                               // the strongest bidder wins; at least 1
	Consider func(ctx context.Context) error                   // is called before each bid; an error is the answer in place of the bid
	Perform  func(ctx context.Context) (p.InformResult, error) // does the work of the winner
}

// BiddingRun is a run of a [Bidding].
type BiddingRun interface {
	Cancel()
	Wait() BiddingResult
}

// BiddingResult is the result of a [BiddingRun].
type BiddingResult struct {
	Winner p.AgentID           // the bidder whose work succeeded; empty without one
	Errs   map[p.AgentID]error // the errors of the bidders that have one
	Err    error               // the error of the run
}

// Test runs the cases that the protocols share.
func (b Bidding) Test(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"bidders that turn the call down": b.testTurnedDown,
		"a bidder without an answer":      b.testNoAnswer,
		"calls that cannot begin":         b.testCannotBegin,
		"cancelled":                       b.testCancelled,
		"cancelled after a bid":           b.testCancelledAfterBid,
		"the result overtakes CANCEL":     b.testResultBeforeCancel,
		"work that ignores CANCEL":        b.testWorkIgnoresCancel,
		"the work fails":                  b.testWorkFails,
		"the caller stops":                b.testCallerStops,
		"lost messages":                   b.testLostMessages,
		"duplicated messages":             b.testDuplicates,
		"refused copies":                  b.testRefusedCopies,
	} {
		t.Run(name, test)
	}
}

// spawn spawns the bidders A, B, … and returns their ids.
func (b Bidding) spawn(w *World, all ...BidderFuncs) []p.AgentID {
	w.T.Helper()
	ids := make([]p.AgentID, len(all))
	for i, funcs := range all {
		ids[i] = p.AgentID(rune('A' + i))
		w.Add(ids[i], b.Agent(funcs))
	}
	return ids
}

func (b Bidding) start(ctx context.Context, w *World, ids []p.AgentID) BiddingRun {
	w.T.Helper()
	run, err := b.Start(ctx, w, ids)
	if err != nil {
		w.T.Fatal(err)
	}
	return run
}

func (b Bidding) run(w *World, ids []p.AgentID) BiddingResult {
	w.T.Helper()
	return b.start(w.T.Context(), w, ids).Wait()
}

// wantNone expects that there is no winner.
func (b Bidding) wantNone(t *testing.T, r BiddingResult) {
	t.Helper()
	if r.Winner != "" || !errors.Is(r.Err, b.NoWinner) {
		t.Errorf("got %+v, want no winner", r)
	}
}

func wantWinner(t *testing.T, r BiddingResult, id p.AgentID) {
	t.Helper()
	if r.Winner != id || r.Err != nil {
		t.Errorf("got %+v, want the winner %s", r, id)
	}
}

// blocked ends with its context.
func blocked(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

func blockedWork(ctx context.Context) (p.InformResult, error) { return p.InformResult{}, blocked(ctx) }
