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
	"github.com/ribosome-agents/ribosome/internal/systemtest"
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
		a := w.Peer("peer")
		request := a.Send(p.Envelope{Receiver: "Jules", Payload: kit.Task()})
		a.SendAgain(request) // at once
		accept := a.Expect(p.ActTaskAccept)
		synctest.Wait()
		for len(a.Got) > 0 {
			if again := a.Expect(p.ActTaskAccept); again.ID() != accept.ID() {
				t.Error("accepted twice")
			}
		}
		a.SendAgain(request) // during the work
		if again := a.Expect(p.ActTaskAccept); again.ID() != accept.ID() {
			t.Error("accepted twice")
		}
		first := a.Expect(p.ActInformResult)
		for range 3 { // after the end
			synctest.Wait()
			a.SendAgain(request)
			if again := a.Expect(p.ActInformResult); again.ID() != first.ID() {
				t.Error("another result")
			}
		}
		if worked.Load() != 1 {
			t.Errorf("worked %d times", worked.Load())
		}
		a.Silent()
		w.Settled(0)
	})
}

// TestDuplicateAfterRestart has the agent fail after it has done the work.
func TestDuplicateAfterRestart(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Allow(systemtest.ErrorLogged)
		var worked atomic.Int64
		jules := w.Add("Jules", counting(&worked))
		a := w.Peer("peer")
		done := a.Send(p.Envelope{Receiver: "Jules", Payload: kit.Task()})
		a.Expect(p.ActTaskAccept)
		first := a.Expect(p.ActInformResult)
		cut := a.Send(p.Envelope{Receiver: "Jules", Payload: kit.Task()})
		a.Expect(p.ActTaskAccept)
		_ = jules.Do(t.Context(), func(actors.Agent) { panic("oops") })
		failure := a.Expect(p.ActFailure)
		time.Sleep(time.Minute)
		a.SendAgain(done)
		if again := a.Expect(p.ActInformResult); again.ID() != first.ID() {
			t.Error("another result")
		}
		a.SendAgain(cut)
		if again := a.Expect(p.ActFailure); again.ID() != failure.ID() {
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
		a := w.Peer("peer")
		request := a.Send(p.Envelope{Receiver: "Jules", Payload: kit.Task()})
		a.Expect(p.ActTaskAccept)
		result := a.Expect(p.ActInformResult)
		w.Settled(0)
		dead := w.Counts().DeadLetters

		// A CANCEL is told the true end, a question that there is none, a notice nothing.
		cancel, _ := request.Follow(a.Stamp(), p.Cancel{})
		a.SendAgain(cancel)
		if again := a.Expect(p.ActInformResult); again.ID() != result.ID() {
			t.Error("another result")
		}
		a.Send(p.Envelope{Receiver: "Jules", ConversationID: request.ConversationID(), Payload: p.QueryRef{Reference: "x"}})
		if r := a.Expect(p.ActFailure).AsRefusal(); r.Code != p.CodeConversationEnded {
			t.Errorf("got %v", r)
		}
		a.Send(p.Envelope{Receiver: "Jules", ConversationID: request.ConversationID(), InReplyTo: "x", Payload: p.StatusUpdate{}})
		a.Silent()
		if n := w.Counts().DeadLetters; n != dead+1 {
			t.Errorf("%d dead letters, want 1", n-dead)
		}
	})
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		a := w.Peer("Jules")
		d := w.Start(t.Context())
		request := a.Expect(p.ActTaskRequest)
		a.Reply(request, kit.Result(p.StatusSuccess))
		if _, err := d.Wait(); err != nil {
			t.Fatal(err)
		}
		w.Settled(0)
		dead := w.Counts().DeadLetters
		a.Reply(request, p.TaskAccept{})
		a.Reply(request, kit.Result(p.StatusFailure))
		a.Reply(request, p.Failure{ErrorCode: p.CodeFailed})
		a.Silent()
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
			a := w.Peer("Jules")
			d := w.Start(t.Context())
			request := a.Expect(p.ActTaskRequest)
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
		a := w.Peer("Jules")
		var heard atomic.Int64
		d := w.Start(t.Context(),
			delegation.WithAccepted(func(p.TaskAccept) { heard.Add(1) }), delegation.WithProgress(func(p.StatusUpdate) { heard.Add(1) }),
			delegation.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) { return kit.Task(), true }))
		first := a.Expect(p.ActTaskRequest)
		partial := a.Reply(first, kit.Asking("more"))
		second := a.Expect(p.ActTaskRequest)
		if second.ConversationID() != first.ConversationID() || second.ID() == first.ID() {
			t.Errorf("the second round is %v of %v", second.ID(), second.ConversationID())
		}
		a.Reply(first, p.TaskAccept{})
		a.Reply(first, p.StatusUpdate{})
		a.SendAgain(partial)
		a.Silent()
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
		a := w.Peer("peer")
		proto := "task-delegation"
		a.Send(p.Envelope{Receiver: "Jules", ConversationID: "chat", Protocol: proto, InReplyTo: "r-1", Payload: p.Cancel{}})
		a.Expect(p.ActInform)
		w.Settled(0)
		withdrawn := a.Send(p.Envelope{ID: "r-1", Receiver: "Jules", ConversationID: "chat", Payload: kit.Task()})
		a.Expect(p.ActInform) // the same receipt
		a.SendAgain(withdrawn)
		a.Expect(p.ActInform)
		if worked.Load() != 0 {
			t.Error("the withdrawn task was worked on")
		}
		a.Send(p.Envelope{ID: "r-2", Receiver: "Jules", ConversationID: "chat", Payload: kit.Task()})
		a.Expect(p.ActTaskAccept)
		a.Expect(p.ActInformResult)
	})
}

