package verify

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/internal/tabletest"
	"github.com/ribosome-agents/ribosome/internal/bitset"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// failures returns the transitions of a result that no conversation takes, of those
// for undeliverable messages and lost peers.
func failures(r Result) (undelivered, lost int) {
	for _, step := range r.Unexercised {
		switch {
		case strings.Contains(step, " on undelivered "):
			undelivered++
		case strings.HasSuffix(step, " on peer lost"):
			lost++
		}
	}
	return undelivered, lost
}

// TestExploreFailures counts the transitions for failures that a network cannot
// exercise. Fetch has 1 for an undelivered message and 2 for lost peers. The initiator
// only gets to unreachable by an undelivered message.
func TestExploreFailures(t *testing.T) {
	m := tabletest.Fetch().MustCompile()
	for _, c := range []struct {
		name              string
		net               Network
		undelivered, lost int
	}{
		{"worst", Network{}, 0, 0},
		{"once", Network{Once: true}, 0, 0},
		{"reliable", Network{Reliable: true}, 1, 2},
		{"calm", Calm(), 1, 2},
	} {
		r, err := Explore(m, c.net)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if undelivered, lost := failures(r); undelivered != c.undelivered || lost != c.lost {
			t.Errorf("%s: unexercised %q", c.name, r.Unexercised)
		}
		if c.name == "worst" && len(r.UnusedPairs) > 0 {
			t.Errorf("no conversation ends in %v", r.UnusedPairs)
		}
	}
}

// TestExploreRequiresRowsForRefusedCopies removes the wildcard.
func TestExploreRequiresRowsForRefusedCopies(t *testing.T) {
	table := tabletest.Fetch()
	table.Rows = slices.DeleteFunc(table.Rows, func(r machine.Row) bool { return slices.Contains(r.On, machine.OtherRefusedCopies()) })
	_, err := Explore(table.MustCompile(), Network{})
	var found *Counterexample
	if !errors.As(err, &found) || found.Problem != Unhandled || found.Detail != "no row for undeliverable REQUEST" {
		t.Errorf("got %v", err)
	}
}

// TestStrictNeedsARowForAnUndeliveredOpening leaves the undelivered request to the wildcard, which is
// enough for a network without the strict rules.
func TestStrictNeedsARowForAnUndeliveredOpening(t *testing.T) {
	table := tabletest.Fetch()
	for i, r := range table.Rows {
		if slices.Contains(r.On, machine.Undelivered(p.ActRequest)) {
			table.Rows[i].On = []machine.Symbol{machine.Commanded("leave")}
		}
	}
	table.Agree = slices.DeleteFunc(table.Agree, func(p machine.Pair) bool { return p.Initiator == "unreachable" })
	for _, r := range []machine.State{"fetched", "orphaned", "stopped", "expired", machine.Idle} {
		table.Agree = append(table.Agree, machine.Pair{Initiator: "unreachable", Responder: r})
	}
	m := table.MustCompile()
	if _, err := Explore(m, Network{}); err != nil {
		t.Error(err)
	}
	_, err := Explore(m, Network{Strict: true})
	var found *Counterexample
	if !errors.As(err, &found) || found.Problem != Unforeseen || found.Detail != "only a wildcard of the initiator in asked takes undelivered REQUEST" {
		t.Errorf("got %v", err)
	}
}

// TestExploreRequiresRowsForLostPeers removes the loss of the peer from each of its states.
func TestExploreRequiresRowsForLostPeers(t *testing.T) {
	removed := 0
	for s := range tabletest.Fetch().MustCompile().Transitions() {
		table := tabletest.Fetch()
		if s.On.Kind != machine.KindPeerLost {
			continue
		}
		removed++
		row := table.Rows[s.Row]
		only := row
		only.From = []machine.State{s.From}
		only.On = slices.DeleteFunc(slices.Clone(row.On), func(on machine.Symbol) bool { return on == s.On })
		row.From = slices.DeleteFunc(slices.Clone(row.From), func(from machine.State) bool { return from == s.From })
		table.Rows = slices.Delete(slices.Clone(table.Rows), s.Row, s.Row+1)
		for _, r := range []machine.Row{row, only} {
			if len(r.From) > 0 && len(r.On) > 0 {
				table.Rows = append(table.Rows, r)
			}
		}
		if s.From == "asked" { // keep the states reachable
			for i := range table.Agree {
				if table.Agree[i].Initiator == s.To {
					table.Agree[i].After = []machine.Cause{machine.At(machine.Initiator, machine.Commanded("leave"))}
				}
			}
			table.Rows = append(table.Rows, machine.For(machine.Initiator, "asked").When(machine.Commanded("leave")).Goto(s.To, s.Do...))
		}
		_, err := Explore(table.MustCompile(), Network{})
		var found *Counterexample
		if !errors.As(err, &found) || found.Problem != Unhandled || found.Detail != "no row for "+s.On.String() {
			t.Errorf("without %s in %s on %s: %v", s.Role, s.From, s.On, err)
		}
	}
	if removed != 2 {
		t.Errorf("removed %d transitions", removed)
	}
}

// TestFailuresWithoutRows explores a table without any row for failures: none occurs.
func TestFailuresWithoutRows(t *testing.T) {
	x := newExplorer(tabletest.Haggle().MustCompile(), Network{}.withDefaults())
	if err := x.walk(); err != nil {
		t.Fatal(err)
	}
	for _, n := range x.nodes {
		if n.via.On.Kind == machine.KindUndeliverable || n.via.On.Kind == machine.KindPeerLost {
			t.Fatalf("%v", n.via)
		}
	}
}

