package runtime_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// hub is a node that accepts connections.
type hub struct {
	*runtime.Node
	t      testing.TB
	peers  *runtime.Peers
	server *wire.Server
	events *record
}

func newHub(t testing.TB, o runtime.PeerOptions, with ...func(*wire.Options)) *hub {
	t.Helper()
	return newHubOf(t, newNode(t, runtime.Options{Name: "hub"}), o, with...)
}

func newHubOf(t testing.TB, n *runtime.Node, o runtime.PeerOptions, with ...func(*wire.Options)) *hub {
	t.Helper()
	peers, err := runtime.NewPeers(n, o)
	if err != nil {
		t.Fatal(err)
	}
	options := wire.Options{Handler: peers, Dialects: []wire.Dialect{acl.Dialect{}}, Anonymous: true}
	for _, f := range with {
		f(&options)
	}
	server, err := wire.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	h := &hub{Node: n, t: t, peers: peers, server: server, events: listen(t, n, events.KindAgentAnnounced, events.KindAgentStopped)}
	t.Cleanup(h.stopServer)
	return h
}

func (h *hub) stopServer() {
	ctx, cancel := context.WithTimeout(context.Background(), patience.Time)
	defer cancel()
	if err := h.server.Stop(ctx); err != nil {
		h.t.Errorf("Server.Stop: %v", err)
	}
}

// dial opens a session. cut closes both ends of its connection.
func (h *hub) dial(id *wire.Identity, handler wire.Handler) (s *wire.Session, cut func(), err error) {
	near, far := wiretest.Pipe()
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = h.server.Serve(far, id)
	}()
	s, err = wire.Connect(near, wire.Options{Handler: handler, Dialects: []wire.Dialect{acl.Dialect{}}})
	if err != nil {
		return nil, nil, err
	}
	return s, func() { _ = near.Close(); <-s.Done(); <-served }, nil
}

func (h *hub) spawn(id performatives.AgentID, create func() actors.Agent) {
	h.t.Helper()
	if err := h.Spawn(patience.Context(h.t), id, create); err != nil {
		h.t.Fatal(err)
	}
}

// awaitVisible waits until an agent can be found.
func (h *hub) awaitVisible(id performatives.AgentID) {
	h.t.Helper()
	await(h.t, h.events, 1, func(e events.AgentAnnounced) bool { return e.Agent.Is(id) })
}

// awaitStopped waits until an agent has stopped n times.
func (h *hub) awaitStopped(id performatives.AgentID, n int) {
	h.t.Helper()
	await(h.t, h.events, n, func(e events.AgentStopped) bool { return e.Agent.Is(id) })
}

// awaitVisibleAgain waits until an agent has stopped n times and can be found. The two
// events may be recorded in either order.
func (h *hub) awaitVisibleAgain(id performatives.AgentID, n int) {
	h.t.Helper()
	h.awaitStopped(id, n)
	for seen := 0; !slices.Contains(h.Directory().IDs(), id); {
		seen = len(await[events.Event](h.t, h.events, seen+1, nil))
	}
}

// outpost is a node that is connected to the hub by an uplink.
type outpost struct {
	*runtime.Node
	up *runtime.Uplink

	mu  sync.Mutex
	cut func() // cuts the current connection
}

func newOutpost(t testing.TB, h *hub, name string, with ...func(*runtime.UplinkOptions)) *outpost {
	t.Helper()
	return newOutpostOf(t, newNode(t, runtime.Options{Name: name}), h, with...)
}

func newOutpostOf(t testing.TB, n *runtime.Node, h *hub, with ...func(*runtime.UplinkOptions)) *outpost {
	t.Helper()
	o := &outpost{Node: n}
	options := runtime.UplinkOptions{Introduce: true, Dial: func(_ context.Context, handler wire.Handler) (*wire.Session, error) {
		s, cut, err := h.dial(nil, handler)
		o.mu.Lock()
		o.cut = cut
		o.mu.Unlock()
		return s, err
	}}
	for _, f := range with {
		f(&options)
	}
	up, err := n.Uplink(options)
	if err != nil {
		t.Fatal(err)
	}
	o.up = up
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience.Time)
		defer cancel()
		if err := up.Stop(ctx); err != nil {
			t.Errorf("Uplink.Stop: %v", err)
		}
	})
	return o
}

// connected returns an outpost with agents and an open session.
func connected(t testing.TB, h *hub, name string, agents map[performatives.AgentID]func() actors.Agent) *outpost {
	t.Helper()
	o := newOutpost(t, h, name)
	for id, create := range agents {
		if err := o.Spawn(patience.Context(t), id, create); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.up.Connect(patience.Context(t)); err != nil {
		t.Fatal(err)
	}
	for id := range agents {
		h.awaitVisible(id)
	}
	return o
}

// disconnect cuts the connection.
func (o *outpost) disconnect() {
	o.mu.Lock()
	cut := o.cut
	o.mu.Unlock()
	cut()
}

type crew = map[performatives.AgentID]func() actors.Agent

// caller is a peer without a node. It sends and receives single messages.
type caller struct {
	wiretest.Recorder
	t       testing.TB
	session *wire.Session
	cut     func()
}

func newCaller(t testing.TB, h *hub, id *wire.Identity) *caller {
	t.Helper()
	c := &caller{t: t}
	var err error
	if c.session, c.cut, err = h.dial(id, &c.Recorder); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.cut)
	return c
}

func (c *caller) say(m *performatives.Message) {
	c.t.Helper()
	if err := c.session.Send(m); err != nil {
		c.t.Fatal(err)
	}
}

// answer waits for the n-th received message, counted from 1.
func (c *caller) answer(n int) *performatives.Message {
	c.t.Helper()
	return c.Await(c.t, n)[n-1]
}

// offers sets the capabilities of an introduction.
func offers(actions ...string) func(*performatives.Envelope) {
	c := &performatives.Capabilities{}
	for _, name := range actions {
		c.Actions = append(c.Actions, performatives.Action{Name: name})
	}
	return with(performatives.QueryCapabilities{Type: performatives.QuerySummary, Capabilities: c})
}

// with sets the payload of a message.
func with(payload any) func(*performatives.Envelope) {
	return func(e *performatives.Envelope) { e.Payload = payload }
}

func task(name string) performatives.TaskRequest { return performatives.TaskRequest{TaskType: name} }

var noPeerOptions runtime.PeerOptions

// withoutIntroduction disables the introduction of agents.
func withoutIntroduction(o *runtime.UplinkOptions) { o.Introduce = false }
