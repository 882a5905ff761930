package runtime_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/ribosome-agents/ribosome/cluster"
	nodelink "github.com/ribosome-agents/ribosome/cluster/link"
	"github.com/ribosome-agents/ribosome/cluster/membership"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// seam is the membership and the links of a node, which a test can use past the node.
type seam struct {
	members *membership.Gossip
	notify  func(membership.Event)
	links   *nodelink.Links
}

var seams sync.Map // of *seam, by *runtime.Node

// seamOf returns the seam of a node, nil for one without a cluster.
func seamOf(n *runtime.Node) *seam {
	s, _ := seams.Load(n)
	of, _ := s.(*seam)
	return of
}

// newSeamed returns a node of a cluster with a seam.
func newSeamed(t testing.TB, name string, o runtime.ClusterOptions) *runtime.Node {
	t.Helper()
	s := &seam{}
	n := newNode(t, runtime.Options{Name: name, Cluster: o.Over(runtime.SimNetwork{
		Join: func(o membership.Options) (_ runtime.Joiner, err error) {
			s.notify = o.Notify
			s.members, err = membership.Start(o)
			return s.members, err
		},
		Link: func(o nodelink.LinksOptions) (_ runtime.NodeLinks, err error) {
			s.links, err = nodelink.NewLinks(o)
			return s.links, err
		},
	})})
	seams.Store(n, s)
	t.Cleanup(func() { seams.Delete(n) })
	return n
}

// memberOf returns another node as a node sees it.
func memberOf(n *runtime.Node, name string) (m cluster.Member) {
	for _, m := range n.Members() {
		if m.Name == name {
			return m
		}
	}
	return m
}

// crash ends a node's part of the cluster like the death of its process: it tells no other node.
func crash(t testing.TB, n *runtime.Node) {
	t.Helper()
	s, others := seamOf(n), n.Members()
	ctx, cancel := context.WithCancel(t.Context())
	if err := s.members.Stop(ctx); err != nil {
		t.Error(err)
	}
	cancel() // no message is waited for
	if err := s.links.Stop(ctx); !errors.Is(err, context.Canceled) {
		t.Logf("the links have ended: %v", err)
	}
	for _, m := range others { // what the node still runs ends
		if m.Name != n.Name() {
			s.notify(membership.Event{Kind: membership.Failed, Member: m})
		}
	}
}

// sendTo sends a message over the link to another node, whatever the directory says.
func sendTo(n *runtime.Node, name string, m *p.Message) error {
	return seamOf(n).links.Send(memberOf(n, name).Incarnation, m)
}
