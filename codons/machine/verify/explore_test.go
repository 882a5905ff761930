package verify

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/internal/tabletest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

func TestExplorePing(t *testing.T) {
	r, err := Explore(tabletest.Ping().MustCompile(), Network{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Ends) != 4 || len(r.UnusedPairs) != 0 {
		t.Errorf("ends %v, unused %v", r.Ends, r.UnusedPairs)
	}
	// The responder of Ping sends one answer, and the initiator in done has received it:
	// no second one can arrive there as a fresh message.
	if want := []string{"initiator in done on receive INFORM_REF"}; !reflect.DeepEqual(r.Unexercised, want) {
		t.Errorf("unexercised %q, want %q", r.Unexercised, want)
	}
}

func TestExploreIsDeterministic(t *testing.T) {
	m := tabletest.Haggle().MustCompile()
	a, _ := Explore(m, Network{})
	b, _ := Explore(m, Network{})
	if !reflect.DeepEqual(a, b) {
		t.Errorf("got %v and %v", a, b)
	}
}

// TestExploreFinds changes Ping so that it has each problem, one at a time.
func TestExploreFinds(t *testing.T) {
	without := func(i int) func(*machine.Table) {
		return func(t *machine.Table) { t.Rows = append(t.Rows[:i:i], t.Rows[i+1:]...) }
	}
	for _, c := range []struct {
		problem Problem
		network Network
		change  func(*machine.Table)
		want    string // a part of the counterexample
	}{
		{Unhandled, Network{}, without(7), "responder  duplicate QUERY_REF"},
		{Unhandled, Network{}, without(11), "no row for command answer"},
		{
			Stranded, Network{}, func(t *machine.Table) {
				t.Rows[2].To, t.Rows[2].Do = "", []machine.Effect{machine.Arm("deadline")}
				t.Rows = append(t.Rows, machine.For(machine.Initiator, "asked").When(machine.Commanded("give up")).Goto("lost"))
			}, "should nothing arrive any more, no timer ends the initiator's asked",
		},
		{
			Stuck, Calm(), func(t *machine.Table) {
				t.Rows[6].Do = nil
				t.Rows = append(t.Rows, machine.For(machine.Responder, "answering").When(machine.Receive(p.ActCFP)).Stay(machine.Send(p.ActInformRef)))
			}, "no sequence of events from here ends it on both sides",
		},
		{Disagreement, Network{}, func(t *machine.Table) { t.Agree = t.Agree[:3] }, "the initiator ends lost and the responder idle"},
		{Disagreement, Calm(), func(t *machine.Table) { t.Agree[0].After = []machine.Cause{machine.Lost()} }, "the initiator ends done and the responder done"},
		{LeftRunning, Network{}, func(t *machine.Table) { t.Rows[8].Do = nil }, "job answer runs on and was not asked to stop"},
		{
			LeftRunning,
			Network{},
			func(t *machine.Table) { t.Rows[7].Do = []machine.Effect{machine.Run("answer")} },
			"job answer is started while it runs",
		},
		{
			NothingToResend,
			Network{},
			func(t *machine.Table) { t.Rows[7].Do = []machine.Effect{machine.Resend(p.ActInformRef)} },
			"no INFORM_REF was ever sent",
		},
		{
			Unarmed, Network{Strict: true}, func(t *machine.Table) {
				t.Timers = append(t.Timers, machine.Timer{Role: machine.Initiator, Name: "bell"})
				t.Rows = append(t.Rows,
					machine.For(machine.Initiator, "asked").When(machine.Commanded("wind")).Stay(machine.Arm("bell")),
					machine.For(machine.Initiator, "asked").When(machine.Timeout("bell")).Stay())
			}, "the initiator's timer bell does not run in asked, which has a row for its expiry",
		},
		{
			NotRunning, Network{Strict: true}, func(t *machine.Table) {
				t.Rows[5].Do = []machine.Effect{machine.Arm("deadline")}
				t.Rows = append(t.Rows, machine.For(machine.Responder, "answering").When(machine.Commanded("begin")).Stay(machine.Run("answer")))
			}, "the responder awaits the job answer in answering, and it does not run",
		},
		{
			Unforeseen,
			Network{Strict: true},
			func(t *machine.Table) { t.Rows[1].On = []machine.Symbol{machine.OtherNotices()} },
			"only a wildcard of the initiator in asked takes receive INFORM_REF of a correct peer",
		},
		{
			EarlyReceipt, Network{Strict: true}, func(t *machine.Table) {
				t.Rows = append(t.Rows, machine.For(machine.Responder, "answering").When(machine.Commanded("hurry")).Goto("lost", machine.Stop("answer"), machine.SendTagged(p.ActInform, "receipt")),
					machine.For(machine.Initiator, "asked").When(machine.ReceiveTagged(p.ActInform, "receipt")).Goto("lost"))
			}, "the receipt is sent while the job answer runs",
		},
		{
			Unanswered, Network{Strict: true}, func(t *machine.Table) {
				t.Rows = append(t.Rows, machine.For(machine.Responder, "answering").When(machine.Commanded("agree")).Stay(machine.Send(p.ActAgree)),
					machine.For(machine.Initiator, "asked").When(machine.Receive(p.ActAgree)).Stay(),
					machine.For(machine.Initiator, "asked").When(machine.OtherDuplicates()).Stay(machine.Drop("duplicate")))
			}, "the repeated QUERY_REF has an answer, which is not sent again",
		},
	} {
		table := tabletest.Ping()
		c.change(&table)
		m, err := table.Compile()
		if err != nil {
			t.Error(c.problem, err)
			continue
		}
		_, err = Explore(m, c.network)
		var found *Counterexample
		if !errors.As(err, &found) || found.Problem != c.problem || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s with %q", err, c.problem, c.want)
		}
	}
}

