package verify

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/internal/tabletest"
	"github.com/ribosome-agents/ribosome/internal/exhaustive"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

func TestCheckMonitor(t *testing.T) {
	racetest.Skip(t)
	check := MonitorCheck{Traces: 60, Walks: 60, Mutate: 8}
	if exhaustive.Enabled() {
		check = MonitorCheck{Traces: 200, Walks: 200, Mutate: 25}
	}
	for _, table := range []machine.Table{tabletest.Ping(), tabletest.Echo(), tabletest.Auction(), tabletest.Haggle(), tabletest.ContractNet(), tabletest.Fetch()} {
		r, err := CheckMonitor(table.MustCompile(), check, rand.New(rand.NewPCG(5, 6)).IntN)
		t.Log(table.Name, r)
		if err != nil {
			t.Error(err)
		}
		if r.Impossible < r.Mutants/4 || r.Impossible == r.Mutants {
			t.Errorf("%s: the mutants prove little: %s", table.Name, r)
		}
	}
}

// TestCheckMonitorFindsAWrongMonitor gives the monitor of one table the traces of
// another table: it refuses a possible one, or accepts an impossible one.
func TestCheckMonitorFindsAWrongMonitor(t *testing.T) {
	strict, lax := tabletest.Ping(), tabletest.Ping()
	lax.Rows = append(lax.Rows, machine.For(machine.Responder, "answering").When(machine.Commanded("hum")).Stay(machine.Send(p.ActInformRef)))
	for _, c := range []struct {
		oracle, monitor machine.Table
		possible        bool
		want            string
	}{
		{strict, lax, false, "the monitor accepts a trace that no conversation can produce\n   1  initiator: QUERY_REF\n   2  responder: INFORM_REF\n   3  responder: INFORM_REF"},
		{lax, strict, true, "the monitor refuses a trace that a conversation can produce"},
	} {
		k := newMonitorCheck(c.oracle.MustCompile(), MonitorCheck{})
		k.monitored = c.monitor.MustCompile()
		err := k.enumerate()
		var wrong *MonitorError
		if !errors.As(err, &wrong) || wrong.Possible != c.possible || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// TestCheckMonitorOfAnUnsoundTable expects the violation that the oracle finds.
func TestCheckMonitorOfAnUnsoundTable(t *testing.T) {
	table := tabletest.Ping()
	table.Rows = append(table.Rows[:7:7], table.Rows[8:]...)
	if _, err := CheckMonitor(table.MustCompile(), MonitorCheck{}, rand.New(rand.NewPCG(1, 2)).IntN); problemOf(err) != Unhandled {
		t.Errorf("got %v", err)
	}
}

// monitored returns the number of messages before the first violation.
func monitored(m *machine.Machine, trace []machine.Utterance) (int, error) {
	o := machine.NewMonitor(m)
	for i, u := range trace {
		if err := o.Observe(u); err != nil {
			return i, err
		}
	}
	return len(trace), nil
}

// TestMonitorAcceptsEveryExploredTrace observes the shortest path to every joint state,
// and each move from there.
func TestMonitorAcceptsEveryExploredTrace(t *testing.T) {
	racetest.Skip(t)
	for _, table := range []machine.Table{tabletest.Ping(), tabletest.Echo(), tabletest.Auction(), tabletest.Haggle(), tabletest.ContractNet(), tabletest.Fetch()} {
		m := table.MustCompile()
		x := newExplorer(m, Network{}.withDefaults())
		if err := x.walk(); err != nil {
			t.Fatal(err)
		}
		for i := range x.nodes {
			trace := traceOf(x.path(int32(i)))
			for _, via := range x.moves(x.nodes[i].at) {
				if via.Utterance == (machine.Utterance{}) {
					continue
				}
				if _, err := monitored(m, append(slices.Clip(trace), via.Utterance)); err != nil {
					t.Fatalf("%v\n%v\n%v", trace, via, err)
				}
			}
		}
	}
}
