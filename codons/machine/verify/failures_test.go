package verify

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/internal/tabletest"
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
// exercise. Fetch has 1 for an undelivered message and 11 for lost peers. The initiator
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
		{"reliable", Network{Reliable: true}, 1, 1},
		{"calm", Calm(), 1, 11},
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
			table.Rows = append(table.Rows, machine.For(machine.Initiator, "asked").When(machine.Command("leave")).Goto(s.To, s.Do...))
		}
		_, err := Explore(table.MustCompile(), Network{})
		var found *Counterexample
		if !errors.As(err, &found) || found.Problem != Unhandled || found.Detail != "no row for "+s.On.String() {
			t.Errorf("without %s in %s on %s: %v", s.Role, s.From, s.On, err)
		}
	}
	if removed != 11 {
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

// TestPeerLostFollowsAStop checks every joint state in which both sides are live. There
// the initiator can lose the responder only when the responder has stopped before.
func TestPeerLostFollowsAStop(t *testing.T) {
	table := tabletest.Fetch()
	table.Live = append(table.Live, "stopping") // a stop that does not end the responder at once
	for i, r := range table.Rows {
		if r.Role == machine.Responder && r.On[0] == machine.Command("stop") {
			table.Rows[i].To = "stopping"
		}
	}
	table.Rows = append(table.Rows,
		machine.For(machine.Responder, "stopping").When(machine.Command("bring"), machine.Timeout("deadline")).Goto("stopped"),
		machine.For(machine.Responder, "stopping").When(machine.Command("stop"), machine.PeerLost(), machine.Duplicate(p.ActRequest), machine.Receive(p.ActCancel), machine.Duplicate(p.ActCancel)).Stay(machine.Drop("late")),
	)
	x := newExplorer(table.MustCompile(), Network{}.withDefaults())
	if err := x.walk(); err != nil {
		t.Fatal(err)
	}
	seen := map[machine.State]int{}
	for _, n := range x.nodes {
		pair := x.pair(n.joint)
		if pair.Initiator != "asked" || x.Terminal(pair.Responder) || pair.Responder == machine.Idle {
			continue
		}
		lost := false
		for _, via := range x.moves(n.joint) {
			lost = lost || via.Role == machine.Initiator && via.On == machine.PeerLost()
		}
		if want := pair.Responder == "stopping"; lost != want {
			t.Fatalf("the responder is %s: lost %v", pair.Responder, lost)
		}
		seen[pair.Responder]++
	}
	if seen["fetching"] == 0 || seen["stopping"] == 0 {
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
			if pair := x.pair(n.joint); pair.Initiator != "unreachable" || pair.Responder != machine.Idle {
				t.Errorf("got %v", pair)
			}
			for _, via := range x.moves(n.joint) {
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
