package mesh

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/cluster/directory"
	"github.com/ribosome-agents/ribosome/performatives"
)

// linksTo returns links to nodes.
func linksTo(c *clustered, nodes ...string) (all []*nodeLink) {
	c.links = &sentLinks{}
	for _, name := range nodes {
		peer := cluster.Incarnation{Name: name, Epoch: 1}
		c.addLocked(peer)
		all = append(all, c.peers[peer])
	}
	return all
}

// A link leads to an agent which the directory has at the node, unless another link was the last
// over which it was heard.
func TestLinkLeads(t *testing.T) {
	n := newMesh(t)
	defer stop(t.Context(), n) //nolint:errcheck // nothing runs
	c := n.cluster
	links := linksTo(c, "n2", "n3")
	lead := c.leadLocked(nil, wanted{entry: directory.Entry{Agent: "Far", Owner: links[0].peer}, link: links[0]})
	want := func(what string, n2, n3 bool) {
		t.Helper()
		for i, want := range []bool{n2, n3} {
			if got := links[i].Leads("fAR"); got != want {
				t.Errorf("%s: the link to %s leads to it: %t", what, links[i].peer.Name, got)
			}
		}
	}
	want("in the directory", true, false)
	c.heard.note("far", heardOver{links[1], true})
	want("heard over another link", false, false)
	c.heard.note("far", heardOver{links[0], true})
	want("heard over its own link", true, false)
	c.removeLocked(lead)
	want("not in the directory", false, false)
}

// A request to a busy agent delays the messages of its node that follow. An answer does not.
func TestPauseOfANode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newMesh(t)
		defer stop(t.Context(), n) //nolint:errcheck // nothing runs
		l := linksTo(n.cluster, "n2")[0]
		self, err := n.System.Spawn(t.Context(), actors.Spec{ID: "busy", New: func() actors.Agent { return still{} }})
		if err != nil {
			t.Fatal(err)
		}
		pause := func(answers string) time.Duration {
			m, err := performatives.New(performatives.Envelope{
				ID: "m", Timestamp: time.Now(), Performative: performatives.ActInform, Sender: "far", Receiver: "busy", InReplyTo: answers, Payload: performatives.Raw("{}"),
			})
			if err != nil {
				t.Fatal(err)
			}
			return l.receive(m, 0)
		}
		if got := pause(""); got != 0 {
			t.Errorf("an idle agent: %v", got)
		}
		self.NoteBusy()
		if got := pause(""); got != time.Millisecond {
			t.Errorf("a busy agent: %v", got)
		}
		if got := pause("q"); got != 0 {
			t.Errorf("an answer: %v", got)
		}
	})
}

// A placed agent that the directory has lost comes again at another node: where it was heard before
// says nothing of that.
func TestRemovedAgentIsNotHeard(t *testing.T) {
	n := newMesh(t)
	defer stop(t.Context(), n) //nolint:errcheck // nothing runs
	c := n.cluster
	l := linksTo(c, "n2")[0]
	lead := c.leadLocked(nil, wanted{entry: directory.Entry{Agent: "k/a", Owner: l.peer, Placed: true}, link: l})
	c.heard.note("k/a", heardOver{l, true})
	if c.removeLocked(lead); c.heard.from("k/a") != nil {
		t.Error("it is still taken for an agent of the node")
	}
}

// One that was heard at another node since is there: it gets its answers, although that node has not
// told of it yet.
func TestRemovedAgentIsHeardElsewhere(t *testing.T) {
	n := newMesh(t)
	defer stop(t.Context(), n) //nolint:errcheck // nothing runs
	c := n.cluster
	l := linksTo(c, "n2", "n3")
	lead := c.leadLocked(nil, wanted{entry: directory.Entry{Agent: "k/a", Owner: l[0].peer, Placed: true}, link: l[0]})
	l[1].receive(act(t, "q", performatives.ActRequest, func(e *performatives.Envelope) { e.Sender, e.Receiver = "k/a", "worker" }), 0)
	if c.removeLocked(lead); c.heard.from("k/a") != l[1] {
		t.Error("there is no way to it")
	}
}

