package library

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/codons/auction"
	"github.com/ribosome-agents/ribosome/codons/contractnet"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/verify"
	"github.com/ribosome-agents/ribosome/codons/request"
	"github.com/ribosome-agents/ribosome/internal/racetest"
)

// survivors are the mistakes that no check notices, by table, with the reason: the deleted rows and
// dropped effects of all tables and, where a table has them, further mistakes of ALL.
var survivors = map[string]map[string]string{
	"contract-net": {
		"no row responder in completed on duplicate CFP":          resultAgain,
		"no row responder in lapsed on duplicate ACCEPT_PROPOSAL": lapseAgain,
	},
	"iterated-contract-net": {
		"no row responder in completed on duplicate CFP":          resultAgain,
		"no row responder in lapsed on duplicate ACCEPT_PROPOSAL": lapseAgain,
	},
	"task-delegation": {
		"initiator in requested, input_given on receive TASK_ACCEPT: stays":                                  knownAgain,
		"initiator in requested, input_given on receive TASK_ACCEPT: leads to requested":                     knownAgain,
		"initiator in requested, input_given on receive STATUS_UPDATE: leads to requested":                   knownAgain,
		"initiator in input_given, working on stale TASK_ACCEPT, stale STATUS_UPDATE: without state working": "the late message is reported as one of this round, and no check compares what is reported",
		"initiator in input_given, input_needed, declining on command misread: stays":                        "the worker has ended, and the deadline ends the initiator in the same state",
		"responder in awaiting on receive TASK_REQUEST: stays":                                               "the handler goes on with the answer; that its progress is dropped then is nothing that a check demands",
	},
	"english-auction":  lateBidder(true),
	"dutch-auction":    lateBidder(false),
	"subscribe":        {"no row initiator in cancelling on duplicate AGREE": "the wildcard drops it, too, and counts it as a duplicate"},
	"request-whenever": {"no row initiator in cancelling on duplicate AGREE": "the wildcard drops it, too, and counts it as a duplicate"},
	"whispering-wind": {
		"no row responder in cancelled on duplicate CANCEL, receive QUERY_CAPABILITIES, duplicate QUERY_CAPABILITIES": "the initiator does not wait for the receipt",
	},
	"notify": {"no row initiator in notified on any other refused copy": "a notice has no actor that the refusal of a copy could reach"},
}

const (
	resultAgain   = "a caller with a proposal repeats its award and not the CFP, and the award is answered by the result"
	laterDeadline = "its own deadline, which then runs, ends it later"
	absentAgain   = "it matters only after the bidder has left and its refusal is lost; only the forgetful runs have both, and mutants do not take them"
	failedAgain   = "the wildcard answers both by a FAILURE, too"
	knownAgain    = "the initiator repeats a request that the worker knows, and takes the same answers"
	lapseAgain    = "it matters only after a deadline and two losses, of the FAILURE and of its repetition; no run has that many faults"
)

