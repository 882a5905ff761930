package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/cluster/placement"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// hall counts the activations of counters, and what they have counted.
type hall struct {
	mu        sync.Mutex
	runs      map[p.AgentID][]string // the nodes that have activated an agent
	keepState bool
	block     <-chan struct{} // tasks of the type "wait" take until it is closed
	began     chan p.AgentID  // gets the agent of each task of the type "wait"
}

func newHall() *hall { return &hall{runs: map[p.AgentID][]string{}, began: make(chan p.AgentID, 10_000)} }

// kind returns the kind of the counters of a node.
func (h *hall) kind(node string) runtime.Kind {
	return runtime.Kind{New: func(id p.AgentID) actors.Agent {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.runs[id] = append(h.runs[id], node)
		c := &counter{hall: h}
		if h.keepState {
			return &keeping{c}
		}
		return c
	}}
}

func (h *hall) runsOf(id p.AgentID) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.runs[id])
}

// counter is an agent that counts its tasks, and forgets the number.
type counter struct {
	hall *hall
	n    int
}

func (*counter) Describe() p.Capabilities { return p.Capabilities{Topics: []string{"numbers"}} }

func (c *counter) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	c.n++
	return delegation.Accept()
}

func (c *counter) PerformTask(ctx context.Context, t delegation.Task) (p.InformResult, error) {
	if t.TaskType == "wait" {
		c.hall.began <- t.Agent.ID()
		select {
		case <-c.hall.block:
		case <-ctx.Done():
			return p.InformResult{}, context.Cause(ctx)
		}
	}
	n := 0
	if err := t.Agent.Do(ctx, func(actors.Agent) { n = c.n }); err != nil {
		return p.InformResult{}, err
	}
	return p.InformResult{Status: p.StatusSuccess, Details: p.ContentOf(map[string]any{"n": n})}, nil
}

// keeping is a counter that keeps its number when it moves.
type keeping struct{ *counter }

func (k *keeping) Snapshot() ([]byte, error) { return fmt.Append(nil, k.n), nil }

func (k *keeping) Restore(state []byte) error {
	_, err := fmt.Sscan(string(state), &k.n)
	return err
}

// count has a counter count, and returns the number.
func count(t testing.TB, n *runtime.Node, id p.AgentID) int {
	t.Helper()
	result, err := n.Delegate(within(t), id, p.TaskRequest{TaskType: "count"})
	if err != nil {
		t.Fatalf("%s at %s: %v", id, n.Name(), err)
	}
	return numberOf(t, result)
}

func numberOf(t testing.TB, r p.InformResult) int {
	t.Helper()
	got, err := p.Decode[struct{ N int }](r.Details)
	if err != nil {
		t.Fatal(err)
	}
	return got.N
}

func register(t testing.TB, n *runtime.Node, name string, k runtime.Kind) {
	t.Helper()
	if err := n.RegisterKind(name, k); err != nil {
		t.Fatal(err)
	}
}

// hostedBy waits until a node knows that these host a kind.
func hostedBy(t testing.TB, n *runtime.Node, kind string, nodes ...string) {
	t.Helper()
	eventually(t, n, func() error {
		if got := n.Hosts(kind); !slices.Equal(got, nodes) {
			return fmt.Errorf("%s sees the hosts %v, want %v", n.Name(), got, nodes)
		}
		return nil
	})
}

// host has the nodes host counters and know one another.
func (h *hall) host(t testing.TB, nodes ...*runtime.Node) {
	t.Helper()
	var names []string
	for _, n := range nodes {
		register(t, n, "counter", h.kind(n.Name()))
		names = append(names, n.Name())
	}
	for _, n := range nodes {
		hostedBy(t, n, "counter", names...)
	}
}

func TestKindWithoutACluster(t *testing.T) {
	h, n := newHall(), newNode(t, runtime.Options{Name: "alone"})
	register(t, n, "Counter", h.kind("alone"))
	for i, want := range []int{1, 2, 1} {
		id := []p.AgentID{"counter/a", "COUNTER/A", "counter/b"}[i]
		if got := count(t, n, id); got != want {
			t.Errorf("%s counts %d, want %d", id, got, want)
		}
	}
	if got := h.runsOf("counter/a"); len(got) != 1 {
		t.Errorf("counter/a was activated %d times", len(got))
	}
	_, err := n.Delegate(t.Context(), "counter", p.TaskRequest{TaskType: "count"})
	if !errors.Is(err, p.CodeUnknownAgent) {
		t.Errorf("the name of a kind without a singleton: %v", err)
	}
}

func TestWrongKinds(t *testing.T) {
	n := newNode(t, runtime.Options{})
	ok := runtime.Kind{New: func(p.AgentID) actors.Agent { return colleague{} }}
	register(t, n, "taken", ok)
	for name, c := range map[string]struct {
		name string
		kind runtime.Kind
		want string
	}{
		"no name":          {"", ok, "the name is empty"},
		"a slash":          {"a/b", ok, `contains "/"`},
		"no New":           {"a", runtime.Kind{}, "Kind.New is nil"},
		"a negative time":  {"a", runtime.Kind{New: ok.New, MoveTime: -1}, "Kind.MoveTime is -1ns"},
		"negative members": {"a", runtime.Kind{New: ok.New, MinMembers: -1}, "Kind.MinMembers is -1"},
		"twice":            {"Taken", ok, actors.ErrExists.Error()},
	} {
		if err := n.RegisterKind(c.name, c.kind); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// Each agent runs on the node that is picked for it, whoever asks first.
func TestKindOnThreeNodes(t *testing.T) {
	h, nodes := newHall(), newCluster(t, 3)
	h.host(t, nodes...)
	for i := range 30 {
		id := p.AgentID(fmt.Sprint("counter/", i))
		for j := range nodes {
			if got := count(t, nodes[(i+j)%3], id); got != j+1 {
				t.Errorf("%s counts %d, want %d", id, got, j+1)
			}
		}
		if got, want := h.runsOf(id), placement.Pick(id, []string{"n1", "n2", "n3"}); !slices.Equal(got, []string{want}) {
			t.Errorf("%s ran on %v, want %s", id, got, want)
		}
	}
}

// The agents of a node that drains continue elsewhere: their state, the messages that wait, and those that still come.
func TestDrain(t *testing.T) {
	h, nodes := newHall(), newCluster(t, 3)
	h.keepState = true
	h.host(t, nodes...)
	const agents = 60
	for i := range agents {
		count(t, nodes[0], p.AgentID(fmt.Sprint("counter/", i)))
	}
	stop := make(chan struct{})
	var counted [agents]int
	var asking sync.WaitGroup
	for i := range agents {
		asking.Go(func() {
			for id := p.AgentID(fmt.Sprint("counter/", i)); ; {
				select {
				case <-stop:
					return
				default:
					counted[i] = max(counted[i], count(t, nodes[i%2], id))
				}
			}
		})
	}
	if err := nodes[2].Drain(within(t)); err != nil {
		t.Error(err)
	}
	close(stop)
	asking.Wait()
	for i := range agents {
		id := p.AgentID(fmt.Sprint("counter/", i))
		if got := count(t, nodes[0], id); got != counted[i]+1 {
			t.Errorf("%s counts %d after %d", id, got, counted[i])
		}
		if runs := h.runsOf(id); len(runs) > 2 || runs[len(runs)-1] == "n3" {
			t.Errorf("%s ran on %v", id, runs)
		}
	}
	_ = time.Second
}
