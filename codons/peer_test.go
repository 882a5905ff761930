package codons_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// counting is a worker that counts how often it worked, and takes a second.
func counting(n *atomic.Int64) *worker {
	return &worker{perform: func(ctx context.Context, t codons.Task) (p.InformResult, error) {
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
	inWorld(t, func(t *testing.T, w *world) {
		var worked atomic.Int64
		w.spawn("Jules", counting(&worked))
		a := w.puppet("puppet")
		request := a.say(p.Envelope{Receiver: "Jules", Payload: task()})
		a.send(request) // at once
		accept := a.next(p.ActTaskAccept)
		synctest.Wait()
		for len(a.got) > 0 {
			if again := a.next(p.ActTaskAccept); again.ID() != accept.ID() {
				t.Error("accepted twice")
			}
		}
		a.send(request) // during the work
		if again := a.next(p.ActTaskAccept); again.ID() != accept.ID() {
			t.Error("accepted twice")
		}
		first := a.next(p.ActInformResult)
		for range 3 { // after the end
			synctest.Wait()
			a.send(request)
			if again := a.next(p.ActInformResult); again.ID() != first.ID() {
				t.Error("another result")
			}
		}
		if worked.Load() != 1 {
			t.Errorf("worked %d times", worked.Load())
		}
		a.silence()
		w.settled(0)
	})
}

// TestDuplicateAfterARestart has the agent fail after it has done the work.
func TestDuplicateAfterARestart(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var worked atomic.Int64
		jules := w.spawn("Jules", counting(&worked))
		a := w.puppet("puppet")
		done := a.say(p.Envelope{Receiver: "Jules", Payload: task()})
		a.next(p.ActTaskAccept)
		first := a.next(p.ActInformResult)
		cut := a.say(p.Envelope{Receiver: "Jules", Payload: task()})
		a.next(p.ActTaskAccept)
		_ = jules.Do(t.Context(), func(actors.Agent) { panic("oops") })
		failure := a.next(p.ActFailure)
		time.Sleep(time.Minute)
		a.send(done)
		if again := a.next(p.ActInformResult); again.ID() != first.ID() {
			t.Error("another result")
		}
		a.send(cut)
		if again := a.next(p.ActFailure); again.ID() != failure.ID() {
			t.Error("another failure")
		}
		if worked.Load() != 2 {
			t.Errorf("worked %d times", worked.Load())
		}
	})
}

// TestLateMessages come after the end of either side.
func TestLateMessages(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Jules", &worker{})
		a := w.puppet("puppet")
		request := a.say(p.Envelope{Receiver: "Jules", Payload: task()})
		a.next(p.ActTaskAccept)
		result := a.next(p.ActInformResult)
		w.settled(0)
		dead := w.Counts().DeadLetters

		// A CANCEL is told the true end, a question that there is none, a notice nothing.
		cancel, _ := request.Follow(a.Stamp(), p.Cancel{})
		a.send(cancel)
		if again := a.next(p.ActInformResult); again.ID() != result.ID() {
			t.Error("another result")
		}
		a.say(p.Envelope{Receiver: "Jules", ConversationID: request.ConversationID(), Payload: p.QueryRef{Reference: "x"}})
		if r := a.next(p.ActFailure).AsRefusal(); r.Code != p.CodeConversationEnded {
			t.Errorf("got %v", r)
		}
		a.say(p.Envelope{Receiver: "Jules", ConversationID: request.ConversationID(), InReplyTo: "x", Payload: p.StatusUpdate{}})
		a.silence()
		if n := w.Counts().DeadLetters; n != dead+1 {
			t.Errorf("%d dead letters, want 1", n-dead)
		}
	})
	inWorld(t, func(t *testing.T, w *world) {
		a := w.puppet("Jules")
		d := w.start(t.Context())
		request := a.next(p.ActTaskRequest)
		a.reply(request, result(p.StatusSuccess))
		if _, err := d.Wait(); err != nil {
			t.Fatal(err)
		}
		w.settled(0)
		dead := w.Counts().DeadLetters
		a.reply(request, p.TaskAccept{})
		a.reply(request, result(p.StatusFailure))
		a.reply(request, p.Failure{ErrorCode: p.CodeFailed})
		a.silence()
		if n := w.Counts().DeadLetters; n != dead+3 {
			t.Errorf("%d dead letters, want 3", n-dead)
		}
		if got, err := d.Wait(); err != nil || got.Status != p.StatusSuccess {
			t.Errorf("the end has changed: %+v, %v", got, err)
		}
	})
}

