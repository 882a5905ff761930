package mesh

import (
	"testing"

	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/cluster/membership"
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
			close(c.ready)
		}
		if one.leaves {
			if err := c.stop(t.Context()); err != nil {
				t.Errorf("%s: stop: %v", name, err)
			}
		}
		if got := c.hasBegun(); got != one.want {
			t.Errorf("%s: has begun is %t, want %t", name, got, one.want)
		}
	}
}
