package codondoc_test

import (
	"fmt"
	"strings"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/codondoc"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// change is what a reviewer looks at.
type change struct {
	Title string `json:"title"`
}

func ExampleMarkdown() {
	review := codons.MustDefine(codons.Definition{
		Table: machine.Table{
			Name: "review", Title: "Review", Purpose: "One agent shows another a change.", Source: "our team",
			Terminal: []machine.State{"shown", "seen"},
			Rows: []machine.Row{
				machine.For(machine.Initiator, machine.Idle).When(machine.Commanded("start")).
					Goto("shown", machine.Send(performatives.ActInform)).Because("the change is ready"),
				machine.For(machine.Responder, machine.Idle).When(machine.Receive(performatives.ActInform)).
					Goto("seen").Because("no answer is expected"),
			},
			Agree: []machine.Pair{{Initiator: "shown", Responder: "seen"}, {Initiator: "shown", Responder: machine.Idle, After: []machine.Cause{machine.Lost()}}},
		},
		Complete: true,
		Payloads: []codons.Payload{{Act: performatives.ActInform, Type: change{}, Doc: "the change"}},
	})
	page, err := codondoc.Markdown(review)
	if err != nil {
		panic(err)
	}
	title, _, _ := strings.Cut(page, "\n")
	fmt.Println(title)
	// Output: # Review
}
