package codontest

import (
	"slices"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/verify"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/performatives"
)

// parcel returns a codon whose sender may withdraw a parcel while it is packed. The packing is
// stopped, and its last command answers. ends are the rows for it.
func parcel(ends ...machine.Row) *codons.Codon {
	request, inform := performatives.ActRequest, performatives.ActInform
	says := codons.Says[struct{}](request)
	rows := []machine.Row{
		machine.Asks(machine.Idle).When(machine.Commanded(machine.CommandStart)).Goto("waiting", machine.SendTagged(request, "PACK")).Because("a parcel"),
		machine.Asks("waiting").When(machine.Commanded("withdraw")).Goto("withdrawing", machine.SendTagged(request, "WITHDRAW")).Because("no parcel"),
		machine.Asks("waiting", "withdrawing").When(machine.ReceiveTagged(inform, "PACKED")).Goto("packed").Because("it is packed"),
		machine.Asks("withdrawing").When(machine.ReceiveTagged(inform, "UNPACKED")).Goto("unpacked").Because("it is not packed"),
		machine.Answers(machine.Idle).When(machine.ReceiveTagged(request, "PACK")).Goto("packing", machine.Run("pack")).Because("a parcel"),
		machine.Answers(machine.Idle).When(machine.ReceiveTagged(request, "WITHDRAW")).Goto("unpacked", machine.SendTagged(inform, "UNPACKED")).Because("it has overtaken PACK"),
		machine.Answers("packing").When(machine.Commanded("done")).Goto("packed", machine.SendTagged(inform, "PACKED")).Because("it is packed"),
		machine.Answers("packing").When(machine.ReceiveTagged(request, "WITHDRAW")).Goto("stopping", machine.Stop("pack")).Because("the packing has to stop first"),
	}
	return codons.MustDefine(codons.Definition{
		Table: machine.Table{
			Name: "parcel", Title: "Parcel", Purpose: "Somebody packs a parcel.", Source: "the tests", Terminal: []machine.State{"packed", "unpacked"},
			Agree: []machine.Pair{
				{Initiator: standard.StateFailed, Responder: "packed", After: []machine.Cause{machine.At(machine.Initiator, machine.Undelivered(request))}, Also: true},
			},
			Declarations: machine.Declarations{Ends: []machine.Ending{
				{Role: machine.Responder, On: machine.Commanded(standard.CommandFail), To: "unpacked", In: []machine.State{"stopping"}},
			}},
			Jobs: []machine.Job{{Role: machine.Responder, Name: "pack", Ends: []string{"done", standard.CommandFail}, Doc: "packs the parcel"}}, Rows: append(rows, ends...),
		},
		Messages: codons.Messages{"PACK": says, "WITHDRAW": says, "PACKED": codons.Says[struct{}](inform), "UNPACKED": codons.Says[struct{}](inform)},
	})
}

// TestAStoppedJobAnswers has the last command of a job that a request has stopped answer the
// request. Explore prints the rows for it that are missing. A row that drops the command leaves the
// request without an answer.
func TestAStoppedJobAnswers(t *testing.T) {
	racetest.Skip(t)
	ends := func(commands ...machine.Symbol) machine.Row {
		return machine.Answers("stopping").When(commands...).Goto("unpacked", machine.SendTagged(performatives.ActInform, "UNPACKED")).Because("it has stopped")
	}
	done, fail := machine.Commanded("done"), machine.Commanded(standard.CommandFail)
	drop := machine.Answers("stopping").When(done).Stay(machine.Drop("late")).Because("a fault")
	missing := func(command string) string {
		return `machine.Answers("stopping").When(machine.Commanded("` + command + `")).Stay(machine.Drop("late")).Because("…"),`
	}
	for name, c := range map[string]struct {
		rows []machine.Row
		want []string
	}{
		"both ends": {[]machine.Row{ends(done, fail)}, nil},
		"no fail":   {[]machine.Row{ends(done)}, []string{missing("fail")}},
		"none":      {nil, []string{missing("done"), missing("fail")}},
	} {
		got := explore(t.Logf, parcel(c.rows...), newOptions(nil))
		all := strings.Join(got, "\n")
		if len(c.want) == 0 && all != "" || slices.ContainsFunc(c.want, func(w string) bool { return !strings.Contains(all, w) }) {
			t.Errorf("%s: got %s, want %s", name, all, c.want)
		}
	}
	err := verify.CheckRules(parcel(ends(fail), drop).Machine())
	if err == nil || !strings.Contains(err.Error(), "in packing on receive REQUEST (WITHDRAW) neither starts a job nor answers the request: send an answer, run a job, or stop one") {
		t.Errorf("a command that is dropped is no answer: got %v", err)
	}
}