// TestSkippedAcceptance has the worker's messages come in other orders.
func TestSkippedAcceptance(t *testing.T) {
	for _, first := range []any{p.StatusUpdate{Description: "on it"}, nil} {
		inWorld(t, func(t *testing.T, w *world) {
			a := w.puppet("Jules")
			d := w.start(t.Context())
			request := a.next(p.ActTaskRequest)
			if first != nil {
				a.reply(request, first)
			}
			a.reply(request, result(p.StatusSuccess))
			if _, err := d.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestStaleAnswers has stragglers of the first round come in the second.
func TestStaleAnswers(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.puppet("Jules")
		var heard atomic.Int64
		d := w.start(t.Context(),
			codons.WithAccepted(func(p.TaskAccept) { heard.Add(1) }), codons.WithProgress(func(p.StatusUpdate) { heard.Add(1) }),
			codons.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) { return task(), true }))
		first := a.next(p.ActTaskRequest)
		partial := a.reply(first, asking("more"))
		second := a.next(p.ActTaskRequest)
		if second.ConversationID() != first.ConversationID() || second.ID() == first.ID() {
			t.Errorf("the second round is %v of %v", second.ID(), second.ConversationID())
		}
		a.reply(first, p.TaskAccept{})
		a.reply(first, p.StatusUpdate{})
		a.send(partial)
		a.silence()
		if heard.Load() != 0 {
			t.Errorf("%d stragglers were heard", heard.Load())
		}
		a.reply(second, result(p.StatusFailure))
		if got, err := d.Wait(); err != nil || got.Status != p.StatusFailure {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

// TestReusedConversation has a chat client name all its tasks alike.
func TestReusedConversation(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var worked atomic.Int64
		w.spawn("Jules", counting(&worked))
		for i := range 5 {
			got, err := codons.Delegate(t.Context(), w.eddy, "Jules", p.TaskRequest{TaskType: "x", Description: fmt.Sprint(i)}, codons.WithConversation("chat"))
			if err != nil || got.Summary != fmt.Sprint(i) {
				t.Errorf("task %d: %+v, %v", i, got, err)
			}
		}
		for range 3 { // also after one that was cancelled
			d, err := codons.StartDelegation(t.Context(), w.eddy, "Jules", task(), codons.WithConversation("chat"))
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			d.Cancel()
			_, err = d.Wait()
			wantEnd(t, err, "cancelled", p.CodeCanceled)
		}
		if _, err := w.delegate(t.Context(), codons.WithConversation("chat")); err != nil {
			t.Error(err)
		}
		if worked.Load() != 9 {
			t.Errorf("worked %d times", worked.Load())
		}
		w.settled(0)
	})
}

// TestReusedConversationAtOnce leaves no time between an end and a beginning.
func TestReusedConversationAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Jules", &worker{})
		for range 500 {
			if _, err := w.delegate(t.Context(), codons.WithConversation("chat")); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestConversationInUse(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var worked atomic.Int64
		w.spawn("Jules", counting(&worked))
		d := w.start(t.Context(), codons.WithConversation("chat"))
		start := time.Now()
		_, err := w.delegate(t.Context(), codons.WithConversation("chat"))
		if !errors.Is(err, actors.ErrConversationExists) || endOf(t, err).State != "abandoned" {
			t.Errorf("got %v", err)
		}
		wantElapsed(t, start, 0)
		if _, err := d.Wait(); err != nil {
			t.Errorf("the first: %v", err)
		}
		w.settled(0)
	})
}

// TestStraysOfTheFormerTask have the name of the task at hand, and are about the
// one before.
func TestStraysOfTheFormerTask(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.puppet("Jules")
		var first *p.Message
		for i := range 2 {
			d := w.start(t.Context(), codons.WithConversation("chat"))
			request := a.next(p.ActTaskRequest)
			if i == 1 {
				a.reply(first, result(p.StatusFailure))
				a.silence()
			}
			first = request
			a.reply(request, result(p.StatusSuccess))
			if got, err := d.Wait(); err != nil || got.Status != p.StatusSuccess {
				t.Errorf("task %d: %+v, %v", i, got, err)
			}
		}
	})
	inWorld(t, func(t *testing.T, w *world) {
		var worked atomic.Int64
		w.spawn("Jules", counting(&worked))
		a := w.puppet("puppet")
		request := func() *p.Message {
			return a.say(p.Envelope{Receiver: "Jules", ConversationID: "chat", ReplyWith: string(a.Stamp().ID), Payload: task()})
		}
		former := request()
		a.next(p.ActTaskAccept)
		a.next(p.ActInformResult)
		request()
		a.next(p.ActTaskAccept)
		cancel, _ := former.Follow(a.Stamp(), p.Cancel{})
		a.send(cancel)
		if r := a.next(p.ActFailure).AsRefusal(); r.Code != p.CodeConversationEnded {
			t.Errorf("got %v", r)
		}
		a.next(p.ActInformResult)
	})
}

