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
