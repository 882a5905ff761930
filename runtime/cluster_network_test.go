package runtime_test

import (
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/cluster/membership"
	"github.com/ribosome-agents/ribosome/internal/patience"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// Three nodes on the loopback address of IPv6 find one another, work for one another, and see one
// leave.
func TestClusterOverIPv6(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skipf("this machine has no loopback address of IPv6: %v", err)
	}
	_ = l.Close()
	workAcross(t, join(t, 3, func(t testing.TB, name string, join ...string) *runtime.Node {
		t.Helper()
		n := newNode(t, runtime.Options{Name: name, Cluster: &runtime.ClusterOptions{Gossip: "[::1]:0", Join: join, Profile: membership.WAN}})
		for _, m := range n.Members() {
			for what, address := range map[string]string{"gossip": m.Gossip, "links": m.Links} {
				if host, _, err := net.SplitHostPort(address); host != "::1" || err != nil {
					t.Errorf("the address for the %s of %s is %s", what, m.Name, address)
				}
			}
		}
		return n
	}))
}

// Three nodes with the times for a WAN do the same. They need too long to notice a death for it to
// be awaited here: the model of the membership has it.
func TestClusterOverWAN(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	workAcross(t, join(t, 3, newPatientMember))
}

// A node that accepts links at all addresses of its machine is reached at that of its gossip, or at
// the one that it is told to advertise.
func TestLinksAtAllAddresses(t *testing.T) {
	for advertise, want := range map[string]string{"": "127.0.0.1", "127.0.0.2": "127.0.0.2"} {
		n := newNode(t, runtime.Options{Cluster: &runtime.ClusterOptions{Gossip: "127.0.0.1:0", Links: "0.0.0.0:0", Advertise: advertise}})
		if host, port, err := net.SplitHostPort(n.Members()[0].Links); host != want || port == "0" || err != nil {
			t.Errorf("advertised as %q: %q, %v", advertise, n.Members()[0].Links, err)
		}
	}
}

// workAcross has each of three nodes delegate to an agent of each, and the last one leave.
func workAcross(t *testing.T, nodes []*runtime.Node) {
	t.Helper()
	agent := func(n *runtime.Node) p.AgentID { return p.AgentID("agent-of-" + n.Name()) }
	for _, n := range nodes {
		spawn(t, n, agent(n), func() actors.Agent { return colleague{} })
	}
	for _, from := range nodes {
		for _, to := range nodes {
			if from != to {
				knows(t, from, agent(to), to.Name())
			}
			if r, err := from.Delegate(patience.Context(t), agent(to), p.TaskRequest{TaskType: "review"}); err != nil || r.Status != p.StatusSuccess {
				t.Errorf("%s to %s: %+v, %v", from.Name(), to.Name(), r, err)
			}
		}
	}
	leaver := nodes[2]
	var watches []*events.Subscription
	for _, n := range nodes[:2] {
		watches = append(watches, n.Events().Subscribe(events.SubscribeOptions{Kinds: []events.Kind{runtime.KindMemberLost}}))
	}
	if err := leaver.Stop(patience.Context(t)); err != nil {
		t.Error(err)
	}
	for i, n := range nodes[:2] {
		defer watches[i].Close()
		e, err := watches[i].Next(patience.Context(t))
		if lost, ok := e.Event.(runtime.MemberLost); err != nil || !ok || lost.Node != leaver.Name() || lost.Reason != "left" {
			t.Errorf("%s saw %+v, %v", n.Name(), e, err)
		}
		eventually(t, n, func() error {
			if _, ok := n.Directory().Lookup(agent(leaver)); ok || len(n.Members()) != 2 {
				return fmt.Errorf("%s still knows %s, and %d members", n.Name(), agent(leaver), len(n.Members()))
			}
			return nil
		})
		if _, err := n.Delegate(patience.Context(t), agent(leaver), p.TaskRequest{TaskType: "review"}); !errors.Is(err, p.CodeStopped) && !errors.Is(err, p.CodeUnknownAgent) {
			t.Errorf("%s to the node that has left: %v", n.Name(), err)
		}
		if _, err := n.Delegate(patience.Context(t), agent(nodes[1-i]), p.TaskRequest{TaskType: "review"}); err != nil {
			t.Errorf("%s afterwards: %v", n.Name(), err)
		}
	}
}
