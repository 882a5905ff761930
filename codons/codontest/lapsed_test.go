package codontest

import (
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/performatives"
)

// lapsing is a sale of three requests of one act, in which the offer of the seller lapses: the next
// request may cross that end.
func lapsing() *codons.Codon {
	request, inform := performatives.ActRequest, performatives.ActInform
	got, send := machine.ReceiveTagged, machine.SendTagged
	return codons.MustDefine(codons.Definition{
		Messages: codons.Messages{
			"OFFER_REQUEST": codons.Says[change](request), "ORDER": codons.Says[change](request), "PAYMENT": codons.Says[change](request), "WITHDRAWAL": codons.Says[change](request), "WITHDRAWN": codons.Says[change](inform),
			"OFFER": codons.Says[change](inform), "BILL": codons.Says[change](inform), "PAID": codons.Says[change](inform), "LAPSED": codons.Says[change](inform),
		},
		Table: machine.Table{
			Name: "sale", Title: "Sale", Purpose: "A buyer orders before the offer lapses.", Source: "the tests",
			Terminal: []machine.State{"paid", "lapsed", "withdrawn"},
			Timers:   []machine.Timer{{Role: machine.Responder, Name: "validity", Doc: "of the offer", After: time.Minute}},
			Jobs: []machine.Job{
				{Role: machine.Initiator, Name: "decide", Ends: []string{"order"}, Doc: "about the offer"},
				{Role: machine.Responder, Name: "price", Ends: []string{"offer"}, Doc: "finds a price"},
			},
			Rows: []machine.Row{
				machine.Asks(machine.Idle).When(machine.Commanded(machine.CommandStart)).Goto("inquiring", send(request, "OFFER_REQUEST")).Because("a buyer"),
				machine.Asks("inquiring").When(got(inform, "OFFER")).Goto("deciding", machine.Run("decide")).Because("a price"),
				machine.Asks("deciding").When(machine.Commanded("order")).Goto("ordered", send(request, "ORDER")).Because("it is good"),
				machine.Asks("deciding").When(machine.Commanded("withdraw")).Goto("leaving", machine.Stop("decide"), send(request, "WITHDRAWAL")).Because("nothing is wanted"),
				machine.Asks("ordered").When(machine.Commanded("withdraw")).Goto("leaving", send(request, "WITHDRAWAL")).Because("nothing is wanted"),
				machine.Asks("leaving").When(got(inform, "WITHDRAWN")).Goto("withdrawn").Because("it is in time"),
				machine.Asks("leaving").When(got(inform, "BILL")).Stay(machine.Drop(machine.DropLate)).Because("nothing is wanted"),
				machine.Answers("offered", "ordered").When(got(request, "WITHDRAWAL")).Goto("withdrawn", machine.Disarm("validity"), send(inform, "WITHDRAWN")).Because("it is in time"),
				machine.Answers("withdrawn", "lapsed").When(got(request, "ORDER")).Stay(machine.Resend(inform)).Because("overtaken"),
				machine.Asks("inquiring", "ordered", "paying", "leaving").When(got(inform, "LAPSED")).Goto("lapsed").Because("too late"),
				machine.Asks("deciding").When(got(inform, "LAPSED")).Goto("lapsed", machine.Stop("decide")).Because("too late"),
				machine.Asks("ordered").When(got(inform, "BILL")).Goto("paying", send(request, "PAYMENT")).Because("it is taken"),
				machine.Asks("paying").When(got(inform, "PAID")).Goto("paid").Because("it is done"),
				machine.Answers(machine.Idle).When(got(request, "OFFER_REQUEST")).Goto("pricing", machine.Run("price")).Because("a buyer"),
				machine.Answers("pricing").When(machine.Commanded("offer")).Goto("offered", machine.Arm("validity"), send(inform, "OFFER")).Because("a price"),
				machine.Answers("offered", "ordered").When(machine.Timeout("validity")).Goto("lapsed", send(inform, "LAPSED")).Because("too late"),
				machine.Answers("offered").When(got(request, "ORDER")).Goto("ordered", send(inform, "BILL")).Because("it is taken"),
				machine.Answers("ordered").When(got(request, "PAYMENT")).Goto("paid", send(inform, "PAID")).Because("it is done"),
			},
		},
	})
}

// TestLateTaggedRequest has a tagged request come after the end, of which a row of the terminal
// state says what becomes.
func TestLateTaggedRequest(t *testing.T) {
	racetest.Skip(t)
	c := lapsing()
	if faults := explore(t.Logf, c, newOptions(nil)); len(faults) > 0 {
		t.Error(strings.Join(faults, "\n"))
	}
	if faults := conform(t, c, newOptions([]Option{Seeds(300)})); len(faults) > 0 {
		t.Error(strings.Join(faults, "\n"))
	}
}
