// readme:start

// Codereview defines a codon of its own: an author sends a change to a reviewer, and revises
// it until the reviewer approves it.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// Change is the payload of REVIEW_REQUEST.
type Change struct{ Diff string }

// Comments is the payload of both answers of the reviewer.
type Comments struct{ Text string }

// Review is the codon. Its table has only the rows of a review. The standard rows add
// cancelling, retries, deadlines, refusals and failures.
var Review = codons.MustDefine(codons.Definition{
	Table: machine.Table{
		Name: "code-review", Title: "Code review", Purpose: "A reviewer reads a change of an author until it is approved.", Source: "this example",
		Terminal: []machine.State{"approved"},
		Jobs: []machine.Job{
			{Role: machine.Responder, Name: "review", Ends: []string{"approve", "comment"}, Doc: "the reviewer reads the change"},
			{Role: machine.Initiator, Name: "revise", Ends: []string{"resubmit"}, Doc: "the author revises the change"},
		},
		Rows: []machine.Row{
			machine.Asks(machine.Idle).When(machine.Commanded(machine.CommandStart)).
				Goto("waiting", machine.Send(performatives.ActRequest)).Because("a change wants a review"),
			machine.Asks("waiting").When(machine.ReceiveTagged(performatives.ActInform, "APPROVED")).
				Goto("approved").Because("the reviewer has no objections"),
			machine.Asks("waiting").When(machine.ReceiveTagged(performatives.ActInform, "CHANGES_REQUESTED")).
				Goto("revising", machine.Run("revise")).Because("the reviewer has comments"),
			machine.Asks("revising").When(machine.Commanded("resubmit")).
				Goto("waiting", machine.Send(performatives.ActRequest)).Because("the comments are dealt with"),

			machine.Answers(machine.Idle, "commented").When(machine.Receive(performatives.ActRequest)).
				Goto("reviewing", machine.Run("review")).Because("a change, or a revised one"),
			machine.Answers("reviewing").When(machine.Commanded("approve")).
				Goto("approved", machine.SendTagged(performatives.ActInform, "APPROVED")).Because("no objections"),
			machine.Answers("reviewing").When(machine.Commanded("comment")).
				Goto("commented", machine.SendTagged(performatives.ActInform, "CHANGES_REQUESTED")).Because("the author has to revise it"),
		},
	},
	Messages: codons.Messages{
		"REVIEW_REQUEST":    codons.Says[Change](performatives.ActRequest),
		"CHANGES_REQUESTED": codons.Says[Comments](performatives.ActInform),
		"APPROVED":          codons.Says[Comments](performatives.ActInform),
	},
})

// Reviewer is the role: what an agent implements to answer the codon.
type Reviewer interface {
	actors.Agent
	Review(ctx context.Context, t codons.Turn[Change]) (codons.Command, error)
}

// Rev is a reviewer that wants tests.
type Rev struct{}

// Describe returns the capabilities for discovery.
func (Rev) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"Code Review"}}
}

// Review approves a change with tests.
func (Rev) Review(_ context.Context, t codons.Turn[Change]) (codons.Command, error) {
	if !strings.Contains(t.Content.Diff, "_test.go") {
		return codons.Command{Name: "comment", Data: Comments{"where are the tests?"}}, nil
	}
	return codons.Command{Name: "approve", Data: Comments{"looks good"}}, nil
}

func main() {
	if err := review(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "codereview:", err)
		os.Exit(1)
	}
}

func review(ctx context.Context) error {
	node, err := runtime.New(runtime.Options{Codons: []*codons.Service{Review.Answer(codons.Method("review", Reviewer.Review))}})
	if err != nil {
		return err
	}
	defer func() { _ = node.Stop(ctx) }()
	if err := node.Spawn(ctx, "Rev", func() actors.Agent { return Rev{} }); err != nil {
		return err
	}
	end, err := Review.Ask(ctx, node, "Rev", Change{Diff: "mailbox.go"},
		codons.On("revise", func(_ context.Context, t codons.Turn[Comments]) (codons.Command, error) {
			fmt.Println("Rev asks:", t.Content.Text)
			return codons.Command{Name: "resubmit", Data: Change{Diff: "mailbox.go mailbox_test.go"}}, nil
		}))
	if err != nil {
		return err
	}
	comments, err := performatives.PayloadAs[Comments](end.Message)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %s\n", end.State, comments.Text)
	return nil
}

// readme:end
