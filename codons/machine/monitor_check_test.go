package machine

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	p "github.com/ribosome-agents/ribosome/performatives"
)

func TestCheckMonitor(t *testing.T) {
	for _, table := range []Table{ping(), echo(), auction(), haggle(), contractNet()} {
		r, err := CheckMonitor(table.MustCompile(), MonitorCheck{Traces: 200, Walks: 200, Mutate: 25}, rand.New(rand.NewPCG(5, 6)).IntN)
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
// another: it refuses what that can say, and accepts what that cannot.
func TestCheckMonitorFindsAWrongMonitor(t *testing.T) {
	strict, lax := ping(), ping()
	lax.Rows = append(lax.Rows, For(Responder, "answering").When(Command("hum")).Stay(Send(p.ActInformRef)))
	for _, c := range []struct {
		oracle, monitor Table
		possible        bool
		want            string
	}{
		{strict, lax, false, "the monitor accepts what no conversation can produce\n   1  initiator: QUERY_REF\n   2  responder: INFORM_REF\n   3  responder: INFORM_REF"},
		{lax, strict, true, "the monitor refuses what a conversation can produce"},
	} {
		k := &monitorCheck{MonitorCheck: MonitorCheck{}.withDefaults(), machine: c.oracle.MustCompile()}
		k.alphabet = k.machine.alphabet()
		k.monitor = c.monitor.MustCompile()
		err := k.enumerate()
		var wrong *MonitorError
		if !errors.As(err, &wrong) || wrong.Possible != c.possible || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// TestCheckMonitorOfAnUnsoundTable passes on what the oracle runs into.
func TestCheckMonitorOfAnUnsoundTable(t *testing.T) {
	table := ping()
	table.Rows = append(table.Rows[:7:7], table.Rows[8:]...)
	if _, err := CheckMonitor(table.MustCompile(), MonitorCheck{}, rand.New(rand.NewPCG(1, 2)).IntN); problemOf(err) != Unhandled {
		t.Errorf("got %v", err)
	}
}