// survivorPatterns are patterns of mistakes that no check notices, in the standard rows of any
// table and in the rows of the auctions, with the reason. They are among all kinds of mistakes
// (ALL).
var survivorPatterns = []struct {
	mistake *regexp.Regexp
	reason  string
}{
	{
		regexp.MustCompile(`^responder in cancelled on duplicate CANCEL, .*: (without symbol|takes duplicate [A-Z_]+ in place of) duplicate [A-Z_]+$`),
		"an initiator that has cancelled repeats its CANCEL, which gets the receipt, and not its request",
	},
	{
		regexp.MustCompile(`^responder in .* on (duplicate [A-Z_]+, )+receive CANCEL, duplicate CANCEL: without state (timed_out|lost)$`),
		"the initiator's own deadline, or the loss of its peer, ends it when the FAILURE of that end is lost",
	},
	{
		regexp.MustCompile(`^responder in .* on (duplicate [A-Z_]+, )+receive CANCEL, duplicate CANCEL: (without symbol receive CANCEL|takes receive [A-Z_]+ in place of receive CANCEL)$`),
		"the repetition of CANCEL gets the FAILURE",
	},
	{
		regexp.MustCompile(`^responder in (agreed|settling) on receive NOT_UNDERSTOOD: stays$`),
		"the initiator has ended; the responder works in vain and ends by its answer, or by its receipt",
	},
	{
		regexp.MustCompile(`^responder in failed, timed_out on duplicate CFP, .*: without symbol duplicate ACCEPT_PROPOSAL$`),
		"the auctioneer awaits no answer to it: the next price or the REQUEST gets the FAILURE",
	},
	{
		regexp.MustCompile(`^responder in announced, .* on any other refused copy: without state (announced|recalled|absent)$`),
		"no copy that the bidder has sent before can be refused in that state: it has sent none, or has heard from the auctioneer since",
	},
	{
		regexp.MustCompile(`^initiator in waiting, .* on stale (PROPOSE|REFUSE \(pass\)): without state waiting$`),
		"the row of a late answer does the same, and only counts it as late",
	},
	{
		regexp.MustCompile(`^initiator in waiting, .* on stale REFUSE \(pass\): without state called$`),
		"it counts as the answer to this price, so the bidder is not heard in this round, as if it had been silent",
	},
	{
		regexp.MustCompile(`^initiator in outbid on command restore: leads to won$`),
		"the REQUEST says that the bidder has won",
	},
	{
		regexp.MustCompile(`^responder in waiting, passed, .* on stale CFP: without state (waiting|passed|silent|missed)$`),
		"the bidder considers a price that is over, and its bid is refused as expired",
	},
	{
		regexp.MustCompile(`^responder in (considering|missed, recalled) on receive CFP: (stays|leads to missed)$`),
		"the bidder does not answer this price: silence is no bid",
	},
	{
		regexp.MustCompile(`^responder in (considering|missed, recalled|waiting, passed, silent, proposed, leading) on receive INFORM \(closed\): (stays|leads to considering|without state (missed|recalled|silent))$`),
		laterDeadline,
	},
	{
		regexp.MustCompile(`^responder in proposed, waiting, leading on receive INFORM \(won\): without state (proposed|waiting)$`),
		"the REQUEST says the same, and is taken in each of these states",
	},
	{
		regexp.MustCompile(`^responder in absent on duplicate CFP, duplicate CANCEL: (without symbol|takes duplicate [A-Z_]+ in place of) duplicate [A-Z_]+$`),
		absentAgain,
	},
	{
		regexp.MustCompile(`^responder in failed, timed_out on receive REQUEST, receive ACCEPT_PROPOSAL: without (state (failed|timed_out)|symbol receive [A-Z_]+)$`),
		failedAgain,
	},
	{
		regexp.MustCompile(`^responder in completed, over, refused, not_understood on receive ACCEPT_PROPOSAL: without state over$`),
		"nobody awaits an answer to an ACCEPT_PROPOSAL after the end of the auction",
	},
	{
		regexp.MustCompile(`^initiator in cancelling on duplicate AGREE: takes duplicate [A-Z_]+ in place of duplicate AGREE$`),
		"the wildcard drops it, too, and counts it as a duplicate",
	},
	{
		regexp.MustCompile(`^responder in answering, .* on any other refused copy: without state (answering|agreed|cancelling|rejected|cancelled|refused|not_understood|failed|timed_out)$`),
		"it is told of refused copies of an ACCEPT_PROPOSAL alone, and has sent one only in accepted",
	},
	{
		regexp.MustCompile(`^responder in considering, .* on any other refused copy: without state (considering|refused|not_understood)$`),
		"it is told of refused copies of a PROPOSE alone, and has sent none before it is in proposed",
	},
	{
		regexp.MustCompile(`^responder in (failed|failed, lapsed) on receive ACCEPT_PROPOSAL(, receive CFP)?: without state failed$`),
		failedAgain,
	},
	{
		regexp.MustCompile(`^responder in lapsed on duplicate CFP, receive CANCEL, duplicate CANCEL: (without symbol|takes duplicate [A-Z_]+ in place of) duplicate (CFP|CANCEL)$`),
		lapseAgain,
	},
	{
		regexp.MustCompile(`^responder in cancelled on duplicate CANCEL, receive (INFORM_RESULT|QUERY_CAPABILITIES), .*: without symbol receive [A-Z_]+$`),
		"the CANCEL that overtook it has been answered by the receipt, and is repeated until the receipt arrives, if the initiator awaits one",
	},
	{
		regexp.MustCompile(`^responder in .* on duplicate QUERY_CAPABILITIES, receive CANCEL, duplicate CANCEL: (without symbol|takes duplicate NOT_UNDERSTOOD in place of) duplicate CANCEL$`),
		"the initiator has ended when it sends CANCEL, and awaits no answer",
	},
	{
		regexp.MustCompile(`^responder in .* on receive NOT_UNDERSTOOD: does send FAILURE \(lapsed\) in place of send FAILURE$`),
		"the caller has ended when it says NOT_UNDERSTOOD",
	},
	{
		regexp.MustCompile(`^initiator in asked on receive AGREE: stays$`),
		knownAgain,
	},
	{
		regexp.MustCompile(`^initiator in asking on command accepted: leads to waiting$`),
		"both states have the same rows but for a second acceptance, which leads from waiting to performing",
	},
}

