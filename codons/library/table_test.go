package library

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/verify"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/internal/exhaustive"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/performatives"
)

// tables are the tables of the library.
func tables() []machine.Table {
	var all []machine.Table
	for _, c := range Codons() {
		if len(c.Table.Rows) > 0 {
			all = append(all, c.Table)
		}
	}
	return all
}

// A conversation has room for codons.MaxTimers timers.
func TestTablesKeepToTheLimitOfTimers(t *testing.T) {
	for _, table := range tables() {
		n := map[machine.Role]int{}
		for _, timer := range table.Timers {
			if n[timer.Role]++; n[timer.Role] > codons.MaxTimers {
				t.Errorf("%s: the %s has more than %d timers", table.Name, timer.Role, codons.MaxTimers)
			}
		}
	}
}

func TestTablesCompile(t *testing.T) {
	for _, table := range tables() {
		if _, err := table.Compile(); err != nil {
			t.Error(err)
		}
	}
}

func TestEveryRowSaysWhy(t *testing.T) {
	for _, table := range tables() {
		for _, r := range table.Rows {
			if r.Why == "" {
				t.Errorf("%s: %s", table.Name, r)
			}
		}
	}
}

// In the second round, late messages of the first one change nothing, except a result or
// failure: that ends the conversation although it names the first request.
func TestLateMessagesOfTheFirstRound(t *testing.T) {
	m := delegation.Table().MustCompile()
	c := machine.Status{Role: machine.Initiator, State: delegation.StateInputGiven}
	for on, want := range map[machine.Symbol]machine.State{
		machine.Stale(performatives.ActTaskAccept):                                               delegation.StateInputGiven,
		machine.Stale(performatives.ActStatusUpdate):                                             delegation.StateInputGiven,
		machine.Stale(performatives.ActInformResult):                                             standard.StateCompleted,
		machine.Stale(performatives.ActFailure):                                                  standard.StateCompleted,
		{Kind: machine.KindStale, Act: performatives.ActInformResult, Name: delegation.TagInput}: delegation.StateInputNeeded,
	} {
		if after, _, err := m.Step(c, machine.Event{On: on}); err != nil || after.State != want {
			t.Errorf("%s: %s, %v, want %s", on, after.State, err, want)
		}
	}
}

// Every live state has a row for every act, fresh, duplicate or late: a peer may send anything.
func TestEveryStateHasARowForEveryAct(t *testing.T) {
	for _, table := range tables() {
		m := table.MustCompile()
		for _, r := range table.Rows {
			for _, state := range r.From {
				if state == machine.Idle {
					continue
				}
				for act := range performatives.Performatives() {
					for _, on := range []machine.Symbol{machine.Receive(act), machine.Duplicate(act), machine.Stale(act)} {
						if !m.Takes(machine.Status{Role: r.Role, State: state}, on) {
							t.Errorf("%s: %s in %s has no row for %s", table.Name, r.Role, state, on)
						}
					}
				}
			}
		}
	}
}

// TestExploreMonitors compares each monitor with an oracle that follows every joint state.
// The monitor must accept every trace that a conversation can produce, and refuse each
// mutation of one (an act dropped, added or exchanged) that no conversation can produce.
func TestExploreMonitors(t *testing.T) {
	racetest.Skip(t)
	check := verify.MonitorCheck{Traces: 12, Walks: 24, Mutate: 4}
	if exhaustive.Enabled() {
		check = verify.MonitorCheck{Traces: 60, Walks: 200, Mutate: 12}
	}
	for _, table := range tables() {
		t.Run(table.Name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(5, 6))
			report, err := verify.CheckMonitor(table.MustCompile(), check, rng.IntN)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(report)
			if report.Impossible == 0 {
				t.Error("no mutant was impossible")
			}
		})
	}
}