// TestUnexpectedMessages sends messages that the state does not expect or whose content is not
// valid.
func TestUnexpectedMessages(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{Perform: kit.UntilDone[p.InformResult, delegation.Task]})
		a := w.Peer("peer")
		a.Send(p.Envelope{Receiver: "Jules", Performative: p.ActTaskRequest, Payload: p.Raw(`{"task_type":7}`)})
		if r := a.Expect(p.ActNotUnderstood).AsRefusal(); r.Code != p.CodeInvalidPayload {
			t.Errorf("got %v", r)
		}
		request := a.Send(p.Envelope{Receiver: "Jules", Performative: p.ActTaskRequest, Payload: p.Raw(`{"task_type":"x"}`)})
		a.Expect(p.ActTaskAccept)
		a.Send(p.Envelope{Receiver: "Jules", ConversationID: request.ConversationID(), Payload: kit.Task()})
		if r := a.Expect(p.ActNotUnderstood).AsRefusal(); r.Code != p.CodeUnexpectedAct {
			t.Errorf("got %v", r)
		}
		a.Send(p.Envelope{Receiver: "Jules", ConversationID: request.ConversationID(), InReplyTo: "x", Payload: kit.Result(p.StatusSuccess)})
		a.Silent()
	})
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		a := w.Peer("Jules")
		d := w.Start(t.Context())
		request := a.Expect(p.ActTaskRequest)
		accept, _ := request.ReplyAs(a.Stamp(), p.ActTaskAccept, p.Raw(`{"task_id_assigned":7}`))
		a.SendAgain(accept)
		nonsense, _ := request.ReplyAs(a.Stamp(), p.ActInformResult, p.Raw(`{"task_status":"splendid"}`))
		a.SendAgain(nonsense)
		_, err := d.Wait()
		kit.WantEnd(t, err, "completed", p.CodeInvalidPayload)
	})
}

// TestDuplicateAfterManyMessages sends each of many reports again after the next one: a
// conversation forgets the oldest ids first.
func TestDuplicateAfterManyMessages(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		a := w.Peer("Jules")
		heard := 0
		d := w.Start(t.Context(), delegation.WithProgress(func(p.StatusUpdate) { heard++ }))
		request := a.Expect(p.ActTaskRequest)
		before := a.Reply(request, p.StatusUpdate{Description: "begun"})
		for range 99 {
			next := a.Reply(request, p.StatusUpdate{Description: "on and on"})
			a.SendAgain(before)
			before = next
			synctest.Wait()
		}
		a.Reply(request, kit.Result(p.StatusSuccess))
		if _, err := d.Wait(); err != nil || heard != 100 {
			t.Errorf("%d reports were handled, want 100; %v", heard, err)
		}
	})
}