func TestTwoPeersOfOneName(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var worked atomic.Int64
		w.spawn("Jules", counting(&worked))
		a, b := w.puppet("a"), w.puppet("b")
		say := func(x *puppet, text string) *p.Message {
			return x.say(p.Envelope{Receiver: "Jules", ConversationID: "same", Payload: p.TaskRequest{TaskType: "x", Description: text}})
		}
		ra, rb := say(a, "a"), say(b, "b")
		for x, want := range map[*puppet]string{a: "a", b: "b"} {
			x.next(p.ActTaskAccept)
			if r, _ := p.PayloadAs[p.InformResult](x.next(p.ActInformResult)); r.Summary != want {
				t.Errorf("%s got the result of %s", want, r.Summary)
			}
		}
		synctest.Wait()
		a.send(ra)
		b.send(rb)
		a.next(p.ActInformResult)
		b.next(p.ActInformResult)
		if worked.Load() != 2 {
			t.Errorf("worked %d times", worked.Load())
		}
	})
}

// TestWithoutConversationIDs has a peer whose dialect knows only in_reply_to.
func TestWithoutConversationIDs(t *testing.T) {
	for _, name := range []p.ConversationID{"", "chat"} {
		inWorld(t, func(t *testing.T, w *world) { // as the worker
			a := w.puppet("Jules")
			d := w.start(t.Context(), codons.WithConversation(name), codons.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) { return task(), true }))
			for i := range 3 {
				request := a.next(p.ActTaskRequest)
				a.say(p.Envelope{Receiver: "eddy", InReplyTo: string(request.ID()), Payload: p.TaskAccept{}})
				if i < 2 {
					a.say(p.Envelope{Receiver: "eddy", InReplyTo: request.ReplyWith(), Payload: asking("more")})
					continue
				}
				synctest.Wait()
				d.Cancel()
				cancel := a.next(p.ActCancel)
				a.say(p.Envelope{Receiver: "eddy", InReplyTo: string(cancel.ID()), Payload: p.Receipt{}})
			}
			_, err := d.Wait()
			wantEnd(t, err, "cancelled", p.CodeCanceled)
			w.settled(0)
		})
	}
	inWorld(t, func(t *testing.T, w *world) { // as the asker
		var considered atomic.Int64
		w.spawn("Jules", &worker{consider: func(context.Context, codons.Task) codons.Decision {
			considered.Add(1)
			return codons.Accept()
		}, perform: curious(2)})
		a := w.puppet("puppet")
		a.say(p.Envelope{Receiver: "JULES", Payload: task()})
		a.next(p.ActTaskAccept)
		partial := a.next(p.ActInformResult)
		second := a.say(p.Envelope{Receiver: "jules", InReplyTo: string(partial.ID()), Payload: task()})
		a.next(p.ActTaskAccept)
		partial = a.next(p.ActInformResult)
		third := a.say(p.Envelope{Receiver: "jules", InReplyTo: string(second.ID()), Payload: task()})
		a.next(p.ActTaskAccept)
		if r, _ := p.PayloadAs[p.InformResult](a.next(p.ActInformResult)); !strings.HasSuffix(r.Summary, "round 0, round 1") {
			t.Errorf("the third round got %+v", r)
		}
		synctest.Wait()
		a.send(third) // late, and again
		a.next(p.ActInformResult)
		a.say(p.Envelope{Receiver: "jules", InReplyTo: string(third.ID()), Payload: p.Cancel{}})
		a.next(p.ActInformResult)
		if considered.Load() != 3 {
			t.Errorf("%d tasks were considered, want 3 (%v)", considered.Load(), partial.ID())
		}
		w.settled(0)
	})
}

// TestCancelOfNothing comes first, and names the request that it is about.
func TestCancelOfNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var worked atomic.Int64
		w.spawn("Jules", counting(&worked))
		a := w.puppet("puppet")
		proto := codons.Delegation{}.Name()
		a.say(p.Envelope{Receiver: "Jules", ConversationID: "chat", Protocol: proto, InReplyTo: "r-1", Payload: p.Cancel{}})
		a.next(p.ActInform)
		w.settled(0)
		withdrawn := a.say(p.Envelope{ID: "r-1", Receiver: "Jules", ConversationID: "chat", Payload: task()})
		a.next(p.ActInform) // the same receipt
		a.send(withdrawn)
		a.silence()
		if worked.Load() != 0 {
			t.Error("the withdrawn task was worked on")
		}
		a.say(p.Envelope{ID: "r-2", Receiver: "Jules", ConversationID: "chat", Payload: task()})
		a.next(p.ActTaskAccept)
		a.next(p.ActInformResult)
	})
}

