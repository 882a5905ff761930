package mesh

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/cluster/directory"
	"github.com/ribosome-agents/ribosome/cluster/membership"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/sessions"
	"github.com/ribosome-agents/ribosome/wire/grpc"
)

// fewMembers is a membership that knows some members.
type fewMembers struct {
	membership.Membership
	count int
}

func (m fewMembers) Members() []cluster.Member { return make([]cluster.Member, m.count) }

// A node is linked once it has had a link, or if it was alone. It is not any more when two or more
// links were up and all have been down for too long.
func TestLinked(t *testing.T) {
	for _, one := range []struct {
		name    string
		began   bool   // it was alone, or has had a link
		links   string // a letter each: u: up, n: was never up, l: was up, and has been down for too long
		joining int    // members whose links have not begun
		want    bool
	}{
		{"alone", false, "", 0, true},
		{"before its first link begins", false, "", 1, false},
		{"before its first link is up", false, "nn", 0, false},
		{"one link is up", true, "nun", 0, true},
		{"it was alone, and one joins that it cannot reach", true, "n", 0, true},
		{"it was alone, and two join that it cannot reach", true, "nn", 0, true},
		{"it has lost its only link", true, "l", 0, true},
		{"it has lost one link, and the other never was", true, "nl", 0, true},
		{"it has lost two", true, "ll", 0, false},
		{"it has lost two of three", true, "lul", 0, true},
	} {
		p, _ := newPlacing(t)
		c := newClustered(p.node)
		for i, link := range one.links {
			peer := cluster.Incarnation{Name: "n" + string(rune('2'+i)), Epoch: 1}
			c.addLocked(peer)
			if link == 'n' {
				continue
			}
			c.peers[peer].met.Store(true)
			if link == 'l' { // renew
				c.addLocked(peer)
				c.addLocked(peer) // each time that the link has been down for that long again
			}
		}
		c.linked.Store(one.began)
		c.members = fewMembers{count: 1 + len(one.links) + one.joining}
		p.node.cluster = c
		if got := p.node.Linked(); got != one.want {
			t.Errorf("%s: linked is %t, want %t", one.name, got, one.want)
		}
		p.node.cluster = newClustered(p.node)
	}
}

// Codons of which two nodes have different versions are logged when they change, and their messages
// are refused until the versions are the same.
func TestDifferingCodons(t *testing.T) {
	var log strings.Builder
	n := newLoggingMesh(t, slog.NewTextHandler(&log, nil))
	peer := cluster.Incarnation{Name: "n2", Epoch: 1}
	n.cluster.links = &sentLinks{}
	n.cluster.addLocked(peer)
	l := n.cluster.peers[peer]
	logged := 0
	for _, differ := range [][]string{nil, {"b", "a"}, {"a", "b"}, nil, nil, {"a"}} {
		before := strings.Count(log.String(), "different versions")
		if l.connected(differ); strings.Count(log.String(), "different versions") > before {
			logged++
		}
		err := l.Send(act(t, "q", performatives.ActRequest, func(e *performatives.Envelope) { e.Receiver, e.Protocol = "k/a", "a" }))
		if errors.Is(err, performatives.CodeIncapable) != (len(differ) > 0) {
			t.Errorf("with the codons %q, a message is sent: %v", differ, err)
		}
	}
	if logged != 2 {
		t.Errorf("logged %d times, want 2: %s", logged, log.String())
	}
	_ = stop(t.Context(), n)
}

// A node has begun once it has joined a cluster, and also when it has left it. A node without a
// cluster has not, also when it has stopped.
func TestHasBegun(t *testing.T) {
	for name, one := range map[string]struct {
		members       membership.Membership
		ready, leaves bool
		want          bool
	}{
		"while it joins":                 {fewMembers{count: 2}, false, false, false},
		"it has joined":                  {aloneMembership{}, true, false, true},
		"it has left":                    {aloneMembership{}, true, true, true},
		"without a cluster":              {nil, false, false, false},
		"without a cluster, and stopped": {nil, false, true, false},
	} {
		p, _ := newPlacing(t)
		c := newClustered(p.node)
		if c.members = one.members; one.ready {
			c.begin()
		}
		if one.leaves {
			p.node.cluster = c
			if err := p.node.Leave(t.Context()); err != nil {
				t.Errorf("%s: stop: %v", name, err)
			}
		}
		if got := c.hasBegun(); got != one.want {
			t.Errorf("%s: has begun is %t, want %t", name, got, one.want)
		}
	}
}

