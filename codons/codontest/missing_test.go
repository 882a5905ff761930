package codontest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/performatives"
)

// TestExplorePrintsWhatIsMissing has a review whose reviewer may close it at any time. The author
// lacks a row for that, and calls the end otherwise: one exploration prints all rows and pairs that
// the table needs.
func TestExplorePrintsWhatIsMissing(t *testing.T) {
	racetest.Skip(t)
	inform := performatives.ActInform
	closing := func(rows []machine.Row, pairs ...machine.Pair) *codons.Codon {
		return reviewOf(func(d *codons.Definition) {
			d.Table.Terminal = append(d.Table.Terminal, "closed", "gone")
			d.Table.Timers = []machine.Timer{{Role: machine.Responder, Name: "office", Doc: "the hours of the office", After: 1}}
			d.Table.Rows[4].Do = append(d.Table.Rows[4].Do, machine.Disarm("office"))
			d.Table.Rows[6].Do = append(d.Table.Rows[6].Do, machine.Arm("office"))
			d.Table.Rows = append(d.Table.Rows,
				machine.Answers("commented").When(machine.Timeout("office")).Goto("closed", machine.SendTagged(inform, "CLOSED")).Because("it is late"),
				machine.Asks("waiting").When(machine.ReceiveTagged(inform, "CLOSED")).Goto("gone").Because("it is late"))
			d.Table.Rows = append(d.Table.Rows, rows...)
			d.Table.Agree = pairs
			d.Messages["CLOSED"] = codons.Says[comments](inform)
		})
	}
	all := strings.Join(explore(t.Logf, closing(nil), newOptions(nil)), "\n")
	const row = `machine.Asks("revising").When(machine.ReceiveTagged(performatives.ActInform, "CLOSED")).Stay(machine.Drop("late")).Because("…"),`
	if !strings.Contains(all, row) || !strings.Contains(all, "only a wildcard of the initiator in revising takes receive INFORM") {
		t.Errorf("got %s, want %s", all, row)
	}
	const pair = `{Initiator: "gone", Responder: "closed", After: []machine.Cause{machine.At(machine.Responder, machine.Timeout("office"))}},`
	if !strings.Contains(all, pair) {
		t.Errorf("got %s, want %s", all, pair)
	}
	revising := machine.Asks("revising").When(machine.ReceiveTagged(inform, "CLOSED")).Goto("gone", machine.Stop("revise")).Because("it is late")
	agree := machine.Pair{Initiator: "gone", Responder: "closed", After: []machine.Cause{machine.At(machine.Responder, machine.Timeout("office"))}}
	if n := strings.Count(all, "verify: code-review: "); n != 2 {
		t.Errorf("got %d counterexamples, want one for the row and one for the pair: %s", n, all)
	}
	other := agree
	other.After = []machine.Cause{machine.At(machine.Initiator, machine.Timeout(machine.TimerDeadline))}
	all = strings.Join(explore(t.Logf, closing([]machine.Row{revising}, other), newOptions(nil)), "\n")
	if want := strings.TrimSuffix(pair, "},") + ", Also: true},"; !strings.Contains(all, want) {
		t.Errorf("got %s, want %s", all, want)
	}
	agree.Also = true
	if faults := explore(t.Logf, closing([]machine.Row{revising}, agree), newOptions(nil)); len(faults) > 0 {
		t.Errorf("with what was printed: %s", strings.Join(faults, "\n"))
	}
}

// TestGoOfActs compares the names of the acts with the constants.
func TestGoOfActs(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../performatives/performative.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	constants := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok {
			constants[v.Names[0].Name] = true
		}
		return true
	})
	for act := range performatives.Performatives() {
		if name := strings.TrimPrefix(actGo(act), "performatives."); !constants[name] {
			t.Errorf("%s: there is no constant %s", act, name)
		}
	}
}

// TestGoOfSymbols writes symbols as the functions of package machine make them.
func TestGoOfSymbols(t *testing.T) {
	for want, on := range map[string]machine.Symbol{
		`machine.Receive(performatives.ActCFP)`:                  machine.Receive(performatives.ActCFP),
		`machine.ReceiveTagged(performatives.ActInformRef, "A")`: machine.ReceiveTagged(performatives.ActInformRef, "A"),
		`machine.Duplicate(performatives.ActRequest)`:            machine.Duplicate(performatives.ActRequest),
		`machine.Stale(performatives.ActRequest)`:                machine.Stale(performatives.ActRequest),
		`machine.Undelivered(performatives.ActRequest)`:          machine.Undelivered(performatives.ActRequest),
		`machine.Timeout("deadline")`:                            machine.Timeout("deadline"),
		`machine.Commanded("stop")`:                              machine.Commanded("stop"),
		`machine.PeerLost()`:                                     machine.PeerLost(),
	} {
		if got := symbolGo(on); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
