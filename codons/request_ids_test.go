package codons_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/request"
	"github.com/ribosome-agents/ribosome/internal/systemtest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// runs is a worker that counts its tasks of the type of kit.Task. The first asks for more input, if
// it is curious.
type runs struct {
	kit.Worker
	n atomic.Int64
}

func newRuns(rounds int) *runs {
	r := &runs{}
	r.Perform = func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
		if t.TaskType != kit.Task().TaskType {
			return kit.Result(p.StatusSuccess), nil
		}
		r.n.Add(1)
		return curious(rounds)(ctx, t)
	}
	return r
}

// crowdOut ends more conversations at Jules than it has tombstones.
func crowdOut(w *kit.World) {
	w.T.Helper()
	synctest.Wait() // the tombstones of the conversations so far are the oldest
	for range 300 {
		if _, err := delegation.Delegate(w.T.Context(), w.Eddy, "Jules", p.TaskRequest{TaskType: "other"}); err != nil {
			w.T.Fatal(err)
		}
	}
}

// TestRequestRunsOnce sends a request again when nothing is left of its conversation.
func TestRequestRunsOnce(t *testing.T) {
	respawn := func(w *kit.World, jules *runs) {
		if err := w.StopAgent(w.T.Context(), "Jules"); err != nil {
			w.T.Fatal(err)
		}
		w.Add("Jules", jules)
	}
	for name, forget := range map[string]func(w *kit.World, jules *runs){
		"after 300 other ends":        func(w *kit.World, _ *runs) { crowdOut(w) },
		"after a stop and spawn":      respawn,
		"just before its ReplyBy":     func(w *kit.World, jules *runs) { respawn(w, jules); time.Sleep(time.Minute - 1) },
		"after a restart and respawn": func(w *kit.World, jules *runs) { restart(w); respawn(w, jules) },
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				w.Allow(systemtest.ErrorLogged)
				jules := newRuns(0)
				w.Add("Jules", jules)
				a := w.Peer("peer")
				request := a.Send(p.Envelope{Receiver: "Jules", ReplyBy: time.Now().Add(time.Minute), Payload: kit.Task()})
				a.Expect(p.ActTaskAccept)
				a.Expect(p.ActInformResult)
				forget(w, jules)
				wantEnded(a, request)
				other, _ := request.With(func(e *p.Envelope) { e.ConversationID = "other" })
				wantEnded(a, other)
				if n := jules.n.Load(); n != 1 {
					t.Errorf("the task ran %d times", n)
				}
				a.Silent()
				w.Settled(0)
			})
		})
	}
}

// restart has Jules fail, and waits until its supervisor has restarted it.
func restart(w *kit.World) {
	jules, _ := w.Lookup("Jules")
	_ = jules.Do(w.T.Context(), func(actors.Agent) { panic("oops") })
	time.Sleep(time.Second)
	synctest.Wait()
}

// wantEnded sends a message again and expects to hear that its conversation has ended.
func wantEnded(a *kit.Peer, m *p.Message) {
	a.T.Helper()
	a.SendAgain(m)
	refused := a.Expect(p.ActFailure)
	if r := refused.AsRefusal(); r.Code != p.CodeConversationEnded || r.About != m.ID() || refused.Undeliverable() {
		a.T.Errorf("got %v, as the refusal of one copy: %t", r, refused.Undeliverable())
	}
}

// TestFurtherRequestRunsOnce sends the requests of all rounds again, during the conversation, which
// remembers 64 messages itself, and when nothing is left of it.
func TestFurtherRequestRunsOnce(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		const rounds = 100
		jules := newRuns(rounds)
		ask := jules.Perform
		jules.Perform = func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
			if len(t.Previous) == rounds {
				time.Sleep(time.Second)
			}
			return ask(ctx, t)
		}
		w.Add("Jules", jules)
		a := w.Peer("peer")
		all := []*p.Message{a.Send(p.Envelope{Receiver: "Jules", Payload: kit.Task()})}
		for i := range rounds {
			a.Expect(p.ActTaskAccept)
			a.Expect(p.ActInformResult)
			if i == rounds-1 {
				for _, m := range all {
					a.SendAgain(m)
					a.Expect(p.ActInformResult) // the latest answer
				}
			}
			next, err := all[0].Follow(a.Stamp(), kit.Task())
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, next)
			a.SendAgain(next)
		}
		a.Expect(p.ActTaskAccept)
		for _, m := range slices.Backward(all) {
			a.SendAgain(m)
			a.Expect(p.ActTaskAccept)
		}
		if last := a.Expect(p.ActInformResult); last.InReplyTo() != string(all[rounds].ID()) {
			t.Error("the result answers a duplicate")
		}
		w.Settled(0)
		crowdOut(w)
		for _, m := range all {
			wantEnded(a, m)
		}
		if n := jules.n.Load(); n != rounds+1 {
			t.Errorf("%d rounds, want %d", n, rounds+1)
		}
		a.Silent()
		w.Settled(0)
	})
}