// TestPeerLostInLiveStates checks every joint state: a side can lose its peer when it has begun and
// not ended.
func TestPeerLostInLiveStates(t *testing.T) {
	x := newExplorer(tabletest.Fetch().MustCompile(), Network{}.withDefaults())
	if err := x.walk(); err != nil {
		t.Fatal(err)
	}
	seen := map[bool]int{}
	for _, n := range x.nodes {
		var lost [2]bool
		for _, via := range x.moves(n.at) {
			lost[via.Role] = lost[via.Role] || via.On == machine.PeerLost()
		}
		for _, r := range machine.Roles() {
			s := x.state(n.at, r)
			if want := s != machine.Idle && !x.Terminal(s); lost[r] != want {
				t.Fatalf("%s in %s: lost %v", r, s, lost[r])
			}
			seen[lost[r]]++
		}
	}
	if seen[true] == 0 || seen[false] == 0 {
		t.Errorf("joint states: %v", seen)
	}
}

// TestAnUndeliveredMessageNeverArrives has the runtime refuse the request before it arrives, and
// after the responder has answered it.
func TestAnUndeliveredMessageNeverArrives(t *testing.T) {
	for _, net := range []Network{{}, {Once: true}} {
		x := newExplorer(tabletest.Fetch().MustCompile(), net.withDefaults())
		if err := x.walk(); err != nil {
			t.Fatal(err)
		}
		undelivered := 0
		for _, n := range x.nodes {
			if n.via.On != machine.Undelivered(p.ActRequest) {
				continue
			}
			undelivered++
			if pair := x.pair(n.at); pair.Initiator != "unreachable" || pair.Responder != machine.Idle {
				t.Errorf("got %v", pair)
			}
			for _, via := range x.moves(n.at) {
				if via.On == machine.Receive(p.ActRequest) {
					t.Error("an undelivered request arrives")
				}
			}
		}
		if undelivered == 0 {
			t.Error("no message is undelivered")
		}
	}
}

// TestOracleTakesAPeerForLostAtAnyMoment: the responder answers after the initiator has
// lost it, as across a partition. The oracle and the monitor agree about that.
func TestOracleTakesAPeerForLostAtAnyMoment(t *testing.T) {
	k := newMonitorCheck(tabletest.Fetch().MustCompile(), MonitorCheck{})
	trace, err := k.begin()
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range []machine.Utterance{
		{From: machine.Initiator, Act: p.ActRequest},
		{From: machine.Responder, Act: p.ActAgree},
		{From: machine.Initiator, Act: p.ActCancel},
		{From: machine.Responder, Act: p.ActInform},
	} {
		possible := false
		if trace, possible, err = k.extend(trace, u); err != nil || !possible {
			t.Fatalf("%s: possible %v, %v", u, possible, err)
		}
	}
}

// manyTypes returns a table whose initiator asks one question of n types, and whose responder has
// another answer to each.
func manyTypes(n int) machine.Table {
	table := machine.Table{
		Name: "many", Title: "Many", Purpose: "Many types.", Source: "none", Terminal: []machine.State{"done"}, Live: []machine.State{"waiting"},
		Agree: []machine.Pair{{Initiator: "done", Responder: "done"}, {Initiator: "done", Responder: machine.Idle, After: []machine.Cause{machine.Lost()}}},
	}
	for i := range n {
		tag := string(rune('A' + i))
		table.Rows = append(table.Rows,
			machine.For(machine.Initiator, machine.Idle).When(machine.Commanded("ask "+tag)).Goto("waiting", machine.SendTagged(p.ActRequest, tag), machine.Arm("retry")),
			machine.For(machine.Initiator, "waiting").When(machine.ReceiveTagged(p.ActInform, tag)).Goto("done"),
			machine.For(machine.Responder, machine.Idle).When(machine.ReceiveTagged(p.ActRequest, tag)).Goto("done", machine.SendTagged(p.ActInform, tag)))
	}
	table.Timers = []machine.Timer{{Role: machine.Initiator, Name: "retry", Doc: "retry", Ticks: true}}
	table.Rows = append(table.Rows,
		machine.For(machine.Initiator, "waiting").When(machine.Timeout("retry")).Stay(machine.Resend(p.ActRequest), machine.Arm("retry")),
		machine.For(machine.Initiator, "waiting").When(machine.Receive(p.ActFailure)).Goto("done"),
		machine.For(machine.Initiator, "done").When(machine.OtherNotices(), machine.OtherDuplicates()).Stay(machine.Drop("late")),
		machine.For(machine.Responder, "done").When(machine.Duplicate(p.ActRequest)).Stay(machine.Resend(p.ActInform)))
	return table
}

// TestTooManyMessages explores a responder with as many answers as there is room for. Where it
// forgets its replies, a further answer comes from its node.
func TestTooManyMessages(t *testing.T) {
	for n, run := range map[int]Run{
		bitset.Size + 1: {Name: "no loss"},
		bitset.Size:     {Name: "replies forgotten", Losses: 1, Forgets: true},
	} {
		_, err := ExploreFair(manyTypes(n).MustCompile(), run)
		var found *Counterexample
		if !errors.As(err, &found) || found.Problem != TooMany || !strings.Contains(found.Detail, "more than 64 different messages") {
			t.Errorf("%s: got %v", run.Name, err)
		}
	}
}
