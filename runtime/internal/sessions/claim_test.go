package sessions

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/relay"
	"github.com/ribosome-agents/ribosome/wire"
)

// sender takes the ids of the messages that are sent over a link.
type sender chan performatives.MessageID

func (s sender) Send(m *performatives.Message) error {
	s <- m.ID()
	return nil
}

// elsewhere is an agent of a session with the node n1.
type elsewhere struct {
	Elsewhere
	link *relay.Link
}

func (elsewhere) Node() string          { return "n1" }
func (elsewhere) Moves() bool           { return true }
func (elsewhere) ClaimedBy(string) bool { return true }
func (e elsewhere) Leave() *relay.Link  { return e.link }

// An answer to an agent that has come from another node waits for the agent's requests, also if
// that node takes some seconds to send them. It does not wait for ever.
func TestAnswersWaitForTheRequests(t *testing.T) {
	for name, one := range map[string]struct{ adopted, sent time.Duration }{
		"soon":  {100 * time.Millisecond, 100 * time.Millisecond},
		"late":  {4 * time.Second, 4 * time.Second},
		"never": {time.Hour, adoptTime},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				system, err := actors.NewSystem(actors.Options{Node: "n2"})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = system.Stop(context.WithoutCancel(t.Context())) }()
				r := relay.New(system, nil, func(performatives.AgentID) *relay.Link { return nil }, nil)
				p := New(Host{System: system, Relay: r, Handover: new(sync.Mutex), Changed: func(performatives.AgentID) {}}).NewPeers(PeerOptions{MaxAgents: 1})
				if _, err := system.Register("asker", elsewhere{link: r.NewLink(relay.Node, nil, relay.Limits{})}); err != nil {
					t.Fatal(err)
				}
				message := func(e performatives.Envelope) *performatives.Message {
					e.Timestamp, e.Payload = time.Now(), performatives.Raw("{}")
					m, err := performatives.New(e)
					if err != nil {
						t.Fatal(err)
					}
					return m
				}
				out := make(sender, 1)
				l := newLink(p, &wire.Session{})
				l.Link = r.NewLink(relay.Session, out, relay.Limits{Open: 1, Patience: time.Minute})
				p.node.Handover.Lock()
				a, err := p.claimLocked(l, "asker", message(performatives.Envelope{ID: "1", Performative: performatives.ActInform, Sender: "asker"}))
				p.node.Handover.Unlock()
				if err != nil {
					t.Fatal(err)
				}
				if err := a.Deliver(message(performatives.Envelope{ID: "2", Performative: performatives.ActInform, Sender: "worker", Receiver: "asker", InReplyTo: "q"})); err != nil {
					t.Fatal(err)
				}
				timer := time.AfterFunc(one.adopted, func() { a.Adopt("gateway", []byte("[]")) })
				defer timer.Stop()
				time.Sleep(one.sent - time.Millisecond)
				synctest.Wait()
				if len(out) > 0 {
					t.Errorf("%q was sent before", <-out)
				}
				time.Sleep(time.Millisecond)
				synctest.Wait()
				if len(out) != 1 {
					t.Error("it was not sent")
				}
			})
		})
	}
}
