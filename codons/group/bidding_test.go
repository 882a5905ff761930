package group_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// bidding is a protocol in which a caller has agents bid and one of them does the work. Its
// Test has the cases that the families with a [group.Group] of bidders share, the contract net and
// the auctions. The caller is Eddy.
type bidding struct {
	// Start begins to call the bidders.
	Start func(ctx context.Context, w *kit.World, bidders []p.AgentID) (biddingRun, error)
	// Agent returns an agent that bids as b says.
	Agent func(b bidderFuncs) actors.Agent
	// NoWinner is the error of a run without a winner.
	NoWinner error
	// AnswerWithin is the time for the answers of one round, as Start sets it.
	AnswerWithin time.Duration
	// SilentRounds is the number of rounds of a run in which the strongest bidder never answers and
	// the others have the strengths 4 and 3. Zero means that such a bidder is out after one round.
	SilentRounds int
	// Acts are the acts that a successful run sends.
	Acts []p.Performative
	// Recorded are parts of the JSON of the data of both sides of the winner's conversation.
	Recorded []string
	// Once are those of Acts that are never sent again, or answered before they would be.
	Once []p.Performative
}

// bidderFuncs is a bidder of a test. A nil function does what any good bidder does.
type bidderFuncs struct {
	Strength int                                               // the strongest bidder wins; at least 1
	Consider func(ctx context.Context) error                   // is called before each bid; an error is the answer in place of the bid
	Perform  func(ctx context.Context) (p.InformResult, error) // does the work of the winner
}

func (bidderFuncs) Describe() p.Capabilities { return p.Capabilities{} }

func (b bidderFuncs) consider(ctx context.Context) error {
	if b.Consider == nil {
		return nil
	}
	return b.Consider(ctx)
}

func (b bidderFuncs) perform(ctx context.Context) (p.InformResult, error) {
	if b.Perform == nil {
		return kit.Result(p.StatusSuccess), nil
	}
	return b.Perform(ctx)
}

// biddingRun is a run of a [bidding].
type biddingRun interface {
	Cancel()
	Wait() biddingResult
}

// biddingResult is the result of a [biddingRun].
type biddingResult struct {
	Winner p.AgentID           // the bidder whose work succeeded; empty without one
	Errs   map[p.AgentID]error // the errors of the bidders that have one
	Err    error               // the error of the run
}

// Test runs the cases that the protocols share.
func (b bidding) Test(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"recorded data":                   b.testRecorded,
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
func (b bidding) spawn(w *kit.World, all ...bidderFuncs) []p.AgentID {
	w.T.Helper()
	ids := make([]p.AgentID, len(all))
	for i, funcs := range all {
		ids[i] = p.AgentID(rune('A' + i))
		w.Add(ids[i], b.Agent(funcs))
	}
	return ids
}

func (b bidding) start(ctx context.Context, w *kit.World, ids []p.AgentID) biddingRun {
	w.T.Helper()
	run, err := b.Start(ctx, w, ids)
	if err != nil {
		w.T.Fatal(err)
	}
	return run
}

func (b bidding) run(w *kit.World, ids []p.AgentID) biddingResult {
	w.T.Helper()
	return b.start(w.T.Context(), w, ids).Wait()
}

// wantNone expects that there is no winner.
func (b bidding) wantNone(t *testing.T, r biddingResult) {
	t.Helper()
	if r.Winner != "" || !errors.Is(r.Err, b.NoWinner) {
		t.Errorf("got %+v, want no winner", r)
	}
}

func wantWinner(t *testing.T, r biddingResult, id p.AgentID) {
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
