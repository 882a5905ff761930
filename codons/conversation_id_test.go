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
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/internal/systemtest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// TestReusedConversation has a chat client give all its tasks one conversation id.
func TestReusedConversation(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var worked atomic.Int64
		w.Add("Jules", counting(&worked))
		for i := range 5 {
			got, err := delegation.Delegate(t.Context(), w.Eddy, "Jules", p.TaskRequest{TaskType: "x", Description: fmt.Sprint(i)}, codons.WithConversation("chat"))
			if err != nil || got.Summary != fmt.Sprint(i) {
				t.Errorf("task %d: %+v, %v", i, got, err)
			}
		}
		for range 3 { // also after one that was cancelled
			d, err := delegation.Start(t.Context(), w.Eddy, "Jules", kit.Task(), codons.WithConversation("chat"))
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			d.Cancel()
			_, err = d.Wait()
			kit.WantEnd(t, err, "cancelled", p.CodeCanceled)
		}
		if _, err := w.Delegate(t.Context(), codons.WithConversation("chat")); err != nil {
			t.Error(err)
		}
		if worked.Load() != 9 {
			t.Errorf("worked %d times", worked.Load())
		}
		w.Settled(0)
	})
}

// TestReusedConversationAtOnce reuses a conversation id right after its end.
func TestReusedConversationAtOnce(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{})
		for range 500 {
			if _, err := w.Delegate(t.Context(), codons.WithConversation("chat")); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestConversationInUse(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var worked atomic.Int64
		w.Add("Jules", counting(&worked))
		d := w.Start(t.Context(), codons.WithConversation("chat"))
		start := time.Now()
		_, err := w.Delegate(t.Context(), codons.WithConversation("chat"))
		if !errors.Is(err, actors.ErrConversationExists) || kit.EndOf(t, err).State != "abandoned" {
			t.Errorf("got %v", err)
		}
		kit.WantElapsed(t, start, 0)
		if _, err := d.Wait(); err != nil {
			t.Errorf("the first: %v", err)
		}
		w.Settled(0)
	})
}

// TestMessagesOfEarlierConversation sends messages about an earlier conversation under the id of
// the current one.
func TestMessagesOfEarlierConversation(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		a := w.Peer("Jules")
		var first *p.Message
		for i := range 2 {
			d := w.Start(t.Context(), codons.WithConversation("chat"))
			request := a.Expect(p.ActTaskRequest)
			if i == 1 {
				a.Reply(first, kit.Result(p.StatusFailure))
				a.Silent()
			}
			first = request
			a.Reply(request, kit.Result(p.StatusSuccess))
			if got, err := d.Wait(); err != nil || got.Status != p.StatusSuccess {
				t.Errorf("task %d: %+v, %v", i, got, err)
			}
		}
	})
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var worked atomic.Int64
		w.Add("Jules", counting(&worked))
		a := w.Peer("peer")
		request := func() *p.Message {
			return a.Send(p.Envelope{Receiver: "Jules", ConversationID: "chat", ReplyWith: string(a.Stamp().ID), Payload: kit.Task()})
		}
		former := request()
		a.Expect(p.ActTaskAccept)
		a.Expect(p.ActInformResult)
		request()
		a.Expect(p.ActTaskAccept)
		cancel, _ := former.Follow(a.Stamp(), p.Cancel{})
		a.SendAgain(cancel)
		if r := a.Expect(p.ActFailure).AsRefusal(); r.Code != p.CodeConversationEnded {
			t.Errorf("got %v", r)
		}
		a.Expect(p.ActInformResult)
	})
}

