package mesh

import (
	"reflect"
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
		c.advertise(one.listens, one.o)
		log := p.node.system.Logger()
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
