package codontest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/performatives"
)

func TestReview(t *testing.T) {
	racetest.Skip(t)
	c := reviewOf(nil)
	Explore(t, c)
	Conform(t, c, Content("start", change{"a"}), Content("comment", comments{Text: "why?"}, comments{Text: "tests?"}))
}

// without returns a change of a definition that completes its table and then removes a
// symbol from the rows of a role in a state.
func without(role machine.Role, state machine.State, on machine.Symbol) func(*codons.Definition) {
	return func(d *codons.Definition) {
		table := standard.All.MustComplete(d.Table)
		var rows []machine.Row
		for _, r := range table.Rows {
			rows = append(rows, splitOff(r, role, state, on)...)
		}
		table.Rows = rows
		d.Table, d.Complete = table, true
	}
}

// splitOff returns a row for all its states and symbols but that one.
func splitOff(r machine.Row, role machine.Role, state machine.State, on machine.Symbol) (rows []machine.Row) {
	if r.Role != role {
		return []machine.Row{r}
	}
	for _, from := range r.From {
		for _, symbol := range r.On {
			one := r
			one.From, one.On = []machine.State{from}, []machine.Symbol{symbol}
			if from != state || symbol != on {
				rows = append(rows, one)
			}
		}
	}
	return rows
}

// TestBrokenTables expects both checks to find what is missing in a table, where the
// conversations can show it.
func TestBrokenTables(t *testing.T) {
	racetest.Skip(t)
	for name, c := range map[string]struct {
		alter             func(*codons.Definition)
		explored, conform string // part of a fault
	}{
		"no row for a duplicate": {
			without(machine.Responder, "reviewing", machine.OtherDuplicates()),
			"no row for duplicate REQUEST", "the table has no row for REQUEST",
		},
		"no row for a late word": {
			without(machine.Initiator, "cancelling", machine.Commanded("resubmit")),
			"no row for command resubmit", "event without a row",
		},
		"no timeout of the responder": {
			without(machine.Responder, "commented", machine.Timeout("deadline")),
			"no timer ends the responder's commented", "event without a row",
		},
		"a pair that is not agreed": {
			func(d *codons.Definition) {
				d.Table, d.Complete = standard.All.MustComplete(d.Table), true
				d.Table.Agree = d.Table.Agree[:1]
			},
			"which the table does not allow here", "which Agree does not have",
		},
	} {
		t.Run(name, func(t *testing.T) {
			broken := reviewOf(c.alter)
			expectFault(t, explore(t.Logf, broken, newOptions(nil)), c.explored)
			expectFault(t, conform(t, broken, newOptions([]Option{Seeds(DefaultSeeds)})), c.conform)
		})
	}
}

// TestExploreRoughPairs has a table that calls no pair of ends rough.
func TestExploreRoughPairs(t *testing.T) {
	racetest.Skip(t)
	smooth := reviewOf(func(d *codons.Definition) {
		d.Table, d.Complete = standard.All.MustComplete(d.Table), true
		for i := range d.Table.Agree {
			d.Table.Agree[i].After = nil
		}
	})
	expectFault(t, explore(t.Logf, smooth, newOptions(nil)), "no conversation over a network that delivers ends in")
}

func expectFault(t *testing.T, faults []string, want string) {
	t.Helper()
	if all := strings.Join(faults, "\n"); !strings.Contains(all, want) {
		t.Errorf("got %.2000s, want %q", all, want)
	}
}

// TestExploreUnused names a pair of the table's Agree in which no conversation ends, and one in
// which some do.
func TestExploreUnused(t *testing.T) {
	racetest.Skip(t)
	surplus := reviewOf(func(d *codons.Definition) {
		d.Table.Agree = []machine.Pair{{Initiator: "approved", Responder: standard.StateRefused, After: []machine.Cause{machine.Lost()}}}
	})
	faults := func(opts ...Option) []string {
		return explore(t.Logf, surplus, newOptions(opts))
	}
	expectFault(t, faults(), "unused pair: the initiator approved, the responder refused")
	unused := Unused("approved", standard.StateRefused)
	if all := faults(unused); len(all) > 0 {
		t.Error(all)
	}
	expectFault(t, faults(unused, Unused("approved", "approved")), "it is used, standard or unknown: the initiator approved, the responder approved")
}

// TestSeed repeats the seed of a failure, and expects the same failure and no other.
func TestSeed(t *testing.T) {
	broken := reviewOf(without(machine.Initiator, "cancelling", machine.Commanded("resubmit")))
	all := conform(t, broken, newOptions([]Option{Seeds(DefaultSeeds)}))
	var seed uint64
	if _, err := fmt.Sscanf(strings.Join(all, "\n"), "codontest: code-review, seed %d:", &seed); err != nil {
		t.Fatal(err)
	}
	if again := conform(t, broken, newOptions([]Option{Seed(seed)})); !slices.Equal(again, all[:1]) {
		t.Errorf("got %.2000q, want the first of %.2000q", again, all)
	}
}