// TestCancelOvertakesFurtherRound has a CANCEL arrive before the request of the second round that
// it withdraws: nothing of that round runs, whether or not the caller has named the conversation.
func TestCancelOvertakesFurtherRound(t *testing.T) {
	for _, name := range []p.ConversationID{"", "chat"} {
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			var considered atomic.Int64
			w.Add("Jules", &kit.Worker{Consider: func(context.Context, delegation.Task) delegation.Decision {
				considered.Add(1)
				return delegation.Accept()
			}, Perform: curious(1)})
			refused := kit.Recording(&w.Events, events.KindMessageRefused)
			var overtaken *p.Message
			w.Net.Intercept(func(m *p.Message) bool {
				if m.Performative() == p.ActTaskRequest && considered.Load() == 1 {
					overtaken = m
					return true
				}
				return false
			})
			d := w.Start(t.Context(), codons.WithConversation(name), codons.WithRetry(codons.Retry{First: -1}),
				delegation.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) { return kit.Task(), true }))
			synctest.Wait()
			d.Cancel()
			_, err := d.Wait()
			kit.WantEnd(t, err, "cancelled", p.CodeCanceled)
			w.Net.Intercept(nil)
			if err := w.Deliver("Jules", overtaken); err != nil {
				t.Fatal(err)
			}
			w.Settled(0)
			if considered.Load() != 1 {
				t.Errorf("conversation %q: %d tasks were considered, want 1", name, considered.Load())
			}
			for _, e := range kit.Published[events.MessageRefused](t, refused) {
				t.Errorf("conversation %q: %s was refused: %v", name, e.Message.Performative(), e.Refusal)
			}
		})
	}
}

// TestCancelOvertakesReopening has a CANCEL arrive before the request that it withdraws, which
// opens the second conversation of its id.
func TestCancelOvertakesReopening(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var worked atomic.Int64
		w.Add("Jules", counting(&worked))
		if _, err := w.Delegate(t.Context(), codons.WithConversation("chat")); err != nil {
			t.Fatal(err)
		}
		var overtaken *p.Message
		w.Net.Intercept(func(m *p.Message) bool {
			if m.Performative() == p.ActTaskRequest {
				overtaken = m
				return true
			}
			return false
		})
		d := w.Start(t.Context(), codons.WithConversation("chat"), codons.WithRetry(codons.Retry{First: -1}))
		synctest.Wait()
		d.Cancel()
		_, err := d.Wait()
		kit.WantEnd(t, err, "cancelled", p.CodeCanceled)
		w.Net.Intercept(nil)
		if err := w.Deliver("Jules", overtaken); err != nil {
			t.Fatal(err)
		}
		w.Settled(0)
		if worked.Load() != 1 {
			t.Errorf("worked %d times, want 1", worked.Load())
		}
	})
}

// TestLateCancelOfEarlierConversation has a CANCEL of an earlier conversation arrive while the
// current one of the same id awaits its further round, which goes on.
func TestLateCancelOfEarlierConversation(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{Perform: curious(1)})
		a := w.Peer("peer")
		say := func(about *p.Message) *p.Message {
			e := p.Envelope{Receiver: "Jules", ConversationID: "chat", Payload: kit.Task()}
			if about != nil {
				e.InReplyTo = string(about.ID())
			}
			m := a.Send(e)
			a.Expect(p.ActTaskAccept)
			a.Expect(p.ActInformResult)
			return m
		}
		former := say(nil)
		say(former)
		cancel, err := former.Follow(a.Stamp(), p.Cancel{})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		current := say(nil)
		a.SendAgain(cancel)
		if r := a.Expect(p.ActFailure).AsRefusal(); r.Code != p.CodeConversationEnded {
			t.Errorf("got %v", r)
		}
		say(current)
		w.Settled(0)
	})
}

func TestSameConversationIDOfTwoPeers(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var worked atomic.Int64
		w.Add("Jules", counting(&worked))
		a, b := w.Peer("a"), w.Peer("b")
		say := func(x *kit.Peer, text string) *p.Message {
			return x.Send(p.Envelope{Receiver: "Jules", ConversationID: "same", Payload: p.TaskRequest{TaskType: "x", Description: text}})
		}
		ra, rb := say(a, "a"), say(b, "b")
		for x, want := range map[*kit.Peer]string{a: "a", b: "b"} {
			x.Expect(p.ActTaskAccept)
			if r, _ := p.PayloadAs[p.InformResult](x.Expect(p.ActInformResult)); r.Summary != want {
				t.Errorf("%s got the result of %s", want, r.Summary)
			}
		}
		synctest.Wait()
		a.SendAgain(ra)
		b.SendAgain(rb)
		a.Expect(p.ActInformResult)
		b.Expect(p.ActInformResult)
		if worked.Load() != 2 {
			t.Errorf("worked %d times", worked.Load())
		}
	})
}

