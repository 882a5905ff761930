package delegation_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// TestMisreadAnswer has a scripted worker answer with an act that a delegation does not have, at
// each point of it. The asker says so and ends at once.
func TestMisreadAnswer(t *testing.T) {
	for name, before := range map[string][]any{
		"at once":              nil,
		"after the acceptance": {p.TaskAccept{}},
		"after progress":       {p.TaskAccept{}, p.StatusUpdate{}},
	} {
		for _, answer := range []any{p.InformRef{Value: p.ContentOf("branch")}, p.QueryIf{Condition: p.ContentOf("done")}} {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				jules := w.Peer("Jules")
				start := time.Now()
				d := w.Start(t.Context())
				request := jules.Expect(p.ActTaskRequest)
				for _, payload := range before {
					jules.Reply(request, payload)
				}
				wrong := jules.Reply(request, answer)
				said := jules.Expect(p.ActNotUnderstood)
				if why, _ := p.PayloadAs[p.NotUnderstood](said); !said.Answers(wrong) || why.ReasonCode != p.CodeUnexpectedAct {
					t.Errorf("%s: the asker said %+v in reply to %q", name, why, said.InReplyTo())
				}
				_, err := d.Wait()
				kit.WantEnd(t, err, "misread", p.CodeUnexpectedAct)
				var end *codons.EndError
				if !errors.As(err, &end) || end.Refusal.From != w.Eddy.ID() || end.Refusal.About != wrong.ID() {
					t.Errorf("%s: got %+v, want the message that was not understood", name, end)
				}
				kit.WantElapsed(t, start, 0)
				jules.SendAgain(wrong) // a duplicate after the end
				jules.Silent()
			})
		}
	}
}

// TestMisreadIsNotAnswered has a scripted worker send NOT_UNDERSTOOD, a duplicate, a refusal of
// another codon, and a message that refers to nothing. The asker answers none of them by
// NOT_UNDERSTOOD.
func TestMisreadIsNotAnswered(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		jules := w.Peer("Jules")
		d := w.Start(t.Context(), codons.WithRetry(codons.Retry{First: codons.Never}))
		request := jules.Expect(p.ActTaskRequest)
		jules.SendAgain(jules.Reply(request, p.TaskAccept{}))
		jules.Send(p.Envelope{
			Performative: p.ActInformRef, Receiver: w.Eddy.ID(), ConversationID: request.ConversationID(),
			Protocol: request.Protocol(), Payload: p.InformRef{Value: p.ContentOf("branch")},
		})
		jules.Reply(request, p.Refuse{ReasonCode: p.CodeBusy}) // an act that a delegation does not have
		jules.Silent()
		jules.Reply(request, p.NotUnderstood{ReasonCode: p.CodeInvalidPayload})
		_, err := d.Wait()
		kit.WantEnd(t, err, "not_understood", p.CodeInvalidPayload)
		jules.Silent()
	})
}

// TestAskerDoesNotUnderstand has a scripted asker not understand a message of the worker. The
// handler is cancelled, and the worker's side ends.
func TestAskerDoesNotUnderstand(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		cause := make(chan error, 1)
		w.Add("Jules", &kit.Worker{Perform: func(ctx context.Context, _ delegation.Task) (p.InformResult, error) {
			<-ctx.Done()
			cause <- context.Cause(ctx)
			return p.InformResult{}, ctx.Err()
		}})
		start := time.Now()
		anna := w.Peer("Anna")
		id := anna.Stamp().ID
		anna.Send(p.Envelope{
			ID: id, Performative: p.ActTaskRequest, Receiver: "Jules", ConversationID: p.ConversationID(id),
			Protocol: delegation.Codon.Name(), ReplyWith: string(id), ReplyBy: start.Add(time.Hour), Payload: kit.Task(),
		})
		accepted := anna.Expect(p.ActTaskAccept)
		anna.Reply(accepted, p.NotUnderstood{ReasonCode: p.CodeUnexpectedAct})
		if err := <-cause; !errors.Is(err, codons.ErrMisread) {
			t.Errorf("the handler ended with %v", err)
		}
		failed := anna.Expect(p.ActFailure)
		if r := failed.AsRefusal(); r.Code != p.CodeStillRunning {
			t.Errorf("the worker said %v", r)
		}
		kit.WantElapsed(t, start, 0)
		synctest.Wait()
		w.Settled(0)
		if n := w.Counts().Working; n != 0 {
			t.Errorf("%d handlers run", n)
		}
	})
}

// TestMisreadAfterPartialResult has a scripted worker send what the asker cannot read after a
// partial result, which is the outcome then.
func TestMisreadAfterPartialResult(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		jules := w.Peer("Jules")
		dead := kit.Recording(&w.Events, events.KindMessageDeadLettered)
		d := w.Start(t.Context())
		request := jules.Expect(p.ActTaskRequest)
		jules.Reply(request, kit.Asking("branch"))
		jules.Expect(p.ActCancel) // the asker has no input
		jules.Reply(request, p.InformRef{Value: p.ContentOf("branch")})
		jules.Expect(p.ActNotUnderstood)
		if got, err := d.Wait(); err != nil || got.RequestForUser() != "branch" {
			t.Errorf("got %+v, %v", got, err)
		}
		w.Settled(0)
		if n := len(dead.C); n != 0 {
			t.Errorf("%d dead letters", n)
		}
	})
}

// TestReportAfterTheResult has a goroutine that the handler has left behind report progress. It
// learns that the work is over.
func TestReportAfterTheResult(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var left delegation.Task
		w.Add("Jules", &kit.Worker{Perform: func(_ context.Context, task delegation.Task) (p.InformResult, error) {
			left = task
			return kit.Result(p.StatusSuccess), nil
		}})
		if _, err := w.Delegate(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.Settled(0)
		for range 32 {
			if err := left.Report(p.StatusUpdate{Description: "still here"}); err == nil {
				t.Fatal("the report is taken")
			}
		}
	})
}

// TestMisreadUsage has a scripted worker name a usage in a message that the asker cannot read. It
// tells nothing: the whole budget counts as used.
func TestMisreadUsage(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		jules := w.Peer("Jules")
		d := w.Start(t.Context(), codons.WithBudget(codons.Budget{codons.Tokens: 100}))
		request := jules.Expect(p.ActTaskRequest)
		jules.Send(p.Envelope{
			Performative: p.ActInformRef, Receiver: w.Eddy.ID(), ConversationID: request.ConversationID(), InReplyTo: string(request.ID()),
			Protocol: request.Protocol(), Budget: p.ContentOf(codons.Budget{codons.Tokens: 7}), Payload: p.InformRef{Value: p.ContentOf("branch")},
		})
		jules.Expect(p.ActNotUnderstood)
		_, err := d.Wait()
		kit.WantEnd(t, err, "misread", p.CodeUnexpectedAct)
		if n := d.Spent()[codons.Tokens]; n != 100 {
			t.Errorf("spent %d", n)
		}
	})
}

// An error that is no refusal has no text for the asker.
func TestNotUnderstoodBy(t *testing.T) {
	for _, tt := range []struct {
		err        error
		code, text string
	}{
		{errors.New("secret"), string(p.CodeInvalidPayload), ""},
		{&p.Refusal{Code: p.CodeUnknownReference, Text: "there is no file x.py"}, string(p.CodeUnknownReference), "there is no file x.py"},
	} {
		why, ok := delegation.NotUnderstoodBy(tt.err).Data.(p.NotUnderstood)
		if !ok || string(why.ReasonCode) != tt.code || why.ReasonText != tt.text {
			t.Errorf("%v: %+v", tt.err, why)
		}
	}
}
