package codons_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// ownReview returns a copy of the definition of review, before the standard rows.
func ownReview() codons.Definition {
	d := review.Definition
	d.Table.Rows = slices.Clone(review.Table.Rows[:7])
	for i, r := range d.Table.Rows { // without the timers that the standard rows need
		d.Table.Rows[i].Do = slices.DeleteFunc(slices.Clone(r.Do), func(f machine.Effect) bool { return f.Kind == machine.EffectArm || f.Kind == machine.EffectDisarm })
	}
	d.Table.Live, d.Table.Timers, d.Table.Agree = nil, nil, nil
	d.Table.Terminal = []machine.State{"approved"}
	d.Table.Jobs = []machine.Job{
		{Role: machine.Responder, Name: "review", Ends: []string{"approve", "comment"}},
		{Role: machine.Initiator, Name: "revise", Ends: []string{"resubmit"}},
	}
	d.Messages = maps.Clone(d.Messages)
	return d
}

// TestDefineMistakes checks that each error names the field and the fault.
func TestDefineMistakes(t *testing.T) {
	if _, err := codons.Define(ownReview()); err != nil {
		t.Fatal(err)
	}
	const waiting = machine.State("waiting")
	for want, change := range map[string]func(*codons.Definition){
		`Definition.Table.Name: want ASCII letters`: func(d *codons.Definition) { d.Table.Name = "code review" },
		`Definition.Table.Terminal is empty`:        func(d *codons.Definition) { d.Table.Terminal = nil },
		`Definition.Standard: 128 is no group`:      func(d *codons.Definition) { d.Standard = 1 << 7 },
		`Definition.Table.Rows: no row opens the conversation: write one such as`: func(d *codons.Definition) {
			d.Table.Rows = d.Table.Rows[1:]
		},
		`Rows[0] (initiator in idle on command start): it opens the conversation and sends nothing`: func(d *codons.Definition) {
			d.Table.Rows[0] = machine.Asks(machine.Idle).When(machine.Commanded(machine.CommandStart)).Goto(waiting)
		},
		`no row of the responder receives the opening REQUEST`: func(d *codons.Definition) {
			d.Table.Rows = slices.Delete(d.Table.Rows, 4, 5)
		},
		`Jobs[0] (review of the responder): Ends is empty`: func(d *codons.Definition) { d.Table.Jobs[0].Ends = nil },
		`Jobs[0] (review of the responder): no row of that role takes the command "aprove"`: func(d *codons.Definition) {
			d.Table.Jobs[0].Ends = []string{"aprove"}
		},
		`it runs "revise", which Definition.Table.Jobs has not for the initiator`: func(d *codons.Definition) {
			d.Table.Jobs = d.Table.Jobs[:1]
		},
		`the responder's job review is declared twice`: func(d *codons.Definition) {
			d.Table.Jobs = append(d.Table.Jobs, d.Table.Jobs[0])
		},
		`Definition.Messages["SEEN"]: no row sends it: add a row with machine.Send of AGREE`: func(d *codons.Definition) {
			d.Messages["SEEN"] = codons.Says[change](p.ActAgree)
		},
		`Definition.Messages["SEEN"]: no row sends it: REQUEST has the message types ["REVIEW_REQUEST" "SEEN"]`: func(d *codons.Definition) {
			d.Messages["SEEN"] = codons.Says[change](p.ActRequest)
		},
		`Definition.Messages["REVIEW_REQUEST"]: the payload type interface {} is no JSON object`: func(d *codons.Definition) {
			d.Messages["REVIEW_REQUEST"] = codons.Says[any](p.ActRequest)
		},
		`Rows[5] (responder in reviewing on command approve): it sends INFORM as "FINE", which is no message type`: func(d *codons.Definition) {
			d.Table.Rows[1] = machine.Asks(waiting).When(machine.ReceiveTagged(p.ActInform, "FINE")).Goto("approved")
			d.Table.Rows[5] = machine.Answers("reviewing").When(machine.Commanded("approve")).Goto("approved", machine.SendTagged(p.ActInform, "FINE"))
		},
		`Definition.Commands["approve"] is int: want codons_test.comments, the payload of APPROVED`: func(d *codons.Definition) {
			d.Commands = map[string]any{"approve": 3}
		},
		`Definition.Outcomes: "aproved" is no terminal state`: func(d *codons.Definition) {
			d.Outcomes = map[machine.State]string{"aproved": "x"}
		},
		`Definition.Table.Name is empty`: func(d *codons.Definition) { d.Table.Name = "" },
		`code-review has neither rows nor other codons`: func(d *codons.Definition) {
			d.Table.Name, d.Table.Rows, d.Uses = "code-review", nil, nil
		},
		`Definition.Standard names groups of rows to add: remove one of them`: func(d *codons.Definition) { d.Complete, d.Standard = true, standard.Deadline },
		`Definition.Table.Live is empty: remove Complete`:                     func(d *codons.Definition) { d.Complete = true },
		`the message type BARE has no act or payload`:                         func(d *codons.Definition) { d.Messages["BARE"] = codons.MessageType{Act: p.ActInform} },
		`the message type NONE has no act or payload`: func(d *codons.Definition) {
			none := codons.Says[change](p.ActInform)
			none.Act = 0
			d.Messages["NONE"] = none
		},
		`"no name"`: func(d *codons.Definition) { d.Messages["no name"] = codons.Says[change](p.ActInform) },
		`Definition.Payloads[0]: no row sends AGREE`: func(d *codons.Definition) { d.Payloads = []codons.Payload{{Act: p.ActAgree}} },
	} {
		d := ownReview()
		change(&d)
		if _, err := codons.Define(d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestAnswerMistakes checks the panics of Answer.
func TestAnswerMistakes(t *testing.T) {
	type reads = func(reviewing, context.Context, codons.Turn[comments]) (codons.Command, error)
	right := codons.Method("review", reviewing.Review)
	for want, jobs := range map[string][]codons.AnswerJob{
		`at least one job`: nil,
		`the responder has no job "revew": want one of ["review"]`: {codons.Method("revew", reviewing.Review)},
		`two jobs are called "review"`:                             {right, right},
		`the function of the job "review" is nil`:                  {codons.Method[reviewing, change]("review", nil)},
		`the job "review" reads a Turn[codons_test.comments], but REVIEW_REQUEST with codons_test.change starts it`: {
			codons.Method("review", reads(func(reviewing, context.Context, codons.Turn[comments]) (codons.Command, error) {
				return codons.Command{}, nil
			})),
		},
	} {
		func() {
			defer func() {
				if err, _ := recover().(error); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %s", err, want)
				}
			}()
			review.Answer(jobs...)
		}()
	}
}

// TestSayUnknownCommand checks that a job which says a command that is none of its Says gets
// an error, and goes on.
func TestSayUnknownCommand(t *testing.T) {
	said := make(chan error, 1)
	reviewed := func(ctx context.Context, turn codons.Turn[change]) (codons.Command, error) {
		said <- turn.Say("hum", nil)
		return wantsTests(ctx, turn)
	}
	inReviews(t, reviewed, func(t *testing.T, _ *actors.System, asker actors.Self) {
		if _, err := review.Ask(t.Context(), asker, "Rev", change{Diff: "a_test.go"}, codons.On("revise", addTests)); err != nil {
			t.Error(err)
		}
	})
	if err := <-said; err == nil || !strings.Contains(err.Error(), `the job "review" cannot say "hum"`) {
		t.Errorf("got %v", err)
	}
}
