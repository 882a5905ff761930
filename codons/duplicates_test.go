package codons_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// counting is a worker that counts how often it worked, and takes a second.
func counting(n *atomic.Int64) *kit.Worker {
	return &kit.Worker{Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
		n.Add(1)
		select {
		case <-time.After(time.Second):
			return p.InformResult{Status: p.StatusSuccess, Summary: t.Description}, nil
		case <-ctx.Done():
			return p.InformResult{}, ctx.Err()
		}
	}}
}

func TestDuplicateRequests(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var worked atomic.Int64
		w.Add("Jules", counting(&worked))
		a := w.Puppet("puppet")
		request := a.Say(p.Envelope{Receiver: "Jules", Payload: kit.Task()})
		a.Post(request) // at once
		accept := a.Next(p.ActTaskAccept)
		synctest.Wait()
		for len(a.Got) > 0 {
			if again := a.Next(p.ActTaskAccept); again.ID() != accept.ID() {
				t.Error("accepted twice")
			}
		}
		a.Post(request) // during the work
		if again := a.Next(p.ActTaskAccept); again.ID() != accept.ID() {
			t.Error("accepted twice")
		}
		first := a.Next(p.ActInformResult)
		for range 3 { // after the end
			synctest.Wait()
			a.Post(request)
			if again := a.Next(p.ActInformResult); again.ID() != first.ID() {
				t.Error("another result")
			}
		}
		if worked.Load() != 1 {
			t.Errorf("worked %d times", worked.Load())
		}
		a.Silence()
		w.Settled(0)
	})
}

// TestDuplicateAfterRestart has the agent fail after it has done the work.
func TestDuplicateAfterRestart(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var worked atomic.Int64
		jules := w.Add("Jules", counting(&worked))
		a := w.Puppet("puppet")
		done := a.Say(p.Envelope{Receiver: "Jules", Payload: kit.Task()})
		a.Next(p.ActTaskAccept)
		first := a.Next(p.ActInformResult)
		cut := a.Say(p.Envelope{Receiver: "Jules", Payload: kit.Task()})
		a.Next(p.ActTaskAccept)
		_ = jules.Do(t.Context(), func(actors.Agent) { panic("oops") })
		failure := a.Next(p.ActFailure)
		time.Sleep(time.Minute)
		a.Post(done)
		if again := a.Next(p.ActInformResult); again.ID() != first.ID() {
			t.Error("another result")
		}
		a.Post(cut)
		if again := a.Next(p.ActFailure); again.ID() != failure.ID() {
			t.Error("another failure")
		}
		if worked.Load() != 2 {
			t.Errorf("worked %d times", worked.Load())
		}
	})
}

// TestLateMessages sends messages after the end of either side.
func TestLateMessages(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{})
		a := w.Puppet("puppet")
		request := a.Say(p.Envelope{Receiver: "Jules", Payload: kit.Task()})
		a.Next(p.ActTaskAccept)
		result := a.Next(p.ActInformResult)
		w.Settled(0)
		dead := w.Counts().DeadLetters

		// A CANCEL is told the true end, a question that there is none, a notice nothing.
		cancel, _ := request.Follow(a.Stamp(), p.Cancel{})
		a.Post(cancel)
		if again := a.Next(p.ActInformResult); again.ID() != result.ID() {
			t.Error("another result")
		}
		a.Say(p.Envelope{Receiver: "Jules", ConversationID: request.ConversationID(), Payload: p.QueryRef{Reference: "x"}})
		if r := a.Next(p.ActFailure).AsRefusal(); r.Code != p.CodeConversationEnded {
			t.Errorf("got %v", r)
		}
		a.Say(p.Envelope{Receiver: "Jules", ConversationID: request.ConversationID(), InReplyTo: "x", Payload: p.StatusUpdate{}})
		a.Silence()
		if n := w.Counts().DeadLetters; n != dead+1 {
			t.Errorf("%d dead letters, want 1", n-dead)
		}
	})
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		a := w.Puppet("Jules")
		d := w.Start(t.Context())
		request := a.Next(p.ActTaskRequest)
		a.Reply(request, kit.Result(p.StatusSuccess))
		if _, err := d.Wait(); err != nil {
			t.Fatal(err)
		}
		w.Settled(0)
		dead := w.Counts().DeadLetters
		a.Reply(request, p.TaskAccept{})
		a.Reply(request, kit.Result(p.StatusFailure))
		a.Reply(request, p.Failure{ErrorCode: p.CodeFailed})
		a.Silence()
		if n := w.Counts().DeadLetters; n != dead+3 {
			t.Errorf("%d dead letters, want 3", n-dead)
		}
		if got, err := d.Wait(); err != nil || got.Status != p.StatusSuccess {
			t.Errorf("the end has changed: %+v, %v", got, err)
		}
	})
}

