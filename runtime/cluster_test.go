package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/cluster"
	nodelink "github.com/ribosome-agents/ribosome/cluster/link"
	"github.com/ribosome-agents/ribosome/cluster/membership"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/internal/patience"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire/grpc"
)

// newMember returns a node of a cluster on loopback that has joined the others.
func newMember(t testing.TB, name string, join ...string) *runtime.Node {
	t.Helper()
	return newSeamed(t, name, runtime.ClusterOptions{Gossip: "127.0.0.1:0", Join: join})
}

// newPatientMember is newMember with times by which a busy machine makes no node seem dead.
func newPatientMember(t testing.TB, name string, join ...string) *runtime.Node {
	t.Helper()
	return newSeamed(t, name, runtime.ClusterOptions{Gossip: "127.0.0.1:0", Join: join, Profile: membership.WAN})
}

// newMortalMember is newPatientMember for a test of a death: gossip notices it first, after some
// 13 s.
func newMortalMember(t testing.TB, name string, join ...string) *runtime.Node {
	t.Helper()
	return newSeamed(t, name, runtime.ClusterOptions{Gossip: "127.0.0.1:0", Join: join, Profile: membership.WAN, LinkTimeout: patience.Time})
}

// newCluster returns n nodes of a cluster on loopback that know one another: n1, n2 … They are
// patient; a test of a death joins those of newMortalMember.
func newCluster(t testing.TB, n int) []*runtime.Node {
	t.Helper()
	return join(t, n, newPatientMember)
}

// join returns n members that know one another.
func join(t testing.TB, n int, member func(t testing.TB, name string, join ...string) *runtime.Node) []*runtime.Node {
	t.Helper()
	nodes := []*runtime.Node{member(t, "n1")}
	for i := 2; i <= n; i++ {
		nodes = append(nodes, member(t, fmt.Sprint("n", i), nodes[0].Members()[0].Gossip))
	}
	for _, node := range nodes {
		eventually(t, node, func() error {
			if got := len(node.Members()); got != n {
				return fmt.Errorf("%s knows %d members", node.Name(), got)
			}
			return nil
		})
	}
	return nodes
}

// eventually waits until a check succeeds. It is made after each event of the node.
func eventually(t testing.TB, n *runtime.Node, check func() error) {
	t.Helper()
	stream := n.Events().Subscribe(events.SubscribeOptions{Capacity: 1 << 14})
	defer stream.Close()
	for ctx := patience.Context(t); ; {
		err := check()
		if err == nil {
			return
		}
		if _, late := stream.Next(ctx); late != nil {
			t.Fatal(err)
		}
	}
}

// knows waits until a node knows an agent of another one.
func knows(t testing.TB, n *runtime.Node, id p.AgentID, on string) {
	t.Helper()
	eventually(t, n, func() error {
		if e, ok := n.Directory().Lookup(id); !ok || e.Node != on || len(e.Capabilities.Actions) == 0 {
			return fmt.Errorf("%s does not know %s of %s: %+v", n.Name(), id, on, e)
		}
		return nil
	})
}

// colleague is an agent that can review.
type colleague struct {
	delay <-chan struct{} // until which a task takes; nil: no time
	began chan<- struct{} // gets a value when a task begins; may be nil
}

func (colleague) Describe() p.Capabilities {
	return p.Capabilities{Topics: []string{"code"}, Actions: []p.Action{{Name: "review"}}}
}

func (colleague) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

func (r colleague) PerformTask(ctx context.Context, _ delegation.Task) (p.InformResult, error) {
	if r.began != nil {
		r.began <- struct{}{}
	}
	if r.delay != nil {
		select {
		case <-r.delay:
		case <-ctx.Done():
			return p.InformResult{}, context.Cause(ctx)
		}
	}
	return p.InformResult{Status: p.StatusSuccess, Details: p.ContentOf(map[string]any{"by": "colleague"})}, nil
}

