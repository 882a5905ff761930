package codons

import (
	"errors"
	"slices"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// defensive lists the steps that only a peer which breaks the protocol takes.
var defensive = map[string][]string{
	"task-delegation": {
		"initiator in working on receive TASK_REJECT",
		"initiator in working on receive NOT_UNDERSTOOD",
	},
	"tool-call": {
		"initiator in asked on receive TASK_ACCEPT",
		"initiator in asked on receive STATUS_UPDATE",
	},
	"contract-net":          misbid,
	"iterated-contract-net": misbid,
	"request":               disagreed,
	"brokering":             disagreed,
	"recruiting":            disagreed,
	"query-if":              disagreed,
	"query-ref":             disagreed,
	"request-when":          disagreed,
	"approval":              disagreed,
	"subscribe":             forgetful,
	"request-whenever":      forgetful,
	"english-auction":       misprice(true),
	"dutch-auction":         misprice(false),
}

// misbid is the bidder whose proposal makes no sense, or who does not know what an
// award is.
var misbid = []string{
	"initiator in called on receive PROPOSE (unreadable)",
	"initiator in awarded on receive NOT_UNDERSTOOD",
}

// forgetful is the publisher that has forgotten that it agreed, as by the loss of its
// node, and turns the heartbeat of its subscriber down.
var forgetful = []string{
	"initiator in subscribed on receive REFUSE",
	"initiator in subscribed on receive NOT_UNDERSTOOD",
}

// disagreed is the peer of an exchange that turns down what it had agreed to.
var disagreed = []string{
	"initiator in agreed on receive REFUSE",
	"initiator in agreed on receive NOT_UNDERSTOOD",
}

// TestExploreTheWorstNetwork explores both roles over a network that loses,
// duplicates and reorders, with every timer expiring and every agent stopping at
// any moment.
func TestExploreTheWorstNetwork(t *testing.T) {
	for _, table := range tables() {
		t.Run(table.Name, func(t *testing.T) {
			result, err := machine.Explore(table.MustCompile(), machine.Network{})
			if err != nil {
				t.Fatal(err)
			}
			t.Log(result)
			if got, want := result.Unexercised, defensive[table.Name]; !slices.Equal(got, want) {
				t.Errorf("unexercised steps:\n got %q\nwant %q", got, want)
			}
			if len(result.UnusedPairs) > 0 {
				t.Errorf("no conversation ends in %v", result.UnusedPairs)
			}
		})
	}
}

// TestExploreWithoutTimers explores a network that delivers: then no conversation
// may depend on a timer to come to its end, and no pair that the table calls
// rough may come about.
func TestExploreWithoutTimers(t *testing.T) {
	for _, table := range tables() {
		result, err := machine.Explore(table.MustCompile(), machine.Calm())
		if err != nil {
			t.Fatal(err)
		}
		t.Log(table.Name, result)
		if len(result.UnusedPairs) > 0 {
			t.Errorf("%s: rough, but not so called: %v", table.Name, result.UnusedPairs)
		}
	}
}

// TestBrokenTablesAreFound breaks the table of delegation the way a mistake
// would, and expects the explorer to find it.
func TestBrokenTablesAreFound(t *testing.T) {
	for _, c := range []struct {
		name    string
		network machine.Network
		remove  func(machine.Row) bool
		change  func(*machine.Row)
		want    machine.Problem
	}{
		{
			name: "a worker that refuses CANCEL after the end lets a result become a failure", network: machine.Calm(),
			change: func(r *machine.Row) {
				if r.From[0] == stateCompleted && r.Do[0] == machine.Resend(performatives.ActInformResult) {
					r.On = r.On[:1] // CANCEL falls to the wildcard, which refuses it
				}
			},
			want: machine.Disagreement,
		},
		{
			name: "a CANCEL that overtakes its request",
			remove: func(r machine.Row) bool {
				return r.From[0] == machine.Idle && r.On[0] == machine.Receive(performatives.ActCancel)
			},
			want: machine.Unhandled,
		},
		{
			name: "a retry timer that runs on once input is needed",
			change: func(r *machine.Row) {
				if r.From[0] == stateRequested && r.To == stateInputNeeded {
					r.Do = r.Do[1:]
				}
			},
			want: machine.Unhandled,
		},
		{
			name: "a worker without a deadline",
			change: func(r *machine.Row) {
				if r.From[0] == machine.Idle && r.To == stateConsidering {
					r.Do = r.Do[1:]
				}
			},
			want: machine.Stranded,
		},
		{
			name: "a handler that nobody stops at the deadline",
			change: func(r *machine.Row) {
				if r.To == stateTimedOut && r.Do != nil && r.Do[0] == machine.Stop(jobPerform) {
					r.Do = r.Do[1:]
				}
			},
			want: machine.LeftRunning,
		},
		{
			name: "a further round that its CANCEL has overtaken", network: machine.Calm(),
			remove: func(r machine.Row) bool {
				return r.From[0] == stateCancelling && r.On[0] == machine.Receive(performatives.ActTaskRequest)
			},
			want: machine.Disagreement,
		},
		{
			name: "a handler that waits for its answer after the deadline",
			change: func(r *machine.Row) {
				if r.From[0] == stateAwaiting && r.On[0] == machine.Timeout(timerDeadline) {
					r.Do = nil
				}
			},
			want: machine.LeftRunning,
		},
		{
			name:   "handlers that speak after the end",
			remove: func(r machine.Row) bool { return len(r.On) == 4 && r.On[0] == machine.Command(commandAccept) },
			want:   machine.Unhandled,
		},
		{
			name: "an asker that declines in silence", network: machine.Calm(),
			change: func(r *machine.Row) {
				if r.From[0] == stateInputNeeded && r.On[0] == machine.Command(commandDecline) {
					r.Do = nil
				}
			},
			want: machine.Stuck,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := DelegationTable()
			var rows []machine.Row
			for _, r := range table.Rows {
				if c.change != nil {
					c.change(&r)
				}
				if c.remove == nil || !c.remove(r) {
					rows = append(rows, r)
				}
			}
			table.Rows = rows
			expectProblem(t, table, c.network, c.want)
		})
	}
}

func TestAMissingPairIsFound(t *testing.T) {
	table := DelegationTable()
	table.Agree = table.Agree[1:]
	expectProblem(t, table, machine.Network{}, machine.Disagreement)
}

func expectProblem(t *testing.T, table machine.Table, n machine.Network, want machine.Problem) {
	t.Helper()
	m, err := table.Compile()
	if err != nil {
		t.Fatal(err)
	}
	_, err = machine.Explore(m, n)
	var found *machine.Counterexample
	if !errors.As(err, &found) || found.Problem != want {
		t.Fatalf("got %v, want %s", err, want)
	}
	t.Log(err)
}
