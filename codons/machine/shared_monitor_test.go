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

// TestSharedMonitors compares monitors that share with monitors of their own, in more conversations
// than are shared, with random messages of which many are illegal.
func TestSharedMonitors(t *testing.T) {
	for _, table := range []machine.Table{tabletest.Ping(), tabletest.Echo(), tabletest.ContractNet(), tabletest.Auction()} {
		t.Run(table.Name, func(t *testing.T) {
			m := table.MustCompile()
			shared, random := machine.NewMonitors(m), rand.New(rand.NewPCG(1, 2))
			said := utterances(m)
			for range 200 {
				one, own := shared.New(), machine.NewMonitor(m)
				for range 1 + random.IntN(8) {
					u := said[random.IntN(min(len(said), 1+random.IntN(len(said))))] // the first ones most often
					if random.IntN(8) == 0 {
						one.Interject(u.From, u.Act)
						own.Interject(u.From, u.Act)
						continue
					}
					u.Again = random.IntN(8) == 0
					if got, want := fmt.Sprint(one.Observe(u)), fmt.Sprint(own.Observe(u)); got != want {
						t.Fatalf("%s: %s, want %s", u, got, want)
					}
					for _, r := range machine.Roles() {
						if got, want := one.States(r), own.States(r); !slices.Equal(got, want) {
							t.Fatalf("after %s the %s is in %v, want %v", u, r, got, want)
						}
					}
				}
			}
			if got := shared.Traces(); got < 2 || got > machine.MaxSharedTraces {
				t.Errorf("%d traces are shared", got)
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

// TestSharedMonitorsAreBounded has two conversations with the same messages, one that is longer
// than what is shared, and more different ones than are shared.
func TestSharedMonitorsAreBounded(t *testing.T) {
	shared := machine.NewMonitors(tabletest.ContractNet().MustCompile())
	observe := func(trace []machine.Utterance) int {
		t.Helper()
		o := shared.New()
		for i, u := range trace {
			if err := o.Observe(u); err != nil {
				t.Fatalf("message %d: %v", i, err)
			}
		}
		if err := o.Observe(machine.Utterance{From: machine.Responder, Act: p.ActPropose}); err == nil {
			t.Errorf("a proposal after the award is legal")
		}
		return shared.Traces()
	}
	if got := observe(reported(2)); got != 7 { // the beginning, five messages, and the illegal one
		t.Errorf("%d traces after one conversation", got)
	}
	if got := observe(reported(2)); got != 7 {
		t.Errorf("%d traces after two with the same messages", got)
	}
	if got := observe(reported(100)); got != 7+27 { // 32 messages: five of them were known
		t.Errorf("%d traces after one with many messages", got)
	}
	for i := range 1000 {
		trace := reported(10)
		for bit := range 9 {
			trace[4+bit].Again = i>>bit&1 == 1
		}
		observe(trace)
	}
	if got := shared.Traces(); got != machine.MaxSharedTraces {
		t.Errorf("%d traces in the end", got)
	}
}