// What the other nodes are told of the addresses of a node, and its membership of the rest.
func TestAdvertisedAddresses(t *testing.T) {
	p, _ := newPlacing(t)
	c := newClustered(p.node)
	for name, one := range map[string]struct {
		o                       Options
		listens, links, gossips string
	}{
		"as it listens":                         {Options{Gossip: "127.0.0.1:7"}, "127.0.0.2:9", "127.0.0.2:9", ""},
		"at all addresses":                      {Options{Gossip: "127.0.0.1:7"}, "0.0.0.0:9", "127.0.0.1:9", ""},
		"at all of IPv6":                        {Options{Gossip: "[::1]:7"}, "[::]:9", "[::1]:9", ""},
		"without a host":                        {Options{Gossip: "127.0.0.1:7"}, ":9", "127.0.0.1:9", ""},
		"at a name":                             {Options{Gossip: "127.0.0.1:7"}, "n1.example:9", "n1.example:9", ""},
		"at an address which others are told":   {Options{Gossip: "127.0.0.1:7", Advertise: "10.0.0.1"}, "127.0.0.2:9", "10.0.0.1:9", "10.0.0.1:7"},
		"at all, with one that others are told": {Options{Gossip: "0.0.0.0:7", Advertise: "10.0.0.1"}, "0.0.0.0:9", "10.0.0.1:9", "10.0.0.1:7"},
	} {
		one.o.Join, one.o.Keys, one.o.Labels = []string{"127.0.0.1:8"}, [][]byte{{1}}, map[string]string{"zone": "a"}
		one.o.Profile = membership.WAN
		one.o.Links, one.o.Accept = one.listens, func(func(*grpc.LinkStream)) {}
		if err := c.listen(one.o); err != nil {
			t.Fatal(err)
		}
		log := p.node.System.Logger()
		got := one.o.membership(p.node, c, log)
		if got.Gossiped != membership.GossipState(c) || got.Notify == nil || got.Logger != log {
			t.Errorf("%s: it does not tell the node", name)
		}
		got.Gossiped, got.Notify, got.Logger = nil, nil, nil
		want := membership.Options{
			Name: "n1", Epoch: c.self.Epoch, Bind: one.o.Gossip, Advertise: one.gossips, Links: one.links, Seeds: one.o.Join, Keys: one.o.Keys, Labels: one.o.Labels,
			Profile: membership.WAN,
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}

// telling is a membership that counts what it is told, and whose end fails.
type telling struct {
	aloneMembership
	deltas, states int
	left, stopped  error
}

func (m *telling) Broadcast([]byte) error                     { m.deltas++; return nil }
func (m *telling) SendBulk(cluster.Incarnation, []byte) error { m.states++; return nil }
func (m *telling) Leave(context.Context) error                { return m.left }
func (m *telling) Stop(context.Context) error                 { return m.stopped }

// failingLinks are links whose end fails.
type failingLinks struct {
	sentLinks
	stopped error
}

func (l *failingLinks) Stop(context.Context) error { return l.stopped }

// The first error of a stop is told. That the other nodes do not know of it is none.
func TestErrorOfTheStop(t *testing.T) {
	links, members, left := errors.New("links"), errors.New("members"), errors.New("not told")
	for _, one := range []struct{ links, left, members, want error }{
		{}, {left: left}, {links: links, want: links}, {members: members, want: members}, {links, left, members, links},
	} {
		p, _ := newPlacing(t)
		c := newClustered(p.node)
		c.links, c.members = &failingLinks{stopped: one.links}, &telling{left: one.left, stopped: one.members}
		p.node.cluster = c
		if err := p.node.Leave(t.Context()); !errors.Is(err, one.want) {
			t.Errorf("got %v, want %v", err, one.want)
		}
		if err := p.node.Leave(t.Context()); err != nil {
			t.Errorf("a second time: %v", err)
		}
	}
}

// A burst of changes is told one by one at first, and then by one state.
func TestBurstOfChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := newPlacing(t)
		c, members := newClustered(p.node), &telling{}
		c.links, c.members = &sentLinks{}, members
		p.node.cluster = c
		c.begin()
		c.join(cluster.Member{Incarnation: cluster.Incarnation{Name: "n2", Epoch: 1}})
		next := 0
		for _, one := range []struct {
			changes, deltas, states int
			rest                    time.Duration
		}{
			{burstSize, burstSize, 0, 2 * burstTime}, {burstSize + 1, burstSize, 1, 2 * burstTime}, {3 * burstSize, burstSize, 1, 2 * burstTime}, {1, 1, 0, burstTime}, {1, 1, 0, 0},
		} {
			members.deltas, members.states = 0, 0
			for range one.changes {
				id := performatives.AgentID(fmt.Sprint("x", next))
				if _, err := p.node.System.Register(id, nowhere{}); err != nil {
					t.Fatal(err)
				}
				p.node.AgentChanged(id)
				next++
			}
			time.Sleep(one.rest)
			synctest.Wait()
			if members.deltas != one.deltas || members.states != one.states {
				t.Errorf("%d changes are told by %d deltas and %d states, want %d and %d", one.changes, members.deltas, members.states, one.deltas, one.states)
			}
		}
		_ = stop(t.Context(), p.node)
	})
}

