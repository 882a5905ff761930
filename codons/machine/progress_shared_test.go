package machine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/internal/tabletest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// TestProgressIsThatOfAMonitor compares shared Progress values with a monitor of each conversation,
// in more conversations than are shared, with random messages of which many are illegal.
func TestProgressIsThatOfAMonitor(t *testing.T) {
	for _, table := range []machine.Table{tabletest.Ping(), tabletest.Echo(), tabletest.ContractNet(), tabletest.Auction()} {
		t.Run(table.Name, func(t *testing.T) {
			m := table.MustCompile()
			begin, random := machine.NewProgress(m), rand.New(rand.NewPCG(1, 2))
			said := utterances(m)
			for range 200 {
				one, own := begin, machine.NewMonitor(m)
				for range 1 + random.IntN(8) {
					u := said[random.IntN(min(len(said), 1+random.IntN(len(said))))] // the first ones most often
					if random.IntN(8) == 0 {
						one = one.Interject(u.From, u.Act)
						own.Interject(u.From, u.Act)
						continue
					}
					u.Again = random.IntN(8) == 0
					var err error
					one, err = one.Observe(u)
					if got, want := fmt.Sprint(err), fmt.Sprint(own.Observe(u)); got != want {
						t.Fatalf("%s: %s, want %s", u, got, want)
					}
					for _, r := range machine.Roles() {
						if got, want := one.States(r), own.States(r); !slices.Equal(got, want) {
							t.Fatalf("after %s the %s is in %v, want %v", u, r, got, want)
						}
					}
				}
			}
			if got := begin.Shared(); got < 2 || got > machine.MaxProgress {
				t.Errorf("%d are shared", got)
			}
		})
	}
}

// utterances returns the messages that the table has rows for, those that open it first.
func utterances(m *machine.Machine) []machine.Utterance {
	var all []machine.Utterance
	for _, act := range m.Opening() {
		all = append(all, machine.Utterance{From: machine.Initiator, Act: act})
	}
	for t := range m.Transitions() {
		u := machine.Utterance{From: t.Role.Other(), Act: t.On.Act, Tag: t.On.Name}
		if t.On.Kind == machine.KindReceive && !t.Wildcard && !slices.Contains(all, u) {
			all = append(all, u)
		}
	}
	return all
}

// TestSharedProgressIsBounded has two conversations with the same messages, and more different ones
// than are shared.
func TestSharedProgressIsBounded(t *testing.T) {
	begin := machine.NewProgress(tabletest.ContractNet().MustCompile())
	observe := func(trace []machine.Utterance) int {
		t.Helper()
		at := begin
		for i, u := range trace {
			var err error
			if at, err = at.Observe(u); err != nil {
				t.Fatalf("message %d: %v", i, err)
			}
		}
		if _, err := at.Observe(machine.Utterance{From: machine.Responder, Act: p.ActPropose}); err == nil {
			t.Errorf("a proposal after the award is legal")
		}
		return begin.Shared()
	}
	if got := observe(reported(2)); got != 7 { // the beginning, five messages, and the illegal one
		t.Errorf("%d are shared after one conversation", got)
	}
	if got := observe(reported(2)); got != 7 {
		t.Errorf("%d are shared after two with the same messages", got)
	}
	for i := range 1000 {
		trace := reported(10)
		for bit := range 9 {
			trace[4+bit].Again = i>>bit&1 == 1
		}
		observe(trace)
	}
	if got := begin.Shared(); got != machine.MaxProgress {
		t.Errorf("%d are shared in the end", got)
	}
}