// The traces are in the order of sending. The last utterance of each is illegal.
func TestMonitorRefusesIllegalTraces(t *testing.T) {
	racetest.Skip(t)
	asker := func(act performatives.Performative) machine.Utterance {
		return machine.Utterance{From: machine.Initiator, Act: act}
	}
	worker := func(act performatives.Performative) machine.Utterance {
		return machine.Utterance{From: machine.Responder, Act: act}
	}
	request, accept, result := asker(performatives.ActTaskRequest), worker(performatives.ActTaskAccept), worker(performatives.ActInformResult)
	partial, status, cancel := result, worker(performatives.ActStatusUpdate), asker(performatives.ActCancel)
	partial.Tag = delegation.TagInput
	done := worker(performatives.ActInform)
	done.Tag = standard.TagReceipt
	for name, trace := range map[string][]machine.Utterance{
		"an answer to nothing":           {accept},
		"a result without an acceptance": {request, result},
		"two results":                    {request, accept, result, result},
		"acceptance after the result":    {request, accept, result, accept},
		"progress after the result":      {request, accept, result, status},
		"rejection after acceptance":     {request, accept, worker(performatives.ActTaskReject)},
		"a receipt without a CANCEL":     {request, accept, worker(performatives.ActInform)},
		"a second task":                  {request, accept, request},
		"a second task after the end":    {request, accept, result, request},
		"a further round without a need": {request, accept, status, request},
		"two rounds for one need":        {request, accept, partial, request, request},
		"progress after the receipt":     {request, accept, cancel, done, status},
		"two CANCELs":                    {request, cancel, cancel},
		"the asker's own result":         {request, accept, asker(performatives.ActInformResult)},
	} {
		t.Run(name, func(t *testing.T) {
			monitor := machine.NewMonitor(delegation.Table().MustCompile())
			for i, u := range trace {
				err := monitor.Observe(u)
				var violation *machine.ViolationError
				if last := i == len(trace)-1; errors.As(err, &violation) != last {
					t.Fatalf("at %s: %v", u, err)
				}
			}
		})
	}
}

func FuzzDelegationStep(f *testing.F) {
	m := delegation.Table().MustCompile()
	f.Add(uint8(1), string(standard.StateWorking), uint8(machine.KindReceive), uint8(performatives.ActCancel), "")
	f.Fuzz(func(t *testing.T, role uint8, state string, kind, act uint8, name string) {
		c := machine.Status{Role: machine.Role(role), State: machine.State(state)}
		on := machine.Symbol{Kind: machine.Kind(kind), Act: performatives.Performative(act), Name: name}
		after, _, err := m.Step(c, machine.Event{On: on})
		var unexpected *machine.UnexpectedError
		if err != nil && (!errors.As(err, &unexpected) || after != c) {
			t.Fatalf("%+v, %v", after, err)
		}
	})
}

// BenchmarkStep measures the four steps of a responder that gets a request, accepts,
// reports and finishes.
func BenchmarkStep(b *testing.B) {
	m := delegation.Table().MustCompile()
	now := time.Unix(1, 0)
	events := []machine.Event{
		{On: machine.Receive(performatives.ActTaskRequest), At: now},
		{On: machine.Commanded(standard.CommandAccept), At: now},
		{On: machine.Commanded(standard.CommandReport), At: now},
		{On: machine.Commanded(standard.CommandFinish), At: now},
	}
	b.ReportAllocs()
	for b.Loop() {
		c := m.Start(machine.Responder, now)
		for _, e := range events {
			var err error
			if c, _, err = m.Step(c, e); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(events)), "ns/step")
}

// BenchmarkMonitor measures the monitor over a delegation of four messages.
func BenchmarkMonitor(b *testing.B) {
	m := delegation.Table().MustCompile()
	acts := []performatives.Performative{
		performatives.ActTaskRequest, performatives.ActTaskAccept, performatives.ActStatusUpdate, performatives.ActInformResult,
	}
	conversation := func(b *testing.B, observe func(machine.Utterance) error) {
		for i, act := range acts {
			if err := observe(machine.Utterance{From: machine.Role(min(i, 1)), Act: act}); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("own", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			conversation(b, machine.NewMonitor(m).Observe)
		}
	})
	b.Run("shared", func(b *testing.B) {
		begin := machine.NewProgress(m)
		b.ReportAllocs()
		for b.Loop() {
			at := begin
			conversation(b, func(u machine.Utterance) (err error) { at, err = at.Observe(u); return err })
		}
	})
}