// An agent of a session that was at another node before is there later, whatever the clocks say, and
// an agent of a node is where it has been registered.
func TestSinceOfAnAgent(t *testing.T) {
	const ahead = 1 << 60
	for _, one := range []struct{ session, theirs, later bool }{{true, true, true}, {true, false, false}, {false, true, false}} {
		p, _ := newPlacing(t)
		c, peer := newClustered(p.node), cluster.Incarnation{Name: "n2", Epoch: 1}
		theirs := directory.New(peer)
		theirs.Put(directory.Entry{Agent: "ui", Hidden: true, Moves: one.theirs, Since: ahead}, nil)
		if _, err := c.replica.Merge(theirs.State()); err != nil {
			t.Fatal(err)
		}
		var at actors.Destination = nowhere{}
		if one.session {
			at = &sessions.Agent{}
		}
		r, err := p.node.System.Register("UI", at)
		if err != nil {
			t.Fatal(err)
		}
		before := uint64(time.Now().UnixMicro())
		for range 2 { // the second time it is the same
			c.putLocked(r)
			entries := c.replica.Lookup("ui")
			own := entries[slices.IndexFunc(entries, func(e directory.Entry) bool { return e.Owner == c.self })]
			if own.Moves != one.session || (own.Since == ahead+1) != one.later || !one.later && (own.Since > before+1_000_000 || own.Since+1_000_000 < before) {
				t.Errorf("%+v: its entry is %+v", one, own)
			}
		}
		r.Remove()
	}
}

// partlyDown are links some of which take no message.
type partlyDown struct {
	sentLinks
	down map[string]error // by the name of the node
}

func (l *partlyDown) Send(peer cluster.Incarnation, _ *performatives.Message) error {
	return l.down[peer.Name]
}

// A broadcast is sent to each other node, as far as it can be.
func TestBroadcastToNodes(t *testing.T) {
	long := &performatives.Refusal{Code: performatives.CodeInvalidPayload}
	for name, one := range map[string]struct {
		down map[string]error
		err  error
	}{
		"to all":         {nil, nil},
		"to the first":   {map[string]error{"n3": errNodeGone}, nil},
		"to the second":  {map[string]error{"n2": errNodeGone}, nil},
		"to none":        {map[string]error{"n2": errNodeGone, "n3": errNodeGone}, performatives.CodeUnknownAgent},
		"it is too long": {map[string]error{"n3": long}, performatives.CodeInvalidPayload},
	} {
		p, _ := newPlacing(t)
		c := newClustered(p.node)
		c.links = &partlyDown{down: one.down}
		for _, peer := range []string{"n2", "n3"} {
			c.addLocked(cluster.Incarnation{Name: peer, Epoch: 1})
		}
		p.node.cluster = c
		if err := p.node.broadcast(act(t, "b", performatives.ActInform, func(*performatives.Envelope) {}), false); !errors.Is(err, one.err) {
			t.Errorf("%s: %v, want %v", name, err, one.err)
		}
	}
}