// TestWithdrawnRequestRunsNever sends a CANCEL long before its request.
func TestWithdrawnRequestRunsNever(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		jules := newRuns(0)
		w.Add("Jules", jules)
		a := w.Peer("peer")
		a.Send(p.Envelope{Receiver: "Jules", ConversationID: "chat", Protocol: "task-delegation", InReplyTo: "r", Payload: p.Cancel{}})
		a.Expect(p.ActInform)
		crowdOut(w)
		request, err := p.New(p.Envelope{ID: "r", Sender: "peer", Receiver: "Jules", ConversationID: "chat", Timestamp: time.Now(), Payload: kit.Task()})
		if err != nil {
			t.Fatal(err)
		}
		wantEnded(a, request)
		if n := jules.n.Load(); n != 0 {
			t.Errorf("the task ran %d times", n)
		}
	})
}

// TestRequestsAreForgotten checks for how long a request without a ReplyBy is remembered.
func TestRequestsAreForgotten(t *testing.T) {
	const deadline = 2 * time.Minute
	kit.InWorldWith(t, codons.Times{Deadline: deadline}, actors.Options{}, func(t *testing.T, w *kit.World) {
		jules := newRuns(0)
		w.Add("Jules", jules)
		a := w.Peer("peer")
		start := time.Now()
		request := a.Send(p.Envelope{Receiver: "Jules", Payload: kit.Task()})
		a.Expect(p.ActTaskAccept)
		a.Expect(p.ActInformResult)
		crowdOut(w)
		time.Sleep(deadline - 1 - time.Since(start))
		wantEnded(a, request)
		time.Sleep(deadline)
		a.SendAgain(request)
		a.Expect(p.ActTaskAccept)
		a.Expect(p.ActInformResult)
	})
}

// blocking answers a task and a request, one at a time, when it is released.
type blocking struct {
	kit.Worker
	release chan struct{}
}

func (b *blocking) MaxTasks() int { return 1 }

func (b *blocking) PerformTask(context.Context, delegation.Task) (p.InformResult, error) {
	<-b.release
	return kit.Result(p.StatusSuccess), nil
}

func (b *blocking) HandleRequest(context.Context, request.Requested) (any, error) {
	<-b.release
	return p.Raw(`{}`), nil
}

// TestRefusedRequestMayComeAgain checks that a request that was refused as busy is not remembered
// as one that ran.
func TestRefusedRequestMayComeAgain(t *testing.T) {
	for name, c := range map[string]struct {
		act     p.Performative
		payload any
		answers []p.Performative
	}{
		"considered by the agent": {p.ActTaskRequest, kit.Task(), []p.Performative{p.ActTaskAccept, p.ActInformResult}},
		"considered by the job":   {p.ActRequest, p.Raw(`{}`), []p.Performative{p.ActInform}},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				jules := &blocking{release: make(chan struct{})}
				w.Add("Jules", jules)
				a := w.Peer("peer")
				send := func() *p.Message {
					return a.Send(p.Envelope{Receiver: "Jules", Performative: c.act, Payload: c.payload})
				}
				answered := func() {
					t.Helper()
					for _, act := range c.answers {
						a.Expect(act)
					}
				}
				send()
				synctest.Wait()
				refused := send()
				synctest.Wait()
				close(jules.release)
				refusals := 0
				for range len(c.answers) + 1 {
					if r := (<-a.Got).AsRefusal(); r != nil && r.Code == p.CodeBusy {
						refusals++
					}
				}
				if refusals != 1 {
					t.Fatalf("%d refusals, want 1", refusals)
				}
				for range 300 {
					send()
					answered()
				}
				a.SendAgain(refused)
				answered()
				for range 300 {
					send()
					answered()
				}
				wantEnded(a, refused)
			})
		})
	}
}

// TestRequestIDsAreBounded fills the memory of a system.
func TestRequestIDsAreBounded(t *testing.T) {
	const capacity = 10
	kit.InWorldWith(t, codons.Times{}, actors.Options{RequestIDs: capacity}, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{Perform: curious(1)})
		a := w.Peer("peer")
		for i := range capacity + 1 {
			m := a.Send(p.Envelope{ID: p.MessageID(fmt.Sprint("m", i)), Receiver: "Jules", ReplyBy: time.Now().Add(time.Hour), Payload: kit.Task()})
			if i == capacity {
				if r := a.Expect(p.ActTaskReject).AsRefusal(); r.Code != p.CodeBusy || r.About != m.ID() {
					t.Errorf("got %v", r)
				}
				break
			}
			a.Expect(p.ActTaskAccept)
			a.Expect(p.ActInformResult)
		}
		first, err := p.New(p.Envelope{ID: "m0", Sender: "peer", Receiver: "Jules", Timestamp: time.Now(), Payload: kit.Task()})
		if err != nil {
			t.Fatal(err)
		}
		further, err := first.Follow(a.Stamp(), kit.Task())
		if err != nil {
			t.Fatal(err)
		}
		a.SendAgain(further)
		if r := a.Expect(p.ActTaskReject).AsRefusal(); r.Code != p.CodeBusy || r.About != further.ID() {
			t.Errorf("a further request: %v", r)
		}
		time.Sleep(2 * time.Hour)
		for range capacity {
			a.Expect(p.ActFailure) // no further round came before the deadline
		}
		a.Send(p.Envelope{Receiver: "Jules", ReplyBy: time.Now().Add(time.Hour), Payload: kit.Task()})
		a.Expect(p.ActTaskAccept)
	})
}