// reasonOf returns why no check notices a mistake in a table, and whether that is known.
func reasonOf(survivors map[string]string, mistake string) (reason string, known bool) {
	if reason, known := survivors[mistake]; known {
		return reason, true
	}
	for _, s := range survivorPatterns {
		if s.mistake.MatchString(mistake) {
			return s.reason, true
		}
	}
	return "no reason is listed", false
}

// lateBidder returns the survivors of an auction. Where the price rises, a bidder hears of the end
// while it considers only after its round.
func lateBidder(rising bool) map[string]string {
	all := map[string]string{
		"no row responder in failed, timed_out on receive REQUEST, receive ACCEPT_PROPOSAL": failedAgain,
		"no row responder in absent on duplicate CFP, duplicate CANCEL":                     absentAgain,
		"initiator in proposed on command reject: without send REJECT_PROPOSAL":             "the next price, or the end, says the same later",
		"initiator in proposed on command accept: without disarm retry":                     "the bid has disarmed the timer; the effect only says that no standard row is to arm it for the ACCEPT_PROPOSAL",
	}
	if rising {
		all["no row responder in considering on receive INFORM (closed)"] = laterDeadline
		all["no row responder in missed, recalled on receive INFORM (closed)"] = laterDeadline
	} else {
		all["initiator in proposed on command reject: stays"] = "the bidder is told, and the end of the auction ends the side from there, too"
	}
	return all
}

// suite returns the checks of a table of the library.
func suite(t machine.Table) verify.Suite {
	s := verify.Suite{Table: t}
	switch t.Name {
	case "english-auction":
		s.Groups = []machine.Coordination{auction.EnglishCoordination()}
	case "dutch-auction":
		s.Groups = []machine.Coordination{auction.DutchCoordination()}
	case "contract-net":
		s.Groups = []machine.Coordination{contractnet.Coordination(1, true)}
	case "iterated-contract-net":
		s.Groups = []machine.Coordination{contractnet.IteratedCoordination(1, true)}
	}
	return s
}

// TestMutateTables is make mutate. RIBOSOME_MUTATE is a part of the names of the tables and rules
// to mutate, or "all"; ALL tries all kinds of mistakes. Without RIBOSOME_MUTATE it mutates one
// small table. It demands that the checks notice 97% of the deleted rows and dropped effects, and
// 95% of all mistakes.
func TestMutateTables(t *testing.T) {
	racetest.Skip(t)
	only := os.Getenv("RIBOSOME_MUTATE")
	mutateWanted(t, func(name string) bool {
		return only == "all" || only == "" && name == "propose" || only != "" && strings.Contains(name, only)
	})
}

// TestSuiteBoundsItsWalk has a suite that allows fewer states than its table has.
func TestSuiteBoundsItsWalk(t *testing.T) {
	s := suite(request.Codon.Table)
	s.MaxStates = 3
	if _, err := s.Mutate(); err == nil || !strings.Contains(err.Error(), "more than 3 joint states") {
		t.Errorf("got %v", err)
	}
}

// TestExploreMutants mutates another table and the rules of a contract net.
func TestExploreMutants(t *testing.T) {
	racetest.Skip(t)
	mutateWanted(t, func(name string) bool {
		return name == "request" || name == "rules of contract-net, one winner and a reserve"
	})
}

// mutateWanted mutates the tables and rules of those names, and prints what was noticed.
func mutateWanted(t *testing.T, wanted func(name string) bool) {
	t.Helper()
	all := os.Getenv("ALL") != ""
	var mutants, missed int
	mutate := func(name string, mutate func() (verify.Mutated, error), survivors map[string]string) {
		began := time.Now()
		result, err := mutate()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		fmt.Printf("%-22s %s, %s\n", name, result, time.Since(began).Round(time.Second))
		for _, change := range result.Survivors {
			reason, known := reasonOf(survivors, change)
			fmt.Printf("    survives: %s: %s\n", change, reason)
			if !known {
				t.Errorf("%s: no check notices this mistake: %s", name, change)
			}
		}
		mutants, missed = mutants+result.Mutants, missed+len(result.Survivors)
	}
	for _, table := range tables() {
		if wanted(table.Name) {
			s := suite(table)
			s.All = all
			mutate(table.Name, s.Mutate, survivors[table.Name])
		}
	}
	for _, c := range coordinations() {
		if wanted(c.name) {
			mutate(c.name, c.suite.mutate, c.survivors)
		}
	}
	if mutants == 0 {
		t.Fatal("no table or coordination has such a name")
	}
	share, least := 1-float64(missed)/float64(mutants), 0.97
	if all {
		least = 0.95
	}
	if share < least {
		t.Errorf("the checks notice less than %.0f%% of the mistakes", 100*least)
	}
	fmt.Printf("mutants noticed: %.1f%%\n", 100*share)
}