// A node publishes that another one joins, is linked and leaves, with the epoch of its run.
func TestEventsOfAMember(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	one := newPatientMember(t, "n1")
	stream := listen(t, one, runtime.KindMemberJoined, runtime.KindMemberLinked, runtime.KindMemberLost)
	other := newPatientMember(t, "n2", one.Members()[0].Gossip)
	await[runtime.MemberLinked](t, stream, 1, nil)
	epoch := other.Members()[1].Epoch
	if err := other.Stop(patience.Context(t)); err != nil {
		t.Fatal(err)
	}
	await[runtime.MemberLost](t, stream, 1, nil)
	want := []events.Event{runtime.MemberJoined{Node: "n2", Epoch: epoch}, runtime.MemberLinked{Node: "n2", Epoch: epoch}, runtime.MemberLost{Node: "n2", Epoch: epoch, Reason: "left"}}
	if diff := cmp.Diff(want, stream.all(), cmpopts.IgnoreTypes(events.At{}), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

func TestDelegationToAnotherNode(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	nodes := newCluster(t, 2)
	if err := nodes[1].Spawn(t.Context(), "Rev", func() actors.Agent { return colleague{} }); err != nil {
		t.Fatal(err)
	}
	knows(t, nodes[0], "rev", "n2")
	result, err := nodes[0].Delegate(t.Context(), "Rev", p.TaskRequest{TaskType: "review"})
	if err != nil || result.Status != p.StatusSuccess {
		t.Fatalf("got %+v, %v", result, err)
	}
	if all, up := nodes[0].Links(); all != 1 || up != 1 {
		t.Errorf("%d links, and %d are up", all, up)
	}
	if err := nodes[0].Spawn(t.Context(), "REV", func() actors.Agent { return colleague{} }); !errors.Is(err, actors.ErrExists) || !strings.HasSuffix(err.Error(), ", on the node n2") {
		t.Errorf("an agent of the same id: %v", err)
	}
	if err := nodes[1].StopAgent(t.Context(), "Rev"); err != nil {
		t.Fatal(err)
	}
	eventually(t, nodes[0], func() error {
		if _, ok := nodes[0].Directory().Lookup("Rev"); ok {
			return errors.New("Rev is in the directory")
		}
		return nil
	})
	if _, err := nodes[0].Delegate(t.Context(), "Rev", p.TaskRequest{TaskType: "review"}); !errors.Is(err, p.CodeStopped) {
		t.Errorf("got %v", err)
	}
}

// A node that reaches none of its seeds begins alone, and its log says so.
func TestSeedsThatDoNotAnswer(t *testing.T) {
	t.Parallel() // it waits for JoinTime, mostly
	var out buffer
	n := newNode(t, runtime.Options{Name: "n1", Logger: runtime.NewLogger(&out, slog.LevelInfo), Cluster: &runtime.ClusterOptions{
		Gossip: "127.0.0.1:0", Join: []string{"127.0.0.1:1"}, JoinTime: 100 * time.Millisecond,
	}})
	if said := out.text(); n.Joined() || strings.Count(said, "this node begins alone") != 1 || !strings.Contains(said, `"join":["127.0.0.1:1"]`) {
		t.Errorf("joined: %t, log:\n%s", n.Joined(), said)
	}
	newMember(t, "n2", n.Members()[0].Gossip)
	if said := out.text(); strings.Count(said, "this node begins alone") != 1 {
		t.Errorf("log:\n%s", said)
	}
}

// An agent of another node stops while it works: the asker is told at once.
func TestAgentOfAnotherNodeStops(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	nodes := newCluster(t, 2)
	began := make(chan struct{}, 1)
	if err := nodes[1].Spawn(t.Context(), "Rev", func() actors.Agent { return colleague{delay: make(chan struct{}), began: began} }); err != nil {
		t.Fatal(err)
	}
	knows(t, nodes[0], "Rev", "n2")
	failed := make(chan error, 1)
	go func() {
		_, err := nodes[0].Delegate(patience.Context(t), "Rev", p.TaskRequest{TaskType: "review"})
		failed <- err
	}()
	<-began
	if err := nodes[1].StopAgent(patience.Context(t), "Rev"); err != nil {
		t.Error(err)
	}
	if err := <-failed; !errors.Is(err, p.CodeStopped) {
		t.Errorf("got %v", err)
	}
}

// refusedLinks is a log that has only the refused links.
type refusedLinks chan slog.Record

func (refusedLinks) Enabled(context.Context, slog.Level) bool { return true }
func (r refusedLinks) WithAttrs([]slog.Attr) slog.Handler     { return r }
func (r refusedLinks) WithGroup(string) slog.Handler          { return r }

func (r refusedLinks) Handle(_ context.Context, record slog.Record) error {
	if record.Message == "a link was refused" {
		r <- record
	}
	return nil
}

// A node that is not known yet, or not any more, opens a link when nodes join and leave: that is no
// warning. A link that is no such one is.
func TestRefusedLinkOfAnUnknownNode(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	log := make(refusedLinks, 1)
	n := newNode(t, runtime.Options{Name: "b", Logger: slog.New(log), Cluster: &runtime.ClusterOptions{Gossip: "127.0.0.1:0"}})
	self := n.Members()[0]
	link := nodelink.New(nodelink.Options{Self: cluster.Incarnation{Name: "a", Epoch: 1}, Peer: cluster.Incarnation{Name: "b", Epoch: self.Epoch}})
	link.Open()
	for _, c := range []struct {
		frame []byte
		want  slog.Level
	}{{link.Next(time.Now()), slog.LevelDebug}, {[]byte("malformed"), slog.LevelWarn}} {
		s, err := grpc.DialLink(patience.Context(t), self.Links, "b", nil, 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Send(c.frame); err != nil {
			t.Fatal(err)
		}
		if got := <-log; got.Level != c.want {
			t.Errorf("%v: %v, want %v", got.Level, got.Message, c.want)
		}
		s.Close()
	}
}