// TestWildcard has the initiator's table without a row for a message that the responder sends: it
// is misread.
func TestWildcard(t *testing.T) {
	hurried := reviewOf(func(d *codons.Definition) {
		d.Table.Jobs[0].Says = []string{"hum"}
		d.Table.Rows = append(d.Table.Rows,
			machine.Answers("reviewing").When(machine.Commanded("hum")).Stay(machine.Send(performatives.ActStatusUpdate)).Because("it takes a while"),
			machine.Asks("revising").When(machine.Receive(performatives.ActStatusUpdate)).Stay().Because("the only state that takes it"))
	})
	expectFault(t, conform(t, hurried, newOptions([]Option{Seeds(4), Content("hum", performatives.StatusUpdate{Description: "half"})})),
		"the initiator in waiting cannot read message")
}

// TestWrongOptions expects errors that say which option is missing.
func TestWrongOptions(t *testing.T) {
	review := reviewOf(nil)
	other := reviewOf(func(d *codons.Definition) { d.Table.Name = "other" })
	agent := func() actors.Agent { return &reviewer{} }
	composed := codons.MustDefine(codons.Definition{Table: machine.Table{Name: "composed"}, Uses: []codons.Use{{Codon: "code-review"}}})
	for want, c := range map[string]struct {
		codon *codons.Codon
		opts  []Option
	}{
		"give its role to the option Agent or Agents": {review, []Option{Agent(other.Answer(codons.Method("review", (*reviewer).Review)), agent)}},
		"by the option Calling":                       {composed, nil},
		"no conversation took a step; the first error of a call is: missing": {review, []Option{
			Calling(func(context.Context, *Script) error { return errors.New("missing") }),
		}},
	} {
		expectFault(t, conform(t, c.codon, newOptions(append(c.opts, Seeds(2)))), want)
	}
}

// reviewer is an agent of an application.
type reviewer struct {
	review func(context.Context, codons.Turn[change]) (codons.Command, error)
}

func (*reviewer) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (r *reviewer) Review(ctx context.Context, t codons.Turn[change]) (codons.Command, error) {
	return r.review(ctx, t)
}

// TestAgents tests agents of an application, good ones and bad ones.
func TestAgents(t *testing.T) {
	for name, c := range map[string]struct {
		review func(context.Context, codons.Turn[change]) (codons.Command, error)
		want   string // part of a fault; empty for none
	}{
		"one that approves": {func(context.Context, codons.Turn[change]) (codons.Command, error) {
			return codons.Command{Name: "approve", Data: comments{Text: "good"}}, nil
		}, ""},
		"one that never answers": {func(ctx context.Context, _ codons.Turn[change]) (codons.Command, error) {
			<-ctx.Done()
			return codons.Command{}, ctx.Err()
		}, ""},
		"one that panics": {func(context.Context, codons.Turn[change]) (codons.Command, error) { panic("oh") }, "a job of Responder panicked: oh"},
		"one that ends its job by another command": {func(context.Context, codons.Turn[change]) (codons.Command, error) {
			return codons.Command{Name: "resubmit"}, nil
		}, `the job review of code-review ended with the command "resubmit", and its Ends in the table are`},
		"one with another content": {func(context.Context, codons.Turn[change]) (codons.Command, error) {
			return codons.Command{Name: "approve", Data: change{}}, nil
		}, "is not that of its message type"},
	} {
		t.Run(name, func(t *testing.T) {
			review := reviewOf(nil)
			agent := Agent(review.Answer(codons.Method("review", (*reviewer).Review)), func() actors.Agent { return &reviewer{c.review} })
			faults := conform(t, review, newOptions([]Option{Seeds(4), agent}))
			if c.want != "" {
				expectFault(t, faults, c.want)
			} else if len(faults) > 0 {
				t.Error(faults)
			}
		})
	}
}

// TestChangedPayload has the initiator change what the responder has sent.
func TestChangedPayload(t *testing.T) {
	review := reviewOf(nil)
	comment := func(context.Context, codons.Turn[change]) (codons.Command, error) {
		return codons.Command{Name: "comment", Data: comments{Labels: map[string]string{}}}, nil
	}
	revise := func(_ context.Context, t codons.Turn[comments]) (codons.Command, error) {
		t.Content.Labels["read"] = "yes"
		return codons.Command{}, context.Canceled
	}
	expectFault(t, conform(t, review, newOptions([]Option{
		Seeds(3), Asking(codons.On("revise", revise)),
		Agent(review.Answer(codons.Method("review", (*reviewer).Review)), func() actors.Agent { return &reviewer{comment} }),
	})), "was changed after it was sent")
}

// impure is a responder whose messages depend on more than the events.
type impure struct {
	*codons.ResponderSide
	composed *atomic.Int64
}

func (s impure) Compose(v *codons.Value, f machine.Effect, e *codons.Input) any {
	if f.Name != "CHANGES_REQUESTED" {
		return s.ResponderSide.Compose(v, f, e)
	}
	return comments{Text: strconv.FormatInt(s.composed.Add(1), 10)}
}

// TestRebuiltMessages has a side that composes another message when it is rebuilt.
func TestRebuiltMessages(t *testing.T) {
	var composed atomic.Int64
	review := reviewOf(func(d *codons.Definition) {
		d.ResponderSide = func(r *codons.ResponderSide) codons.Side { return impure{r, &composed} }
	})
	expectFault(t, conform(t, review, newOptions([]Option{Seeds(2)})), "and once rebuilt")
}
