package library

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/verify"
	"github.com/ribosome-agents/ribosome/codons/request"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/internal/exhaustive"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Each conversation ends by what must happen, without its user and without a deadline. The
// largest runs, and most of those of auctions, are part of the long form.
func TestExploreFairRuns(t *testing.T) {
	racetest.Skip(t)
	for _, table := range tables() {
		t.Run(table.Name, func(t *testing.T) {
			t.Parallel()
			m := table.MustCompile()
			runs := verify.Runs(m)
			switch {
			case exhaustive.Enabled():
			case strings.HasSuffix(table.Name, "auction"):
				runs = runs[:3]
			case len(runs) > 3:
				runs = runs[:len(runs)-1] // two losses matter to a duplicate of CANCEL
			}
			result, err := verify.ExploreFair(m, runs...)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(result)
			if len(result.UnusedPairs) > 0 {
				t.Errorf("no conversation ends in %v", result.UnusedPairs)
			}
		})
	}
}

// Each case breaks a table by a mistake that the network of Explore does not show: it may deliver
// every message for ever, and has the user's own CANCEL for an end.
func TestFairRunsFindWhatExploreDoesNot(t *testing.T) {
	drop := func(r *machine.Row, e machine.Effect) {
		r.Do = slices.DeleteFunc(slices.Clone(r.Do), func(o machine.Effect) bool { return o == e })
	}
	for _, c := range []struct {
		name   string
		table  machine.Table
		change func(*machine.Row)
		want   string
	}{
		{
			"a retry that sends nothing", request.Codon.Table, func(r *machine.Row) {
				if r.Role == machine.Initiator && slices.Contains(r.On, machine.Timeout(machine.TimerRetry)) {
					drop(r, machine.Resend(performatives.ActRequest))
				}
			}, "one loss",
		},
		{
			"an answer that is not sent again", request.Codon.Table, func(r *machine.Row) {
				if r.Role == machine.Responder && slices.Contains(r.From, "answered") {
					drop(r, machine.Resend(performatives.ActInform))
				}
			}, "one loss",
		},
		{
			"a repeated request that is performed again", request.Codon.Table, func(r *machine.Row) {
				if r.Role == machine.Responder && slices.Contains(r.From, standard.StateAgreed) && slices.Contains(r.On, machine.Duplicate(performatives.ActRequest)) {
					r.Do = append(slices.Clone(r.Do), machine.Run(standard.JobAnswer))
				}
			}, "starts a job",
		},
		{
			"a stop that withdraws nothing", request.Codon.Table, func(r *machine.Row) {
				if r.Role == machine.Initiator && slices.Contains(r.On, machine.Commanded(standard.CommandStop)) {
					drop(r, machine.Send(performatives.ActCancel))
				}
			}, "slow jobs",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.table.Rows = slices.Clone(c.table.Rows)
			for i := range c.table.Rows {
				c.change(&c.table.Rows[i])
			}
			m := c.table.MustCompile()
			_, err := verify.ExploreFair(m)
			var found *verify.Counterexample
			if !errors.As(err, &found) || !strings.Contains(found.Detail, c.want) {
				t.Fatalf("got %v, want a violation with %s", err, c.want)
			}
			t.Log(err)
		})
	}
}

// A responder that has forgotten its reply tells a duplicate that the conversation has ended, so
// the two sides do not agree.
func TestForgottenRepliesAreDeclared(t *testing.T) {
	table := request.Codon.Table
	forgotten := machine.Forgotten(machine.Responder)
	table.Agree = slices.Clone(table.Agree)
	for i := range table.Agree {
		p := &table.Agree[i]
		p.After = slices.DeleteFunc(slices.Clone(p.After), func(c machine.Cause) bool { return c == forgotten })
	}
	table.Agree = slices.DeleteFunc(table.Agree, func(p machine.Pair) bool {
		return p.Initiator == standard.StateFailed && p.Responder == standard.StateAnswered && !p.Rough()
	})
	_, err := verify.ExploreFair(table.MustCompile(), verify.Run{Name: "replies forgotten", Losses: 1, Forgets: true})
	var found *verify.Counterexample
	if !errors.As(err, &found) || !strings.HasPrefix(found.Detail, "replies forgotten") {
		t.Errorf("got %v", err)
	}
	table = request.Codon.Table
	surplus := machine.Pair{Initiator: standard.StateRefused, Responder: standard.StateAnswered, After: []machine.Cause{forgotten}}
	table.Agree = append(slices.Clone(table.Agree), surplus)
	if result, err := verify.ExploreFair(table.MustCompile()); err != nil || len(result.UnusedPairs) != 1 || result.UnusedPairs[0].Initiator != surplus.Initiator {
		t.Errorf("%v, unused %v", err, result.UnusedPairs)
	}
}
