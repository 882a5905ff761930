package codons_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/standard"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// TestInitiatorLosesItsPeer loses the worker of a task before and after it has accepted, and after
// the CANCEL.
func TestInitiatorLosesItsPeer(t *testing.T) {
	for name, c := range map[string]struct {
		accepted, cancelled bool
	}{"before the acceptance": {}, "after it": {accepted: true}, "after CANCEL": {accepted: true, cancelled: true}} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				peer := w.Peer("Jules")
				d := w.Start(t.Context())
				task := peer.Expect(p.ActTaskRequest)
				if c.accepted {
					peer.Reply(task, p.TaskAccept{})
				}
				if c.cancelled {
					d.Cancel()
					peer.Expect(p.ActCancel)
				}
				synctest.Wait()
				start := time.Now()
				w.LosePeers(p.CodeDisconnected, "jules")
				_, err := d.Wait()
				kit.WantEnd(t, err, standard.StateFailed, p.CodeDisconnected)
				kit.WantElapsed(t, start, 0)
				w.Settled(0)
			})
		})
	}
}

// TestResultBeforeTheLossIsAResult has the result and 100 reports of progress in the mailboxes when
// the worker is lost, the result in the lowest band.
func TestResultBeforeTheLossIsAResult(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		peer := w.Peer("Jules")
		d := w.Start(t.Context(), codons.WithPriority(p.Urgent))
		task := peer.Expect(p.ActTaskRequest)
		for range 100 {
			peer.Reply(task, p.StatusUpdate{Description: "at work"})
		}
		last, err := p.New(p.Envelope{
			ID: "last", Sender: "Jules", Receiver: "Eddy", ConversationID: task.ConversationID(), InReplyTo: task.ReplyWith(),
			Protocol: task.Protocol(), Timestamp: time.Now(), Priority: p.Low, Payload: kit.Result(p.StatusSuccess),
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Deliver("Eddy", last); err != nil {
			t.Fatal(err)
		}
		w.LosePeers(p.CodeDisconnected, "Jules")
		if _, err := d.Wait(); err != nil {
			t.Error(err)
		}
		w.Settled(0)
	})
}

// TestResponderLosesItsPeer stops the work for an initiator that is lost. Its repeated request and
// its CANCEL are answered: the work was given up.
func TestResponderLosesItsPeer(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		causes := make(chan error, 1)
		w.Add("Jules", &kit.Worker{Perform: func(ctx context.Context, _ delegation.Task) (p.InformResult, error) {
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return p.InformResult{}, ctx.Err()
		}})
		peer := w.Peer("peer")
		request := peer.Send(p.Envelope{Receiver: "Jules", Payload: kit.Task()})
		peer.Expect(p.ActTaskAccept)
		w.LosePeers(p.CodeDisconnected, "peer")
		if err := <-causes; !errors.Is(err, codons.ErrPeerLost) {
			t.Errorf("the handler ended for %v", err)
		}
		lost := func() {
			t.Helper()
			if r := peer.Expect(p.ActFailure).AsRefusal(); r.Code != p.CodeDisconnected {
				t.Errorf("got %v", r)
			}
		}
		lost()
		peer.SendAgain(request)
		lost()
		peer.Send(p.Envelope{Receiver: "Jules", Payload: p.Cancel{}, ConversationID: request.ConversationID(), InReplyTo: string(request.ID()), Protocol: "task-delegation"})
		lost()
		w.Settled(0)
	})
}

// TestLossSparesTheNextDestination has the peer come back while the loss is on its way: its new
// request is performed.
func TestLossSparesTheNextDestination(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{})
		peer := w.Peer("peer")
		w.LosePeers(p.CodeDisconnected, "peer")
		peer.Send(p.Envelope{Receiver: "Jules", Payload: kit.Task()})
		peer.Expect(p.ActTaskAccept)
		peer.Expect(p.ActInformResult)
		w.Settled(0)
	})
}

// TestLossOfAChildsPeerKeepsTheReceiptBack cancels a worker whose child has lost its own worker:
// that one perhaps runs on.
func TestLossOfAChildsPeerKeepsTheReceiptBack(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		helper := w.Peer("Helper")
		lost := make(chan struct{})
		var self actors.Self
		self = w.Add("Jules", &kit.Worker{Perform: func(ctx context.Context, _ delegation.Task) (p.InformResult, error) {
			_, err := delegation.Delegate(ctx, self, "Helper", kit.Task())
			kit.WantEnd(t, err, standard.StateFailed, p.CodeDisconnected)
			close(lost)
			<-ctx.Done()
			return p.InformResult{}, ctx.Err()
		}})
		d := w.Start(t.Context())
		helper.Expect(p.ActTaskRequest)
		w.LosePeers(p.CodeDisconnected, "Helper")
		<-lost
		d.Cancel()
		_, err := d.Wait()
		kit.WantEnd(t, err, standard.StateFailed, p.CodeStillRunning)
		w.Settled(0)
	})
}

// TestLossWhileTheHandlerOverruns loses the initiator of a task that was withdrawn, and whose
// handler goes on.
func TestLossWhileTheHandlerOverruns(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		release := make(chan struct{})
		w.Add("Jules", &kit.Worker{Perform: func(context.Context, delegation.Task) (p.InformResult, error) {
			<-release
			return kit.Result(p.StatusSuccess), nil
		}})
		peer := w.Peer("peer")
		request := peer.Send(p.Envelope{Receiver: "Jules", Payload: kit.Task()})
		peer.Expect(p.ActTaskAccept)
		peer.Send(p.Envelope{Receiver: "Jules", Payload: p.Cancel{}, ConversationID: request.ConversationID(), InReplyTo: string(request.ID()), Protocol: "task-delegation"})
		synctest.Wait()
		w.LosePeers(p.CodeDisconnected, "peer")
		if r := peer.Expect(p.ActFailure).AsRefusal(); r.Code != p.CodeStillRunning {
			t.Errorf("got %v", r)
		}
		close(release)
		w.Settled(0)
	})
}

// TestLostPeerMayHaveUsedItsBudget loses a worker that has reported a part of its usage.
func TestLostPeerMayHaveUsedItsBudget(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		peer := w.Peer("Jules")
		d := w.Start(t.Context(), codons.WithBudget(codons.Budget{codons.Tokens: 500}))
		task := peer.Expect(p.ActTaskRequest)
		peer.Send(p.Envelope{
			Receiver: "Eddy", ConversationID: task.ConversationID(), InReplyTo: task.ReplyWith(), Protocol: task.Protocol(),
			Payload: p.StatusUpdate{Description: "at work"}, Budget: p.ContentOf(codons.Budget{codons.Tokens: 20}),
		})
		synctest.Wait()
		w.LosePeers(p.CodeDisconnected, "Jules")
		<-d.Done()
		if got := d.Spent()[codons.Tokens]; got != 500 {
			t.Errorf("%v tokens count as used, want 500", got)
		}
		w.Settled(0)
	})
}