// TestSkippedAcceptance has the messages of the worker arrive in other orders.
func TestSkippedAcceptance(t *testing.T) {
	for _, first := range []any{p.StatusUpdate{Description: "on it"}, nil} {
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			a := w.Puppet("Jules")
			d := w.Start(t.Context())
			request := a.Next(p.ActTaskRequest)
			if first != nil {
				a.Reply(request, first)
			}
			a.Reply(request, kit.Result(p.StatusSuccess))
			if _, err := d.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestStaleAnswers has late answers of the first round arrive in the second.
func TestStaleAnswers(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		a := w.Puppet("Jules")
		var heard atomic.Int64
		d := w.Start(t.Context(),
			delegation.WithAccepted(func(p.TaskAccept) { heard.Add(1) }), delegation.WithProgress(func(p.StatusUpdate) { heard.Add(1) }),
			delegation.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) { return kit.Task(), true }))
		first := a.Next(p.ActTaskRequest)
		partial := a.Reply(first, kit.Asking("more"))
		second := a.Next(p.ActTaskRequest)
		if second.ConversationID() != first.ConversationID() || second.ID() == first.ID() {
			t.Errorf("the second round is %v of %v", second.ID(), second.ConversationID())
		}
		a.Reply(first, p.TaskAccept{})
		a.Reply(first, p.StatusUpdate{})
		a.Post(partial)
		a.Silence()
		if heard.Load() != 0 {
			t.Errorf("%d stragglers were heard", heard.Load())
		}
		a.Reply(second, kit.Result(p.StatusFailure))
		if got, err := d.Wait(); err != nil || got.Status != p.StatusFailure {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

// TestCancelWithoutRequest sends a CANCEL that names a request which has not come.
func TestCancelWithoutRequest(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var worked atomic.Int64
		w.Add("Jules", counting(&worked))
		a := w.Puppet("puppet")
		proto := "task-delegation"
		a.Say(p.Envelope{Receiver: "Jules", ConversationID: "chat", Protocol: proto, InReplyTo: "r-1", Payload: p.Cancel{}})
		a.Next(p.ActInform)
		w.Settled(0)
		withdrawn := a.Say(p.Envelope{ID: "r-1", Receiver: "Jules", ConversationID: "chat", Payload: kit.Task()})
		a.Next(p.ActInform) // the same receipt
		a.Post(withdrawn)
		a.Silence()
		if worked.Load() != 0 {
			t.Error("the withdrawn task was worked on")
		}
		a.Say(p.Envelope{ID: "r-2", Receiver: "Jules", ConversationID: "chat", Payload: kit.Task()})
		a.Next(p.ActTaskAccept)
		a.Next(p.ActInformResult)
	})
}

// TestUnexpectedMessages sends messages that the state does not expect or whose content is not valid.
func TestUnexpectedMessages(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{Perform: kit.Patient})
		a := w.Puppet("puppet")
		a.Say(p.Envelope{Receiver: "Jules", Performative: p.ActTaskRequest, Payload: p.Raw(`{"task_type":7}`)})
		if r := a.Next(p.ActNotUnderstood).AsRefusal(); r.Code != p.CodeInvalidPayload {
			t.Errorf("got %v", r)
		}
		request := a.Say(p.Envelope{Receiver: "Jules", Performative: p.ActTaskRequest, Payload: p.Raw(`{"task_type":"x"}`)})
		a.Next(p.ActTaskAccept)
		a.Say(p.Envelope{Receiver: "Jules", ConversationID: request.ConversationID(), Payload: kit.Task()})
		if r := a.Next(p.ActNotUnderstood).AsRefusal(); r.Code != p.CodeUnexpectedAct {
			t.Errorf("got %v", r)
		}
		a.Say(p.Envelope{Receiver: "Jules", ConversationID: request.ConversationID(), InReplyTo: "x", Payload: kit.Result(p.StatusSuccess)})
		a.Silence()
	})
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		a := w.Puppet("Jules")
		d := w.Start(t.Context())
		request := a.Next(p.ActTaskRequest)
		accept, _ := request.ReplyAs(a.Stamp(), p.ActTaskAccept, p.Raw(`{"task_id_assigned":7}`))
		a.Post(accept)
		nonsense, _ := request.ReplyAs(a.Stamp(), p.ActInformResult, p.Raw(`{"task_status":"splendid"}`))
		a.Post(nonsense)
		_, err := d.Wait()
		kit.WantEnd(t, err, "completed", p.CodeInvalidPayload)
	})
}
