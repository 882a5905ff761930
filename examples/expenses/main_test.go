package main

import (
	"context"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/approval"
	"github.com/ribosome-agents/ribosome/codons/codontest"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/internal/leakcheck"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/performatives"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// boss is a manager that decides by the rules of chance.
type boss struct{ script *codontest.Script }

func (boss) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (b boss) DecideStep(ctx context.Context, s approval.ProposedStep) (approval.Verdict, error) {
	chance := b.script.About(s.Message, "decide")
	return approval.Verdict{Accepted: chance.IntN(2) == 0}, chance.Do(ctx)
}

// TestTable explores all that can happen to a claim.
func TestTable(t *testing.T) {
	racetest.Skip(t)
	codontest.Explore(t, Expense)
}

// TestClaims runs claims over a bad network, with jobs that end by chance.
func TestClaims(t *testing.T) { codontest.Conform(t, Expense) }

// TestAccounting runs claims to Accounting over a bad network.
func TestAccounting(t *testing.T) {
	codontest.Conform(t, Expense, codontest.Content(machine.CommandStart, Claim{Amount: 120}, Claim{Amount: 250, Receipts: 1}),
		codontest.Agents(1, func(s *codontest.Script) actors.Agent { return Accounting{s.Peers()[1]} }, role),
		codontest.Agents(1, func(s *codontest.Script) actors.Agent { return boss{s} }, approval.Service))
}

func Example() {
	main()
	// Output:
	// Bern: where is the receipt?
	// Bern: paid
	// Bali: denied
	// Graz: lapsed
	// Rome: withdrawn
}