func TestCounterexampleReads(t *testing.T) {
	table := tabletest.Ping()
	table.Rows = append(table.Rows[:7:7], table.Rows[8:]...)
	_, err := Explore(table.MustCompile(), Network{})
	want := `verify: ping: unhandled event: no row for duplicate QUERY_REF
   1  initiator  command start                     idle → asked  sends QUERY_REF
   2  responder  receive QUERY_REF                 idle → answering
   3  responder  duplicate QUERY_REF               answering`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestExploreIsBounded(t *testing.T) {
	if _, err := Explore(tabletest.Haggle().MustCompile(), Network{MaxStates: 100}); err == nil || !strings.Contains(err.Error(), "more than 100") {
		t.Errorf("got %v", err)
	}
	few, _ := Explore(tabletest.Haggle().MustCompile(), Network{Repeat: 1})
	more, _ := Explore(tabletest.Haggle().MustCompile(), Network{Repeat: 2})
	if few.Messages >= more.Messages {
		t.Errorf("%d and %d messages", few.Messages, more.Messages)
	}
}

// TestWalkTakesLegalSteps replays walks through Step.
func TestWalkTakesLegalSteps(t *testing.T) {
	m := tabletest.Haggle().MustCompile()
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		sides := [2]machine.Status{{Role: machine.Initiator, State: machine.Idle}, {Role: machine.Responder, State: machine.Idle}}
		for _, move := range Walk(m, Network{}, 30, rng.IntN) {
			after, _, err := m.Step(sides[move.Role], machine.Event{On: move.On})
			if err != nil || after.State != move.To {
				t.Fatalf("%v: %v, %v", move, after, err)
			}
			sides[move.Role] = after
		}
	}
}

func BenchmarkExplore(b *testing.B) {
	m := tabletest.Haggle().MustCompile()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Explore(m, Network{}); err != nil {
			b.Fatal(err)
		}
	}
}

func TestHaggleIsSound(t *testing.T) {
	r, err := Explore(tabletest.Haggle().MustCompile(), Network{})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r, r.Unexercised)
}

// TestMovesStop leaves the moves of each joint state after each of them. Moves that go on after that
// panic.
func TestMovesStop(t *testing.T) {
	m := tabletest.Fetch().MustCompile()
	x := newExplorer(m, Network{}.withDefaults())
	if err := x.walk(); err != nil {
		t.Fatal(err)
	}
	for _, n := range x.nodes {
		all := 0
		for range x.moves(n.at) {
			all++
		}
		for last := range all {
			at := 0
			for range x.moves(n.at) {
				if at++; at > last {
					break
				}
			}
		}
	}
	f := newFair(m, Run{Name: "one loss", Losses: 1})
	_ = f.walk() // what it finds does not matter here
	for _, n := range f.nodes {
		for range f.steps(n.at) {
			break
		}
	}
}
