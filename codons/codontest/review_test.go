package codontest

import (
	"testing"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/internal/leakcheck"
	"github.com/ribosome-agents/ribosome/performatives"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// change and comments are the contents of the reviews of these tests.
type (
	change   struct{ Diff string }
	comments struct {
		Text   string
		Labels map[string]string `json:",omitempty"`
	}
)

// reviewOf returns a codon whose definition a test has changed.
func reviewOf(alter func(*codons.Definition)) *codons.Codon {
	d := codons.Definition{
		Table: machine.Table{
			Name: "code-review", Title: "Code review", Purpose: "A change is reviewed until it is approved.", Source: "the tests",
			Terminal: []machine.State{"approved"},
			Jobs: []machine.Job{
				{Role: machine.Responder, Name: "review", Ends: []string{"approve", "comment"}, Doc: "the change is read"},
				{Role: machine.Initiator, Name: "revise", Ends: []string{"resubmit"}, Doc: "the change is revised"},
			},
			Rows: []machine.Row{
				machine.Asks(machine.Idle).When(machine.Commanded(machine.CommandStart)).Goto("waiting", machine.Send(performatives.ActRequest)).Because("a change"),
				machine.Asks("waiting").When(machine.ReceiveTagged(performatives.ActInform, "APPROVED")).Goto("approved").Because("no objections"),
				machine.Asks("waiting").When(machine.ReceiveTagged(performatives.ActInform, "CHANGES_REQUESTED")).Goto("revising", machine.Run("revise")).Because("comments"),
				machine.Asks("revising").When(machine.Commanded("resubmit")).Goto("waiting", machine.Send(performatives.ActRequest)).Because("it is revised"),
				machine.Answers(machine.Idle, "commented").When(machine.Receive(performatives.ActRequest)).Goto("reviewing", machine.Run("review")).Because("a change"),
				machine.Answers("reviewing").When(machine.Commanded("approve")).Goto("approved", machine.SendTagged(performatives.ActInform, "APPROVED")).Because("no objections"),
				machine.Answers("reviewing").When(machine.Commanded("comment")).Goto("commented", machine.SendTagged(performatives.ActInform, "CHANGES_REQUESTED")).Because("objections"),
			},
		},
		Messages: codons.Messages{
			"REVIEW_REQUEST":    codons.Says[change](performatives.ActRequest),
			"CHANGES_REQUESTED": codons.Says[comments](performatives.ActInform),
			"APPROVED":          codons.Says[comments](performatives.ActInform),
		},
	}
	if alter != nil {
		alter(&d)
	}
	return codons.MustDefine(d)
}
