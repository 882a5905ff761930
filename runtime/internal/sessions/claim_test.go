package sessions

import (
	"context"
	"errors"
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
	link, latest *relay.Link
}

func (elsewhere) Node() string          { return "n1" }
func (elsewhere) Moves() bool           { return true }
func (elsewhere) ClaimedBy(string) bool { return true }
func (e elsewhere) Leave() *relay.Link  { return e.link }
func (e elsewhere) Via() *relay.Link    { return e.latest }

// newPeers returns the handler of the sessions of a node.
func newPeers(t *testing.T) (*Peers, *relay.Relay) {
	t.Helper()
	system, err := actors.NewSystem(actors.Options{Node: "n2"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = system.Stop(context.WithoutCancel(t.Context())) })
	r := relay.New(system, nil, func(performatives.AgentID) *relay.Link { return nil }, func(*performatives.Message) bool { return true })
	return New(Host{System: system, Relay: r, Handover: new(sync.Mutex), Changed: func(performatives.AgentID) {}}).NewPeers(PeerOptions{MaxAgents: 1}), r
}

func message(t *testing.T, e performatives.Envelope) *performatives.Message {
	t.Helper()
	e.Timestamp, e.Payload = time.Now(), performatives.Raw("{}")
	m, err := performatives.New(e)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// claim gives an id to the session of l.
func claim(t *testing.T, l *link, p *Peers, id performatives.AgentID) *Agent {
	t.Helper()
	p.node.Handover.Lock()
	defer p.node.Handover.Unlock()
	a, err := p.claimLocked(l, id, message(t, performatives.Envelope{ID: "1", Performative: performatives.ActInform, Sender: id}))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// What an agent has asked over the link to its node goes on when it connects to this one, and so
// does what it has asked over another link since the directory has it there.
func TestRequestsComeAlong(t *testing.T) {
	for _, latest := range []bool{false, true} {
		p, r := newPeers(t)
		known := r.NewLink(relay.Node, nil, relay.Limits{Open: 1, Patience: time.Minute})
		over := known
		if latest {
			over = r.NewLink(relay.Node, nil, relay.Limits{Open: 1, Patience: time.Minute})
		}
		if _, err := p.node.System.Spawn(t.Context(), actors.Spec{ID: "worker", New: func() actors.Agent { return silent{} }}); err != nil {
			t.Fatal(err)
		}
		if err := over.Deliver(message(t, performatives.Envelope{ID: "q", Performative: performatives.ActRequest, Sender: "asker", Receiver: "worker"}), "asker"); err != nil {
			t.Fatal(err)
		}
		if _, err := p.node.System.Register("asker", elsewhere{link: known, latest: over}); err != nil {
			t.Fatal(err)
		}
		l := newLink(p, &wire.Session{})
		l.Link = r.NewLink(relay.Session, make(sender, 1), relay.Limits{Open: 1, Patience: time.Minute})
		claim(t, l, p, "asker")
		known.EndRecords(relay.Disconnected)
		over.EndRecords(relay.Disconnected)
		if r.Open() != 1 {
			t.Errorf("with another link %t: %d requests are open, want 1", latest, r.Open())
		}
		l.EndRecords(relay.Disconnected)
	}
}

// silent is an agent that answers nothing.
type silent struct{}

func (silent) Describe() performatives.Capabilities            { return performatives.Capabilities{} }
func (silent) Receive(*actors.Context, *performatives.Message) {}

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
				p, r := newPeers(t)
				from := r.NewLink(relay.Node, nil, relay.Limits{})
				if _, err := p.node.System.Register("asker", elsewhere{link: from, latest: from}); err != nil {
					t.Fatal(err)
				}
				out := make(sender, 1)
				l := newLink(p, &wire.Session{})
				l.Link = r.NewLink(relay.Session, out, relay.Limits{Open: 1, Patience: time.Minute})
				a := claim(t, l, p, "asker")
				if err := a.Deliver(message(t, performatives.Envelope{ID: "2", Performative: performatives.ActInform, Sender: "worker", Receiver: "asker", InReplyTo: "q"})); err != nil {
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

// stays is an agent of the node n1.
type stays struct{ elsewhere }

func (stays) Moves() bool { return false }

// A guest may not speak under the name of an agent of the node or of another one, also of one that is
// about to start, or has left memory. It may under that of an agent of a session, whose id is another.
func TestNamesOfGuests(t *testing.T) {
	p, r := newPeers(t)
	if _, err := p.node.System.Spawn(t.Context(), actors.Spec{ID: "runs", New: func() actors.Agent { return silent{} }}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.node.System.Reserve("starts"); err != nil {
		t.Fatal(err)
	}
	for id, d := range map[performatives.AgentID]actors.Destination{"far": stays{}, "session": &Agent{}, "far-session": elsewhere{}} {
		if _, err := p.node.System.Register(id, d); err != nil {
			t.Fatal(err)
		}
	}
	for name, hosted := range map[performatives.AgentID]bool{"runs": true, "starts": true, "far": true, "session": false, "far-session": false, "nobody": false} {
		l := newLink(p, &wire.Session{})
		l.Link = r.NewLink(relay.Session, make(sender, 1), relay.Limits{Open: 1, Patience: time.Minute})
		p.node.Handover.Lock()
		_, err := p.claimLocked(l, name+"-guest", message(t, performatives.Envelope{ID: "1", Performative: performatives.ActInform, Sender: name}))
		p.node.Handover.Unlock()
		if refused := errors.Is(err, performatives.CodeForbidden); refused != hosted {
			t.Errorf("as %s: %v", name, err)
		}
	}
}