// TestWithoutConversationIDs has a peer whose dialect knows only in_reply_to.
func TestWithoutConversationIDs(t *testing.T) {
	for _, name := range []p.ConversationID{"", "chat"} {
		kit.InWorld(t, func(t *testing.T, w *kit.World) { // as the worker
			a := w.Peer("Jules")
			d := w.Start(t.Context(), codons.WithConversation(name), delegation.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) { return kit.Task(), true }))
			for i := range 3 {
				request := a.Expect(p.ActTaskRequest)
				a.Send(p.Envelope{Receiver: "eddy", InReplyTo: string(request.ID()), Payload: p.TaskAccept{}})
				if i < 2 {
					a.Send(p.Envelope{Receiver: "eddy", InReplyTo: request.ReplyWith(), Payload: kit.Asking("more")})
					continue
				}
				synctest.Wait()
				d.Cancel()
				cancel := a.Expect(p.ActCancel)
				a.Send(p.Envelope{Receiver: "eddy", InReplyTo: string(cancel.ID()), Payload: p.Receipt{}})
			}
			_, err := d.Wait()
			kit.WantEnd(t, err, "cancelled", p.CodeCanceled)
			w.Settled(0)
		})
	}
	kit.InWorld(t, func(t *testing.T, w *kit.World) { // as the asker
		var considered atomic.Int64
		w.Add("Jules", &kit.Worker{Consider: func(context.Context, delegation.Task) delegation.Decision {
			considered.Add(1)
			return delegation.Accept()
		}, Perform: curious(2)})
		a := w.Peer("peer")
		a.Send(p.Envelope{Receiver: "JULES", Payload: kit.Task()})
		a.Expect(p.ActTaskAccept)
		partial := a.Expect(p.ActInformResult)
		second := a.Send(p.Envelope{Receiver: "jules", InReplyTo: string(partial.ID()), Payload: kit.Task()})
		a.Expect(p.ActTaskAccept)
		partial = a.Expect(p.ActInformResult)
		third := a.Send(p.Envelope{Receiver: "jules", InReplyTo: string(second.ID()), Payload: kit.Task()})
		a.Expect(p.ActTaskAccept)
		if r, _ := p.PayloadAs[p.InformResult](a.Expect(p.ActInformResult)); !strings.HasSuffix(r.Summary, "round 0, round 1") {
			t.Errorf("the third round got %+v", r)
		}
		synctest.Wait()
		a.SendAgain(third) // late, and again
		a.Expect(p.ActInformResult)
		a.Send(p.Envelope{Receiver: "jules", InReplyTo: string(third.ID()), Payload: p.Cancel{}})
		a.Expect(p.ActInformResult)
		if considered.Load() != 3 {
			t.Errorf("%d tasks were considered, want 3 (%v)", considered.Load(), partial.ID())
		}
		w.Settled(0)
	})
}

// TestReopenedBeforeItsEnd has the next task of the same id arrive right before the conversation
// ends.
func TestReopenedBeforeItsEnd(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{Perform: func(_ context.Context, t delegation.Task) (p.InformResult, error) {
			return p.InformResult{Status: p.StatusSuccess, Summary: t.Description}, nil
		}})
		a := w.Peer("peer")
		say := func(text string) {
			a.Send(p.Envelope{Receiver: "Jules", ConversationID: "chat", Payload: p.TaskRequest{TaskType: "x", Description: text}})
		}
		w.Net.Set(systemtest.Fault{Act: p.ActInformResult, Left: 1, Do: func(n *systemtest.Network, m *p.Message) error {
			say("second")
			time.Sleep(time.Second) // it is in the conversation's mailbox by then
			return n.Deliver(m)
		}})
		say("first")
		for _, want := range []string{"first", "second"} {
			a.Expect(p.ActTaskAccept)
			if r, _ := p.PayloadAs[p.InformResult](a.Expect(p.ActInformResult)); r.Summary != want {
				t.Errorf("got the result of %q, want %q", r.Summary, want)
			}
		}
		a.Silent()
		w.Settled(0)
	})
}
