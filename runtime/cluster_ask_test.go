package runtime_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/internal/patience"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// Self.Ask is the only memory of its request on the asker's node while it waits. When it ends
// without a reply, the worker on another node gets CANCEL, and what it answers later is a dead
// letter.
func TestAskThatEndsBeforeItsReply(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	nodes := newCluster(t, 2)
	received := make(chan *p.Message, 8)
	spawn(t, nodes[1], "Mute", always(scripted{topics: []string{"x"}, receive: func(_ *actors.Context, m *p.Message) { received <- m }}))
	knowsTopic(t, nodes[0], "Mute")
	for name, end := range map[string]func(cancel context.CancelFunc) error{
		"its ctx ends": func(cancel context.CancelFunc) error {
			cancel()
			return context.Canceled
		},
		"its agent stops": func(context.CancelFunc) error {
			if err := nodes[0].StopAgent(patience.Context(t), "asker"); err != nil {
				t.Error(err)
			}
			return actors.ErrStopped
		},
	} {
		asker, err := nodes[0].Client(patience.Context(t), "asker")
		if err != nil {
			t.Fatal(err)
		}
		dead := listen(t, nodes[0], events.KindMessageDeadLettered)
		request := message(t, "asker", "Mute", p.ActRequest)
		ctx, cancel := context.WithCancel(patience.Context(t))
		asked := make(chan error, 1)
		go func() { _, err := asker.Ask(ctx, request); asked <- err }()
		if m := <-received; m.ID() != request.ID() {
			t.Fatalf("%s: received %v", name, m)
		}
		if open := nodes[0].OpenRecords(); open != 0 {
			t.Errorf("%s: %d records are open while the ask waits", name, open)
		}
		other := message(t, "asker", "Mute", p.ActRequest, func(e *p.Envelope) { e.ConversationID = request.ConversationID() })
		answered := make(chan error, 1)
		go func() { _, err := asker.Ask(patience.Context(t), other); answered <- err }()
		if m := <-received; m.ID() != other.ID() {
			t.Fatalf("%s: received %v", name, m)
		}
		want := end(cancel)
		if err := <-asked; !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
		if m := <-received; m.Performative() != p.ActCancel || m.ConversationID() != request.ConversationID() {
			t.Errorf("%s: received %v, want CANCEL", name, m)
		}
		if errors.Is(want, context.Canceled) { // else nobody is there to get a reply
			reply, err := request.ReplyFrom("Mute", nodes[1].Self().Stamp(), p.ActInform, p.Raw(`{}`))
			if err != nil {
				t.Fatal(err)
			}
			if err := nodes[1].Send(reply); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			await(t, dead, 1, func(e events.DeadLetter) bool {
				m, ok := e.Message.(*p.Message)
				return ok && m.ID() == reply.ID() && e.Code == p.CodeConversationEnded
			})
		}
		if errors.Is(want, context.Canceled) {
			reply, err := other.ReplyFrom("Mute", nodes[1].Self().Stamp(), p.ActInform, p.Raw(`{}`))
			if err != nil {
				t.Fatal(err)
			}
			if err := nodes[1].Send(reply); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if err := <-answered; err != nil {
				t.Errorf("%s: another ask of the conversation: %v", name, err)
			}
		} else if m := <-received; m.Performative() != p.ActCancel {
			t.Errorf("%s: received %v, want CANCEL of the other ask", name, m)
		}
		cancel()
		_ = nodes[0].StopAgent(patience.Context(t), "asker") // the error is that it has stopped
	}
}
