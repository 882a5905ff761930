package standard_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/verify"
	"github.com/ribosome-agents/ribosome/codons/standard"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// reviewTable is the smallest table of a codon: own rows only.
func reviewTable() machine.Table {
	const approved, changes = "APPROVED", "CHANGES_REQUESTED"
	author, reviewer := machine.Initiator, machine.Responder
	return machine.Table{
		Name:     "code-review",
		Terminal: []machine.State{"approved"},
		Jobs:     []machine.Job{{Role: reviewer, Name: "review", Ends: []string{"approve", "request_changes"}, Doc: "the agent reads the code"}},
		Rows: []machine.Row{
			machine.For(author, machine.Idle).When(machine.Commanded(machine.CommandStart)).
				Goto("in_review", machine.Send(p.ActRequest)).Because("the code is ready"),
			machine.For(author, "in_review").When(machine.ReceiveTagged(p.ActInform, approved)).
				Goto("approved").Because("the code is good"),
			machine.For(author, "in_review").When(machine.ReceiveTagged(p.ActInform, changes)).
				Goto("changes_requested", machine.Report("changes")).Because("the code is not good yet"),
			machine.For(author, "changes_requested").When(machine.Commanded("resubmit")).
				Goto("in_review", machine.Send(p.ActRequest)).Because("the code was changed"),

			machine.For(reviewer, machine.Idle, "changes_requested").When(machine.Receive(p.ActRequest)).
				Goto("in_review", machine.Run("review")).Because("a review is due"),
			machine.For(reviewer, "in_review").When(machine.Commanded("approve")).
				Goto("approved", machine.SendTagged(p.ActInform, approved)).Because("the code is good"),
			machine.For(reviewer, "in_review").When(machine.Commanded("request_changes")).
				Goto("changes_requested", machine.SendTagged(p.ActInform, changes)).Because("the code is not good yet"),
		},
	}
}

// complete completes and compiles a table.
func complete(t *testing.T, s standard.Rows, own machine.Table) (machine.Table, *machine.Machine) {
	t.Helper()
	table, err := s.Complete(own)
	if err != nil {
		t.Fatal(err)
	}
	m, err := table.Compile()
	if err != nil {
		t.Fatal(err)
	}
	return table, m
}