// TestNonsense sends what has no place, or no sense.
func TestNonsense(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Jules", &worker{perform: patient})
		a := w.puppet("puppet")
		a.say(p.Envelope{Receiver: "Jules", Performative: p.ActTaskRequest, Payload: p.Raw(`{"task_type":7}`)})
		if r := a.next(p.ActNotUnderstood).AsRefusal(); r.Code != p.CodeInvalidPayload {
			t.Errorf("got %v", r)
		}
		request := a.say(p.Envelope{Receiver: "Jules", Performative: p.ActTaskRequest, Payload: p.Raw(`{"task_type":"x"}`)})
		a.next(p.ActTaskAccept)
		a.say(p.Envelope{Receiver: "Jules", ConversationID: request.ConversationID(), Payload: task()})
		if r := a.next(p.ActNotUnderstood).AsRefusal(); r.Code != p.CodeUnexpectedAct {
			t.Errorf("got %v", r)
		}
		a.say(p.Envelope{Receiver: "Jules", ConversationID: request.ConversationID(), InReplyTo: "x", Payload: result(p.StatusSuccess)})
		a.silence()
	})
	inWorld(t, func(t *testing.T, w *world) {
		a := w.puppet("Jules")
		d := w.start(t.Context())
		request := a.next(p.ActTaskRequest)
		accept, _ := request.ReplyAs(a.Stamp(), p.ActTaskAccept, p.Raw(`{"task_id_assigned":7}`))
		a.send(accept)
		nonsense, _ := request.ReplyAs(a.Stamp(), p.ActInformResult, p.Raw(`{"task_status":"splendid"}`))
		a.send(nonsense)
		_, err := d.Wait()
		wantEnd(t, err, "completed", p.CodeInvalidPayload)
	})
}

func TestLostRequestIsSentAgain(t *testing.T) {
	for _, act := range []p.Performative{p.ActTaskRequest, p.ActTaskReject} {
		inWorld(t, func(t *testing.T, w *world) {
			asked := 0
			w.spawn("Jules", &worker{consider: func(context.Context, codons.Task) codons.Decision {
				asked++
				return codons.Reject(p.CodeIncapable, "")
			}})
			w.net.lose(act, 3)
			start := time.Now()
			_, err := w.delegate(t.Context(), codons.WithRetry(codons.Retry{First: time.Second, Jitter: -1}))
			wantEnd(t, err, "rejected", p.CodeIncapable)
			wantElapsed(t, start, 7*time.Second) // 1 + 2 + 4
			if asked != 1 {
				t.Errorf("the task was considered %d times", asked)
			}
			w.settled(0)
		})
	}
}

func TestNoRetry(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Jules", &worker{})
		w.net.lose(p.ActTaskRequest, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, err := w.delegate(ctx, codons.WithRetry(codons.NoRetry()))
		wantEnd(t, err, "timed_out", p.CodeTimeout)
		if n := len(w.monitor.lines()); n != 1 {
			t.Errorf("said %q", w.monitor.lines())
		}
	})
}

// TestRetryFindsNoRoom has the worker's agent be slow, and its mailbox full.
func TestRetryFindsNoRoom(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Jules", &worker{})
		full := atomic.Bool{}
		w.net.intercept(func(*p.Message) bool { return full.Load() })
		full.Store(true)
		d := w.start(t.Context(), codons.WithRetry(codons.Retry{First: time.Second, Jitter: -1}))
		synctest.Wait()
		full.Store(false)
		w.net.busy.Store(true)
		time.Sleep(1500 * time.Millisecond)
		w.net.busy.Store(false)
		if _, err := d.Wait(); err != nil {
			t.Errorf("a busy mailbox ended the task: %v", err)
		}
	})
}

// TestReopenedBeforeItsEnd has the next task of the same name arrive while the
// conversation is about to end.
func TestReopenedBeforeItsEnd(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Jules", &worker{perform: func(_ context.Context, t codons.Task) (p.InformResult, error) {
			return p.InformResult{Status: p.StatusSuccess, Summary: t.Description}, nil
		}})
		a := w.puppet("puppet")
		say := func(text string) {
			a.say(p.Envelope{Receiver: "Jules", ConversationID: "chat", Payload: p.TaskRequest{TaskType: "x", Description: text}})
		}
		again := false
		w.net.before = func(m *p.Message) {
			if m.Performative() == p.ActInformResult && !again {
				again = true
				say("second")
				time.Sleep(time.Second) // it is in the conversation's mailbox by then
			}
		}
		say("first")
		for _, want := range []string{"first", "second"} {
			a.next(p.ActTaskAccept)
			if r, _ := p.PayloadAs[p.InformResult](a.next(p.ActInformResult)); r.Summary != want {
				t.Errorf("got the result of %q, want %q", r.Summary, want)
			}
		}
		a.silence()
		w.settled(0)
	})
}