// A node that has died and is back may be heard of before its death, and its agents elsewhere, too.
// Who asks an agent of its earlier run is told of the death all the same, and not the next run of
// the agent.
func TestAskerOfANodeThatIsBack(t *testing.T) {
	for name, one := range map[string]struct {
		reason string
		next   string // the node that runs the agent then; empty: none
		first  uint64 // of the runs that the next one continues
		open   int    // records
		at     string // where the agent is in the end
	}{
		"it runs nowhere":                     {"failed", "", 0, 0, ""},
		"it runs on another node":             {"failed", "n3", 0, 0, "n3"},
		"it runs there again":                 {"failed", "n2", 0, 0, ""}, // until that node has joined
		"it was handed over":                  {"left", "n3", 1, 1, "n3"},
		"it was handed over before the death": {"failed", "n3", 1, 1, "n3"},
		"it has ended, and runs elsewhere":    {"left", "n3", 0, 1, "n3"},
		"it was handed over, and has no link": {"left", "n4", 1, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			n := newMesh(t)
			defer stop(t.Context(), n) //nolint:errcheck // nothing runs
			c := n.cluster
			l := linksTo(c, "n2", "n3")
			tells := func(node string, epoch, since, first uint64) {
				r := directory.New(cluster.Incarnation{Name: node, Epoch: epoch})
				if since != 0 {
					r.Put(directory.Entry{Agent: "k/a", Hidden: true, Placed: true, Since: since, First: first}, nil)
				}
				c.Merge(r.OwnState())
				c.refresh()
			}
			tells("n2", 1, 1, 0)
			if _, err := n.System.Spawn(t.Context(), actors.Spec{ID: "asker", New: func() actors.Agent { return still{} }}); err != nil {
				t.Fatal(err)
			}
			ask := act(t, "q", performatives.ActRequest, func(e *performatives.Envelope) { e.Sender, e.Receiver = "asker", "k/a" })
			if err := n.Route(ask); err != nil {
				t.Fatal(err)
			}
			if open := n.Relay.Open(); open != 1 {
				t.Fatalf("%d records", open)
			}
			again := uint64(0)
			if one.next == "n2" {
				again = 2
			}
			tells("n2", 2, again, one.first)
			if one.next != "" && one.next != "n2" {
				tells(one.next, 1, 2, one.first)
			}
			c.lose(l[0].peer, one.reason)
			c.refresh()
			at := ""
			if e := (view{n}).Entry("k/a"); e.Agent != nil {
				at = e.Home.(*nodeLink).peer.Name
			}
			if open := n.Relay.Open(); open != one.open || at != one.at {
				t.Errorf("%d records are open, and the agent is at %q", open, at)
			}
		})
	}
}

// The answers to what an agent of a session has asked follow it to its next session, also if the
// node of its first session has died and is back, and that node's loss has yet to be told.
func TestAnswersFollowFromANodeThatIsBack(t *testing.T) {
	n := newMesh(t)
	defer stop(t.Context(), n) //nolint:errcheck // nothing runs
	c := n.cluster
	l := linksTo(c, "n2", "n3")
	tells := func(node string, epoch, since uint64) {
		r := directory.New(cluster.Incarnation{Name: node, Epoch: epoch})
		if since != 0 {
			r.Put(directory.Entry{Agent: "client", Hidden: true, Moves: true, Since: since}, nil)
		}
		c.Merge(r.OwnState())
		c.refresh()
	}
	tells("n2", 1, 1)
	if _, err := n.System.Spawn(t.Context(), actors.Spec{ID: "worker", New: func() actors.Agent { return still{} }}); err != nil {
		t.Fatal(err)
	}
	l[0].receive(act(t, "q", performatives.ActRequest, func(e *performatives.Envelope) { e.Sender, e.Receiver = "client", "worker" }), 0)
	if open := n.Relay.Open(); open != 1 {
		t.Fatalf("%d records", open)
	}
	tells("n2", 2, 0)
	tells("n3", 1, 2)
	if c.lose(l[0].peer, "failed"); n.Relay.Open() != 1 {
		t.Error("the record of its request has ended")
	}
}

// roaming is the destination of an agent of a session.
type roaming struct{ actors.Destination }

// An agent of a session may be at another node by now, and one of this process may not.
func TestEntryRoams(t *testing.T) {
	n := newMesh(t)
	defer stop(t.Context(), n) //nolint:errcheck // nothing runs
	l := linksTo(n.cluster, "n2")[0]
	if _, err := n.System.Register("client", roaming{}); err != nil {
		t.Fatal(err)
	}
	if _, err := n.System.Spawn(t.Context(), actors.Spec{ID: "worker", New: func() actors.Agent { return still{} }}); err != nil {
		t.Fatal(err)
	}
	n.cluster.leadLocked(nil, wanted{entry: directory.Entry{Agent: "far", Owner: l.peer}, link: l})
	for id, want := range map[performatives.AgentID]bool{"client": true, "worker": false, "far": false, "nobody": false} {
		if got := (view{n}).Entry(id).Roams; got != want {
			t.Errorf("%s: %t", id, got)
		}
	}
}

// Of a node that is lost again and again, only the last link is remembered.
func TestLinkBefore(t *testing.T) {
	n := newMesh(t)
	defer stop(t.Context(), n) //nolint:errcheck // nothing runs
	first := linksTo(n.cluster, "n2")[0]
	linkHandler{n.cluster}.Lost(first.peer)
	second := n.cluster.peers[first.peer]
	linkHandler{n.cluster}.Lost(first.peer)
	if now := n.cluster.peers[first.peer]; second.before.Load() != nil || now.before.Load() != second {
		t.Error("the present link follows another one than the last, or that still has one before")
	}
}
