package machine

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	p "github.com/ribosome-agents/ribosome/performatives"
)

func TestExplorePing(t *testing.T) {
	r, err := Explore(ping().MustCompile(), Network{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Ends) != 4 || len(r.UnusedPairs) != 0 {
		t.Errorf("ends %v, unused %v", r.Ends, r.UnusedPairs)
	}
	// Ping's only answer is always the end, so it cannot come late and fresh to done.
	if want := []string{"initiator in done on receive INFORM_REF"}; !reflect.DeepEqual(r.Unexercised, want) {
		t.Errorf("unexercised %q, want %q", r.Unexercised, want)
	}
}

func TestExploreIsDeterministic(t *testing.T) {
	m := haggle().MustCompile()
	a, _ := Explore(m, Network{})
	b, _ := Explore(m, Network{})
	if !reflect.DeepEqual(a, b) {
		t.Errorf("got %v and %v", a, b)
	}
}

// TestExploreFinds breaks ping once for each problem.
func TestExploreFinds(t *testing.T) {
	without := func(i int) func(*Table) {
		return func(t *Table) { t.Rows = append(t.Rows[:i:i], t.Rows[i+1:]...) }
	}
	for _, c := range []struct {
		problem Problem
		network Network
		change  func(*Table)
		want    string // a part of the counterexample
	}{
		{Unhandled, Network{}, without(7), "responder  duplicate QUERY_REF"},
		{Unhandled, Network{}, without(11), "no row for command answer"},
		{
			Stranded, Network{}, func(t *Table) {
				t.Rows[2].To, t.Rows[2].Do = "", []Effect{Arm("deadline")}
				t.Rows = append(t.Rows, For(Initiator, "asked").When(Command("give up")).Goto("lost"))
			}, "should nothing arrive any more, no timer ends the initiator's asked",
		},
		{
			Stuck, Calm(), func(t *Table) {
				t.Rows[6].Do = nil
				t.Rows = append(t.Rows, For(Responder, "answering").When(Receive(p.ActCFP)).Stay(Send(p.ActInformRef)))
			}, "nothing that can happen from here ends it on both sides",
		},
		{Disagreement, Network{}, func(t *Table) { t.Agree = t.Agree[:3] }, "the initiator ends lost and the responder idle"},
		{Disagreement, Calm(), func(t *Table) { t.Agree[0].Rough = true }, "the initiator ends done and the responder done"},
		{LeftRunning, Network{}, func(t *Table) { t.Rows[8].Do = nil }, "job answer runs on and was not asked to stop"},
		{
			LeftRunning,
			Network{},
			func(t *Table) { t.Rows[7].Do = []Effect{Run("answer")} },
			"job answer is started while it runs",
		},
		{
			NothingToResend,
			Network{},
			func(t *Table) { t.Rows[7].Do = []Effect{Resend(p.ActInformRef)} },
			"no INFORM_REF was ever sent",
		},
	} {
		table := ping()
		c.change(&table)
		m, err := table.Compile()
		if err != nil {
			t.Fatal(c.problem, err)
		}
		_, err = Explore(m, c.network)
		var found *Counterexample
		if !errors.As(err, &found) || found.Problem != c.problem || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s with %q", err, c.problem, c.want)
		}
	}
}

func TestCounterexampleReads(t *testing.T) {
	table := ping()
	table.Rows = append(table.Rows[:7:7], table.Rows[8:]...)
	_, err := Explore(table.MustCompile(), Network{})
	want := `machine: ping: unhandled event: no row for duplicate QUERY_REF
   1  initiator  command start                     idle → asked  sends QUERY_REF
   2  responder  receive QUERY_REF                 idle → answering
   3  responder  duplicate QUERY_REF               answering`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestExploreIsBounded(t *testing.T) {
	if _, err := Explore(haggle().MustCompile(), Network{MaxStates: 100}); err == nil || !strings.Contains(err.Error(), "more than 100") {
		t.Errorf("got %v", err)
	}
	few, _ := Explore(haggle().MustCompile(), Network{Repeat: 1})
	more, _ := Explore(haggle().MustCompile(), Network{Repeat: 2})
	if few.Messages >= more.Messages {
		t.Errorf("%d and %d messages", few.Messages, more.Messages)
	}
}

// TestWalkTakesLegalSteps replays walks through Step.
func TestWalkTakesLegalSteps(t *testing.T) {
	m := haggle().MustCompile()
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		sides := [2]Conversation{{Role: Initiator, State: Idle}, {Role: Responder, State: Idle}}
		for _, move := range Walk(m, Network{}, 30, rng.IntN) {
			after, _, err := m.Step(sides[move.Role], Event{On: move.On})
			if err != nil || after.State != move.To {
				t.Fatalf("%v: %v, %v", move, after, err)
			}
			sides[move.Role] = after
		}
	}
}

func BenchmarkExplore(b *testing.B) {
	m := haggle().MustCompile()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Explore(m, Network{}); err != nil {
			b.Fatal(err)
		}
	}
}