// TestExploreStandard explores a table of own rows with the standard ones, in each combination of
// them, over the worst network and over one that delivers.
func TestExploreStandard(t *testing.T) {
	for s := range standard.All + 1 {
		table, m := complete(t, s, reviewTable())
		for _, n := range []verify.Network{{}, verify.Calm()} {
			result, err := verify.Explore(m, n)
			var found *verify.Counterexample
			if s&standard.Deadline == 0 {
				if !errors.As(err, &found) || found.Problem != verify.Stranded {
					t.Errorf("%b: without a deadline nothing ends a conversation in silence, got %v", s, err)
				}
				continue
			}
			if s&standard.Cancel == 0 && n.Reliable {
				if !errors.As(err, &found) || found.Problem != verify.Stuck {
					t.Errorf("%b: without CANCEL nothing but another round ends the wait for the author, got %v", s, err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%b, %+v: %v", s, n, err)
			}
			if !n.Reliable && (len(result.Unexercised) > 0 || len(result.UnusedPairs) > 0) {
				t.Errorf("%b: in vain: %q, %v", s, result.Unexercised, result.UnusedPairs)
			}
		}
		for _, r := range table.Rows {
			if r.Why == "" {
				t.Errorf("no reason: %s", r)
			}
		}
	}
}

// TestStandardIsPure completes one table twice, and one that is complete.
func TestStandardIsPure(t *testing.T) {
	own := reviewTable()
	first, _ := complete(t, standard.All, own)
	if d := cmp.Diff(reviewTable(), own); d != "" {
		t.Errorf("Complete has changed its argument:\n%s", d)
	}
	again, _ := complete(t, standard.All, own)
	if d := cmp.Diff(first, again); d != "" {
		t.Errorf("Complete depends on more than its argument:\n%s", d)
	}
	twice, _ := complete(t, standard.All, first)
	if d := cmp.Diff(first, twice); d != "" {
		t.Errorf("a complete table has changed:\n%s", d)
	}
}

// TestOwnRowsWin completes a table with a row of its own for the deadline.
func TestOwnRowsWin(t *testing.T) {
	own := reviewTable()
	own.Terminal = append(own.Terminal, "overdue")
	own.Rows = append(own.Rows, machine.For(machine.Initiator, "in_review").When(machine.Timeout(machine.TimerDeadline)).Goto("overdue"))
	own.Agree = []machine.Pair{{Initiator: "overdue", Responder: machine.Idle, After: []machine.Cause{machine.Lost()}}}
	_, m := complete(t, standard.All, own)
	for state, want := range map[machine.State]machine.State{"in_review": "overdue", "changes_requested": standard.StateTimedOut} {
		after, _, err := m.Step(machine.Status{State: state}, machine.Event{On: machine.Timeout(machine.TimerDeadline)})
		if err != nil || after.State != want {
			t.Errorf("%s: %s, %v, want %s", state, after.State, err, want)
		}
	}
}

// TestPairAlso adds a cause to a standard pair.
func TestPairAlso(t *testing.T) {
	own := reviewTable()
	pair := func(table machine.Table) []machine.Cause {
		i := slices.IndexFunc(table.Agree, func(p machine.Pair) bool {
			return p.Initiator == standard.StateFailed && p.Responder == standard.StateTimedOut
		})
		return table.Agree[i].After
	}
	completed, _ := complete(t, standard.All, own)
	own.Agree = []machine.Pair{{Initiator: standard.StateFailed, Responder: standard.StateTimedOut, After: []machine.Cause{machine.Lost()}, Also: true}}
	also, _ := complete(t, standard.All, own)
	if d := cmp.Diff(append(slices.Clone(pair(completed)), machine.Lost()), pair(also)); d != "" {
		t.Error(d)
	}
}

// TestLateRequestIsAnsweredAgain has an own row of a terminal state for a request, by its message
// type: it answers its duplicates, too.
func TestLateRequestIsAnsweredAgain(t *testing.T) {
	own := reviewTable()
	own.Rows = append(own.Rows, machine.Answers("approved").When(machine.ReceiveTagged(p.ActSubscribe, "LATE")).Stay(machine.Resend(p.ActInform)))
	table, err := standard.All.Complete(own)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(table.Rows, func(r machine.Row) bool {
		return slices.Contains(r.From, "approved") && slices.Contains(r.On, machine.Duplicate(p.ActSubscribe)) && slices.Contains(r.Do, machine.Resend(p.ActInform))
	}) {
		t.Error("no row for its duplicates")
	}
}

// TestAmbiguousTables are tables whose own rows do not tell which standard row is right.
func TestAmbiguousTables(t *testing.T) {
	author, reviewer := machine.Initiator, machine.Responder
	for _, c := range []struct {
		name string
		rows []machine.Row
		want standard.AmbiguityError
	}{
		{
			name: "a job that runs or not",
			rows: []machine.Row{machine.For(reviewer, machine.Idle).When(machine.Receive(p.ActQueryIf)).Goto("in_review")},
			want: standard.AmbiguityError{Role: reviewer, State: "in_review", Fault: "a job runs there on one way and not on another"},
		},
		{
			name: "two answers to one request",
			rows: []machine.Row{
				machine.For(reviewer, "in_review").When(machine.Commanded("read")).Goto("read", machine.Send(p.ActAgree)),
				machine.For(reviewer, "in_review").When(machine.Commanded("skim")).Goto("read", machine.Send(p.ActStatusUpdate)),
			},
			want: standard.AmbiguityError{Role: reviewer, State: "read", Fault: "its latest answer depends on the way", Write: "the row for duplicate REQUEST"},
		},
		{
			name: "two acts of one end",
			rows: []machine.Row{machine.For(reviewer, "in_review").When(machine.Commanded("nod")).Goto("approved", machine.Send(p.ActAgree))},
			want: standard.AmbiguityError{Role: reviewer, State: "approved", Fault: "the act that ended the conversation depends on the way"},
		},
		{
			name: "two ends of one reception",
			rows: []machine.Row{machine.For(author, "changes_requested").When(machine.ReceiveTagged(p.ActInform, "APPROVED")).Goto("dropped")},
			want: standard.AmbiguityError{
				Role: author, State: standard.StateCancelling, Fault: "receive INFORM (APPROVED) ends in approved or in dropped",
				Write: "the row for receive INFORM (APPROVED)",
			},
		},
		{
			name: "two ends of one reception without a tag",
			rows: []machine.Row{
				machine.For(author, "in_review").When(machine.Receive(p.ActConfirm)).Goto("approved"),
				machine.For(author, "changes_requested").When(machine.Receive(p.ActConfirm)).Goto("dropped"),
			},
			want: standard.AmbiguityError{
				Role: author, State: standard.StateCancelling, Fault: "receive CONFIRM ends in approved or in dropped",
				Write: "two message types, which machine.SendTagged and machine.ReceiveTagged name, or the row for receive CONFIRM",
			},
		},
		{
			name: "two requests without an answer",
			rows: []machine.Row{machine.For(author, machine.Idle).When(machine.Commanded("ask")).Goto("in_review", machine.Send(p.ActQueryIf))},
			want: standard.AmbiguityError{Role: author, State: "in_review", Fault: "the request without an answer depends on the way", Write: "the row for timeout retry"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			own := reviewTable()
			own.Terminal = append(own.Terminal, "dropped")
			own.Rows = append(own.Rows, c.rows...)
			_, err := standard.All.Complete(own)
			var got *standard.AmbiguityError
			if !errors.As(err, &got) {
				t.Fatalf("got %v", err)
			}
			if c.want.Write == "" {
				c.want.Write = got.Write
			}
			c.want.Table = "code-review"
			if d := cmp.Diff(c.want, *got); d != "" {
				t.Error(d)
			}
			t.Log(got)
		})
	}
}

// TestAnEndWithoutAWordIsNotSentAgain completes the table of a responder that may end without an
// answer: it has none to send again to a repeated request or a late CANCEL.
func TestAnEndWithoutAWordIsNotSentAgain(t *testing.T) {
	in, res := machine.Initiator, machine.Responder
	_, m := complete(t, standard.Cancel, machine.Table{
		Name: "hint", Terminal: []machine.State{"done", "silent"},
		Jobs: []machine.Job{{Role: res, Name: "think", Ends: []string{"agree", "forget"}, Doc: "the agent thinks"}},
		Rows: []machine.Row{
			machine.For(in, machine.Idle).When(machine.Commanded(machine.CommandStart)).Goto("waiting", machine.Send(p.ActRequest)).Because("a hint"),
			machine.For(in, "waiting").When(machine.Receive(p.ActAgree)).Goto("done").Because("it was taken"),
			machine.For(res, machine.Idle).When(machine.Receive(p.ActRequest)).Goto("thinking", machine.Run("think")).Because("a hint"),
			machine.For(res, "thinking").When(machine.Commanded("agree")).Goto("done", machine.Send(p.ActAgree)).Because("it is taken"),
			machine.For(res, "thinking").When(machine.Commanded("forget")).Goto("silent").Because("it is not"),
		},
	})
	for _, on := range []machine.Symbol{machine.Duplicate(p.ActRequest), machine.Receive(p.ActCancel)} {
		if row := m.Find(res, "done", on); row == nil || !slices.Contains(row.Do, machine.Resend(p.ActAgree)) {
			t.Errorf("%s after an answer: %v", on, row)
		}
		if row := m.Find(res, "silent", on); row == nil || !row.Wildcard {
			t.Errorf("%s after silence: %v", on, row)
		}
	}
}
