package runtime_test

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/cluster"
	nodelink "github.com/ribosome-agents/ribosome/cluster/link"
	"github.com/ribosome-agents/ribosome/cluster/membership"
	"github.com/ribosome-agents/ribosome/cluster/placement"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/internal/exhaustive"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/internal/racetest"
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

func newHall() *hall {
	return &hall{runs: map[p.AgentID][]string{}, began: make(chan p.AgentID, 10_000)}
}

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
	result, err := n.Delegate(patience.Context(t), id, p.TaskRequest{TaskType: "count"})
	if err != nil {
		t.Fatalf("%s at %s: %v", id, n.Name(), err)
	}
	return numberOf(t, result)
}

func numberOf(t testing.TB, r p.InformResult) int {
	t.Helper()
	got, err := p.Decode[struct {
		N int `json:"n"`
	}](r.Details)
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

// listed waits until a node knows agents of another one.
func listed(t testing.TB, n *runtime.Node, on string, all ...p.AgentID) {
	t.Helper()
	eventually(t, n, func() error {
		for _, id := range all {
			if e, ok := n.Directory().Lookup(id); !ok || e.Node != on {
				return fmt.Errorf("%s lists %s as %+v", n.Name(), id, e)
			}
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
	t.Parallel() // it waits for gossip, mostly
	h, nodes := newHall(), join(t, 3, newPatientMember)
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

// The agents of a node that drains continue elsewhere: their state, the messages that wait, and
// those that still come.
func TestDrain(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	h, nodes := newHall(), join(t, 3, newPatientMember)
	h.keepState = true
	h.host(t, nodes...)
	const agents = 20
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
	if err := nodes[2].Drain(patience.Context(t)); err != nil {
		t.Error(err)
	}
	close(stop)
	asking.Wait()
	for i := range agents {
		id := p.AgentID(fmt.Sprint("counter/", i))
		if got := count(t, nodes[0], id); got != counted[i]+1 {
			t.Errorf("%s counts %d after %d", id, got, counted[i])
		}
		if runs := h.runsOf(id); runs[len(runs)-1] == "n3" {
			t.Errorf("%s ran on %v", id, runs)
		}
	}
}

// A node drains that has 1,000 agents while each gets messages without a pause: each message is
// answered once, with the next number, so that none is lost and none is handled twice.
func TestDrainOfManyAgents(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	const askers = 20
	agents := 1_000
	if racetest.Enabled && !exhaustive.Enabled() {
		agents = 100
	}
	h, nodes := newHall(), join(t, 3, newPatientMember)
	h.keepState = true
	h.host(t, nodes...)
	var ids []p.AgentID
	for i := 0; len(ids) < agents; i++ {
		if id := p.AgentID(fmt.Sprint("counter/", i)); placement.Pick(id, []string{"n1", "n2", "n3"}) == "n3" {
			ids = append(ids, id)
		}
	}
	var drained atomic.Bool
	var rounds [askers]int // in which each agent of an asker has got a message
	var ready, asking sync.WaitGroup
	ready.Add(askers)
	for a := range askers {
		asking.Go(func() {
			begun := sync.OnceFunc(ready.Done)
			defer begun() // also if a message has failed
			for last := false; !last; {
				last = drained.Load() // a round begins after the drain
				rounds[a]++
				for i := a; i < agents; i += askers {
					if got := count(t, nodes[rounds[a]%2], ids[i]); got != rounds[a] {
						t.Errorf("%s counts %d, want %d", ids[i], got, rounds[a])
					}
				}
				begun()
			}
		})
	}
	ready.Wait()
	if err := nodes[2].Drain(patience.Context(t)); err != nil {
		t.Error(err)
	}
	drained.Store(true)
	asking.Wait()
	for _, id := range ids {
		if runs := h.runsOf(id); len(runs) < 2 || runs[0] != "n3" || slices.Contains(runs[1:], "n3") {
			t.Errorf("%s ran on %v", id, runs)
		}
	}
	t.Logf("%d messages during a drain", slices.Max(rounds[:])*agents)
}

// Of nodes that drain at once none takes an agent of the other: all go to the one that stays.
func TestTwoNodesDrain(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	h, nodes := newHall(), join(t, 3, newPatientMember)
	h.keepState = true
	h.host(t, nodes...)
	const agents = 60
	for i := range agents {
		count(t, nodes[0], p.AgentID(fmt.Sprint("counter/", i)))
	}
	var draining sync.WaitGroup
	for _, n := range nodes[1:] {
		draining.Go(func() {
			if err := n.Drain(patience.Context(t)); err != nil {
				t.Errorf("%s: %v", n.Name(), err)
			}
		})
	}
	draining.Wait()
	for i := range agents {
		id := p.AgentID(fmt.Sprint("counter/", i))
		if got := count(t, nodes[0], id); got != 2 {
			t.Errorf("%s counts %d after one task", id, got)
		}
	}
}

// What an agent sends as a note about placement is a message like any other: only nodes tell each
// other where agents run.
func TestForgedNote(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	h, nodes := newHall(), join(t, 2, newPatientMember)
	h.keepState = true
	h.host(t, nodes...)
	id := counters(1)[0]
	spawn(t, nodes[0], "mallory", func() actors.Agent { return colleague{} })
	spawn(t, nodes[1], "marker", func() actors.Agent { return colleague{} }) // of the hidden n2 no event tells
	listed(t, nodes[0], "n2", "n2", "marker")                                // later than what it hosts
	letters := listen(t, nodes[1], events.KindMessageReceived)
	forged := message(t, "mallory", "n2", p.ActInform, func(e *p.Envelope) {
		e.Protocol = runtime.PlacementProtocol
		e.Payload = p.Raw(fmt.Sprintf(`{"step":"offer","offer":1,"agent":%q,"activation":1,"first":1,"state":"NDE=","ran":true}`, id)) // 41
	})
	if err := nodes[0].Send(forged); err != nil {
		t.Fatal(err)
	}
	await(t, letters, 1, func(e events.MessageReceived) bool { return e.Message.ID() == forged.ID() })
	if got := count(t, nodes[0], id); got != 1 {
		t.Errorf("%s counts %d: a forged note has set its state", id, got)
	}
}

// heavy is a counter whose state no message can carry.
type heavy struct{ *keeping }

func (h *heavy) Snapshot() ([]byte, error) {
	state, err := h.keeping.Snapshot()
	return append(state, make([]byte, nodelink.MaxMessage*3/4)...), err // base64 makes four bytes of three
}

// An agent that the other node does not get stays where it is, with its state.
func TestAgentThatCannotMove(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	h, n1 := newHall(), newPatientMember(t, "n1")
	kind := func(n *runtime.Node) {
		register(t, n, "counter", runtime.Kind{New: func(id p.AgentID) actors.Agent {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.runs[id] = append(h.runs[id], n.Name())
			return &heavy{&keeping{&counter{hall: h}}}
		}})
	}
	kind(n1)
	id := counters(1)[0]
	count(t, n1, id)
	again := n1.Events().Subscribe(events.SubscribeOptions{Kinds: []events.Kind{runtime.KindAgentActivated}})
	defer again.Close()
	n2 := newPatientMember(t, "n2", n1.Members()[0].Gossip)
	kind(n2)
	if _, err := again.Next(patience.Context(t)); err != nil {
		t.Fatal(err)
	}
	if got := count(t, n2, id); got != 2 {
		t.Errorf("it counts %d, want 2", got)
	}
	if got := h.runsOf(id); slices.Contains(got, "n2") {
		t.Errorf("it ran on %v", got)
	}
}

// The conversations that are open when an agent moves go on; those that take too long fail, with
// the reason.
func TestMoveWithOpenConversations(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	h, n1 := newHall(), newPatientMember(t, "n1")
	h.keepState = true
	release := make(chan struct{})
	h.block = release
	moves := func(n *runtime.Node, d time.Duration) {
		k := h.kind(n.Name())
		k.MoveTime = d
		register(t, n, "counter", k)
	}
	moves(n1, time.Minute)
	ids := counters(2)
	ends := make(chan error, 2)
	for _, id := range ids {
		go func() {
			_, err := n1.Delegate(patience.Context(t), id, p.TaskRequest{TaskType: "wait"})
			ends <- err
		}()
		<-h.began
	}
	n2 := newPatientMember(t, "n2", n1.Members()[0].Gossip)
	moving, moved := listen(t, n1, runtime.KindAgentMoving), listen(t, n1, runtime.KindAgentMoved)
	moves(n2, time.Minute)
	await[runtime.AgentMoving](t, moving, len(ids), nil)
	count := make(chan error, 1)
	go func() { // it waits for the agent that moves
		result, err := n2.Delegate(patience.Context(t), ids[0], p.TaskRequest{TaskType: "count"})
		if err == nil && numberOf(t, result) != 2 {
			err = fmt.Errorf("it counts %d", numberOf(t, result))
		}
		count <- err
	}()
	close(release)
	for range ids {
		if err := <-ends; err != nil {
			t.Errorf("a task that was under way: %v", err)
		}
	}
	if err := <-count; err != nil {
		t.Errorf("a task that has waited: %v", err)
	}
	for _, e := range await[runtime.AgentMoved](t, moved, len(ids), nil) {
		if e.Node != "n2" || !slices.Contains(ids, e.Agent) {
			t.Errorf("got %+v", e)
		}
	}
}

func TestMoveOutOfTime(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	h, nodes := newHall(), join(t, 2, newPatientMember)
	h.block = make(chan struct{})
	h.host(t, nodes...)
	id := p.AgentID("counter/x")
	at := placement.Pick(id, []string{"n1", "n2"})
	i := slices.IndexFunc(nodes, func(n *runtime.Node) bool { return n.Name() == at })
	end := make(chan error, 1)
	go func() {
		_, err := nodes[1-i].Delegate(patience.Context(t), id, p.TaskRequest{TaskType: "wait"})
		end <- err
	}()
	<-h.began
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := nodes[i].HandOver(ctx); err != nil { // the node stops after the test, which may take a busy machine longer
		t.Logf("the machine is too busy for an offer within 1.5 s: %v", err)
	}
	if err := <-end; !errors.Is(err, p.CodeMoved) {
		t.Errorf("a task that takes too long: %v", err)
	}
}

// A node that drains and whose kinds no other hosts says so, and to those whose messages have
// waited.
func TestDrainAlone(t *testing.T) {
	h := newHall()
	n, err := runtime.New(runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	register(t, n, "counter", h.kind("node"))
	count(t, n, "counter/a")
	if err := n.Drain(patience.Context(t)); err == nil || !strings.Contains(err.Error(), "1 agents were not handed over") {
		t.Errorf("got %v", err)
	}
}

// When a node dies, its agents begin anew elsewhere with the next message.
func TestHostDies(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	h, nodes := newHall(), join(t, 2, newMortalMember)
	h.host(t, nodes...)
	id := counters(1)[0]
	for want := 1; want <= 2; want++ {
		if got := count(t, nodes[0], id); got != want {
			t.Fatalf("it counts %d, want %d", got, want)
		}
	}
	lost := listen(t, nodes[0], runtime.KindMemberLost)
	crash(t, nodes[1])
	await(t, lost, 1, func(e runtime.MemberLost) bool { return e.Node == "n2" }) // before it, a conversation may still end with the node
	hostedBy(t, nodes[0], "counter", "n1")
	if got := count(t, nodes[0], id); got != 1 {
		t.Errorf("it counts %d, want 1", got)
	}
	if got := h.runsOf(id); !slices.Equal(got, []string{"n2", "n1"}) {
		t.Errorf("it ran on %v", got)
	}
}

// The requests that an agent has taken on go along with it, also twice, and also while it is not in
// memory: one whose answer was lost is not performed again by the next activation.
func TestRequestIsNotRepeatedAfterAMove(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	for _, idle := range []time.Duration{runtime.DefaultIdle, time.Millisecond} {
		h, nodes := newHall(), join(t, 3, newPatientMember)
		h.keepState = true
		for _, n := range nodes {
			k := h.kind(n.Name())
			k.Idle = idle
			register(t, n, "counter", k)
		}
		for _, n := range nodes {
			hostedBy(t, n, "counter", "n1", "n2", "n3")
		}
		id := p.AgentID("counter/0") // which is nowhere near the asker
		for i := 1; placement.Pick(id, []string{"n1", "n2", "n3"}) != "n3" || placement.Pick(id, []string{"n1", "n2"}) != "n2"; i++ {
			id = p.AgentID(fmt.Sprint("counter/", i))
		}
		asker, err := nodes[0].Client(t.Context(), "asker")
		if err != nil {
			t.Fatal(err)
		}
		request := message(t, "asker", id, p.ActTaskRequest, with(p.TaskRequest{TaskType: "count"}), func(e *p.Envelope) { e.Protocol = "task-delegation" })
		passive := listen(t, nodes[2], runtime.KindAgentPassivated)
		if answer, err := asker.Ask(patience.Context(t), request); err != nil || answer.Performative() != p.ActTaskAccept {
			t.Fatalf("got %v, %v", answer, err)
		}
		if got := count(t, nodes[0], id); got != 2 {
			t.Fatalf("it counts %d, want 2", got)
		}
		if idle == time.Millisecond {
			await(t, passive, 1, func(runtime.AgentPassivated) bool { return true })
		}
		for i := 2; i > 0; i-- {
			if err := nodes[i].Drain(patience.Context(t)); err != nil {
				t.Fatal(err)
			}
			answer, err := asker.Ask(patience.Context(t), request)
			if err != nil {
				t.Fatal(err)
			}
			if failure, err := p.PayloadAs[p.Failure](answer); err != nil || failure.ErrorCode != p.CodeConversationEnded {
				t.Errorf("after move %d: %v", 3-i, answer)
			}
		}
		if got := count(t, nodes[0], id); got != 3 {
			t.Errorf("it counts %d, want 3", got)
		}
	}
}

// lossWatch is a dispatcher that calls a function once, when the conversations of the first agent
// are told that a node is lost.
type lossWatch struct {
	*actors.Pool
	begun atomic.Pointer[func()]
}

// Schedule calls the function in the middle of the loss.
func (d *lossWatch) Schedule(fn func()) {
	d.Pool.Schedule(fn)
	if d.begun.Load() == nil {
		return
	}
	callers := make([]uintptr, 64)
	frames := goruntime.CallersFrames(callers[:goruntime.Callers(1, callers)])
	for frame, more := frames.Next(); more; frame, more = frames.Next() {
		if strings.HasSuffix(frame.Function, "(*System).losePeers") {
			if begun := d.begun.Swap(nil); begun != nil {
				(*begun)()
			}
			return
		}
	}
}

// A conversation that begins while the loss of a node is being told is with the next activation of
// the agent, and is not lost with the node.
func TestAskedWhileItsHostIsLost(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	d := &lossWatch{Pool: actors.NewPool(actors.PoolOptions{})}
	t.Cleanup(func() {
		if err := d.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	n1 := newNode(t, runtime.Options{Name: "n1", Dispatcher: d, Cluster: &runtime.ClusterOptions{Gossip: "127.0.0.1:0", Profile: membership.WAN}})
	n2 := newPatientMember(t, "n2", n1.Members()[0].Gossip)
	release := make(chan struct{})
	h := newHall()
	h.block = release
	h.host(t, n1, n2)
	id := counters(1)[0]
	ask := func(client p.AgentID) (end chan error) {
		self, err := n1.Client(t.Context(), client)
		if err != nil {
			t.Fatal(err)
		}
		end = make(chan error, 1)
		go func() {
			_, err := delegation.Delegate(patience.Context(t), self, id, p.TaskRequest{TaskType: "wait"})
			end <- err
		}()
		return end
	}
	before := ask("a") // the first that is told
	<-h.began
	listed(t, n1, "n2", id)
	var since chan error
	begun := func() {
		since = ask("z")
		<-h.began
	}
	n1.Mesh().LoseSlowly("n2", func() { d.begun.Store(&begun) })
	if err := <-before; !errors.Is(err, p.CodeDisconnected) {
		t.Errorf("asked before: %v", err)
	}
	close(release)
	if err := <-since; err != nil {
		t.Errorf("asked meanwhile: %v", err)
	}
	if got := h.runsOf(id); !slices.Equal(got, []string{"n2", "n1"}) {
		t.Errorf("it ran on %v", got)
	}
}

// A message for an agent whose node is being given up reaches the next activation, or comes back.
func TestSentWhileItsHostIsLost(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	h, nodes := newHall(), join(t, 2, newPatientMember)
	h.host(t, nodes...)
	register(t, nodes[1], "elsewhere", h.kind("n2"))
	id := counters(1)[0]
	spawn(t, nodes[1], "plain", func() actors.Agent { return &counter{hall: h} })
	for _, id := range []p.AgentID{id, "elsewhere/a"} {
		count(t, nodes[1], id)
	}
	listed(t, nodes[0], "n2", id, "elsewhere/a", "plain")
	type end struct {
		result p.InformResult
		err    error
	}
	ends := make(map[p.AgentID]chan end)
	nodes[0].Mesh().LoseSlowly("n2", func() {
		sent := listen(t, nodes[0], events.KindMessageSent, events.KindMessageRefused)
		for _, id := range []p.AgentID{id, "elsewhere/a", "plain"} {
			one := make(chan end, 1)
			ends[id] = one
			go func() {
				result, err := nodes[0].Delegate(patience.Context(t), id, p.TaskRequest{TaskType: "count"})
				one <- end{result, err}
			}()
		}
		await(t, sent, 2, func(e events.MessageSent) bool { return e.Message.Performative() == p.ActTaskRequest })
		await(t, sent, 1, func(e events.MessageRefused) bool { return e.Message.Receiver() == "plain" })
	})
	if e := <-ends[id]; e.err != nil || numberOf(t, e.result) != 1 {
		t.Errorf("a placed agent: %+v", e)
	}
	if e := <-ends["plain"]; !errors.Is(e.err, p.CodeStopped) || !strings.Contains(e.err.Error(), " of the agent cannot be reached") {
		t.Errorf("an agent that is not placed: %v", e.err)
	}
	if e := <-ends["elsewhere/a"]; !errors.Is(e.err, p.CodeStopped) { // its event comes before it is sent, which may be after the loss
		t.Errorf("a placed agent that no other node hosts: %v", e.err)
	}
}

// wrapped are the links of a node of which another type changes something.
type wrapped struct {
	runtime.NodeLinks
	handler nodelink.Handler
	notify  func(membership.Event)
	routed  chan struct{} // gets a value when the node has routed a task of another node for the first time
}

// taskObserver is the handler of the links of a node. It tells of the tasks that the node has
// routed.
type taskObserver struct {
	nodelink.Handler
	routed chan<- struct{}
}

func (o taskObserver) Received(peer cluster.Incarnation, m *p.Message) time.Duration {
	pause := o.Handler.Received(peer, m)
	if m.Performative() == p.ActTaskRequest {
		select {
		case o.routed <- struct{}{}:
		default: // none waits for it
		}
	}
	return pause
}

// awaitRouted waits until the node has routed a task of another node.
func (w *wrapped) awaitRouted(t *testing.T) {
	t.Helper()
	select {
	case <-w.routed:
	case <-patience.Context(t).Done():
		t.Fatal("no task has come from another node")
	}
}

// hallOver starts three nodes, of which n1 and n2 host counters. The links of n1 are those given,
// which wrap real ones.
func hallOver(t *testing.T, links runtime.NodeLinks, w *wrapped) (h *hall, n1, n2, n3 *runtime.Node) {
	t.Helper()
	options := runtime.ClusterOptions{Gossip: "127.0.0.1:0", Profile: membership.WAN}
	n1 = newNode(t, runtime.Options{Name: "n1", Cluster: options.Over(runtime.SimNetwork{
		Join: func(o membership.Options) (runtime.Joiner, error) {
			w.notify = o.Notify
			return membership.Start(o)
		},
		Link: func(o nodelink.LinksOptions) (runtime.NodeLinks, error) {
			w.routed = make(chan struct{}, 1)
			o.Handler = taskObserver{o.Handler, w.routed}
			all, err := nodelink.NewLinks(o)
			w.NodeLinks, w.handler = all, o.Handler
			return links, err
		},
	})})
	n2, n3 = newPatientMember(t, "n2", n1.Members()[0].Gossip), newPatientMember(t, "n3", n1.Members()[0].Gossip)
	h = newHall()
	h.host(t, n1, n2)
	return h, n1, n2, n3
}

// counters returns the ids of so many counters that are to run on n2, if it and n1 host them.
func counters(n int) (ids []p.AgentID) {
	for i := 0; len(ids) < n; i++ {
		if id := p.AgentID(fmt.Sprint("counter/", i)); placement.Pick(id, []string{"n1", "n2"}) == "n2" {
			ids = append(ids, id)
		}
	}
	return ids
}

// holding is the links of a node of which the one to n2 never has a stream: what it takes comes
// back when it ends.
type holding struct {
	wrapped
	took chan *p.Message // gets a copy of what it holds

	arrived bool // what it takes counts as received, and does not come back

	mu   sync.Mutex
	held []*p.Message
}

func (l *holding) Send(peer cluster.Incarnation, m *p.Message) error {
	if peer.Name != "n2" || m.Performative() != p.ActTaskRequest {
		return l.NodeLinks.Send(peer, m)
	}
	l.mu.Lock()
	if !l.arrived {
		l.held = append(l.held, m)
	}
	l.mu.Unlock()
	l.took <- m
	return nil
}

func (l *holding) Remove(peer cluster.Incarnation) {
	l.NodeLinks.Remove(peer)
	l.mu.Lock()
	held := l.held
	l.held = nil
	l.mu.Unlock()
	if peer.Name != "n2" {
		return
	}
	for _, m := range held {
		l.handler.Undelivered(peer, m, &p.Refusal{Code: p.CodeStopped, About: m.ID(), Text: "the node n2 cannot be reached"})
	}
}

// parting is the links of a node that loses n2, as one that has left, just before it sends a task
// there.
type parting struct {
	wrapped
	loses atomic.Pointer[func()]
}

func (l *parting) Send(peer cluster.Incarnation, m *p.Message) error {
	if peer.Name == "n2" && m.Performative() == p.ActTaskRequest {
		if loses := l.loses.Swap(nil); loses != nil {
			(*loses)()
		}
	}
	return l.NodeLinks.Send(peer, m)
}

// A task whose node leaves just as it is sent there reaches another node: it is for an agent that
// the directory has there, that is to be activated there, or that was heard from there, of an agent
// of this node or of another one. So does one that a node has passed on whose link has just ended.
func TestSentAsTheLinkEnds(t *testing.T) {
	for _, way := range []string{"listed", "picked", "heard", "passed on by this node", "passed on to this node"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel() // it waits for gossip, mostly
			links := &parting{}
			h, n1, n2, n3 := hallOver(t, links, &links.wrapped)
			id := counters(1)[0]
			answers := make(chan *p.Message, 10)
			asker := func(n *runtime.Node) {
				spawn(t, n, "asker", always(scripted{topics: []string{"x"}, receive: func(_ *actors.Context, m *p.Message) { answers <- m }}))
				knowsTopic(t, n1, "asker")
			}
			task := message(t, "asker", id, p.ActTaskRequest, func(e *p.Envelope) { e.Payload = p.TaskRequest{TaskType: "count"} })
			leaves := func() { links.notify(membership.Event{Kind: membership.Left, Member: memberOf(n1, "n2")}) }
			links.loses.Store(&leaves)
			runs := []string{"n1"}
			var err error
			switch way {
			case "listed", "passed on by this node":
				count(t, n2, id)
				listed(t, n1, "n2", id)
				runs = []string{"n2", "n1"}
				if way == "listed" {
					asker(n1)
					err = n1.Send(task)
				} else {
					asker(n3)
					err = sendTo(n3, "n1", task)
				}
			case "heard":
				links.handler.Received(memberOf(n1, "n2").Incarnation, message(t, id, "asker", p.ActInform))
				fallthrough
			case "picked":
				asker(n1)
				err = n1.Send(task)
			case "passed on to this node":
				asker(n3)
				n1.Mesh().LoseSlowly("n2", func() { links.handler.Received(n2.Members()[1].Incarnation, task.Forward()) })
			}
			if err != nil {
				t.Fatal(err)
			}
			if way == "passed on by this node" {
				if links.awaitRouted(t); links.loses.Load() != nil {
					t.Fatal("it is not passed on")
				}
			}
			for done := false; !done; {
				select {
				case m := <-answers:
					if r := m.AsRefusal(); r != nil {
						t.Fatal(r)
					}
					done = m.Performative() == p.ActInformResult
				case <-patience.Context(t).Done():
					t.Fatal("no answer has come")
				}
			}
			if got := h.runsOf(id); !slices.Equal(got, runs) {
				t.Errorf("it ran on %v, want %v", got, runs)
			}
		})
	}
}

// A request that waits for a link to a node which is lost has not arrived. It reaches the next
// activation, whether this node has passed it on or sent it to an agent of which the directory
// knows nothing.
func TestWaitsForALinkThatIsLost(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	links := &holding{took: make(chan *p.Message, 2)}
	h, n1, n2, n3 := hallOver(t, links, &links.wrapped)
	ids := counters(2)
	answers := make(chan *p.Message, 10)
	spawn(t, n3, "asker", always(scripted{topics: []string{"x"}, receive: func(_ *actors.Context, m *p.Message) { answers <- m }}))
	knowsTopic(t, n1, "asker")
	count(t, n2, ids[0])
	listed(t, n1, "n2", ids[0])
	err := sendTo(n3, "n1", message(t, "asker", ids[0], p.ActTaskRequest, func(e *p.Envelope) { e.Payload = p.TaskRequest{TaskType: "count"} }))
	if err != nil {
		t.Fatal(err)
	}
	links.awaitRouted(t)
	select {
	case <-links.took:
	default:
		t.Fatal("the request of another node is not passed on")
	}
	sent := make(chan error, 1)
	go func() {
		_, err := n1.Delegate(patience.Context(t), ids[1], p.TaskRequest{TaskType: "count"})
		sent <- err
	}()
	select {
	case <-links.took:
	case err := <-sent:
		t.Fatalf("a request of this node ends before it is sent: %v", err)
	}
	n1.Mesh().LoseSlowly("n2", func() {})
	if err := <-sent; err != nil {
		t.Errorf("a request of this node: %v", err)
	}
	for {
		select {
		case m := <-answers:
			if r := m.AsRefusal(); r != nil {
				t.Errorf("a request that was passed on: %v", r)
			} else if m.Performative() != p.ActInformResult {
				continue
			}
		case <-patience.Context(t).Done():
			t.Error("a request that was passed on: no answer")
		}
		break
	}
	if got := h.runsOf(ids[0]); !slices.Equal(got, []string{"n2", "n1"}) {
		t.Errorf("it ran on %v", got)
	}
}

// A node dies that has received the first request for an agent, before the others know of the
// activation: the asker is told at once.
func TestHostDiesBeforeItsAgentIsKnown(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	links := &holding{took: make(chan *p.Message, 2), arrived: true}
	_, n1, _, _ := hallOver(t, links, &links.wrapped)
	ended := make(chan error, 1)
	go func() {
		_, err := n1.Delegate(patience.Context(t), counters(1)[0], p.TaskRequest{TaskType: "count"}, codons.WithRetry(codons.NoRetry()))
		ended <- err
	}()
	<-links.took
	n1.Mesh().LoseSlowly("n2", func() {})
	if err := <-ended; !errors.Is(err, p.CodeDisconnected) {
		t.Errorf("got %v", err)
	}
}

func TestMinMembers(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	h, n1 := newHall(), newPatientMember(t, "n1")
	k := h.kind("n1")
	k.MinMembers = 2
	register(t, n1, "counter", k)
	_, err := n1.Delegate(t.Context(), "counter/a", p.TaskRequest{TaskType: "count"})
	if !errors.Is(err, p.CodeStopped) || !strings.Contains(err.Error(), "the node n1 sees 1 members of the cluster, and the kind counter needs 2") {
		t.Errorf("with too few members: %v", err)
	}
	k.Singleton = true
	register(t, n1, "boss", k)
	newPatientMember(t, "n2", n1.Members()[0].Gossip)
	eventually(t, n1, func() error { // it waits for them, too
		if _, runs := n1.Directory().Lookup("boss"); !runs {
			return errors.New("the singleton does not run")
		}
		return nil
	})
	count(t, n1, "counter/a")
}

// A kind with labels runs only where a node has them, and can be reached from everywhere.
func TestKindWithLabels(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	h := newHall()
	n1 := newPatientMember(t, "n1")
	n2 := newNode(t, runtime.Options{Name: "n2", Cluster: &runtime.ClusterOptions{
		Gossip: "127.0.0.1:0", Join: []string{n1.Members()[0].Gossip}, Labels: map[string]string{"gpu": "yes", "zone": "a"},
	}})
	for _, n := range []*runtime.Node{n1, n2} {
		k := h.kind(n.Name())
		k.Labels = map[string]string{"gpu": "yes"}
		register(t, n, "counter", k)
		register(t, n, "everywhere", h.kind(n.Name()))
	}
	hostedBy(t, n1, "everywhere", "n1", "n2")
	hostedBy(t, n1, "counter", "n2")
	for i := range 10 {
		id := p.AgentID(fmt.Sprint("counter/", i))
		count(t, n1, id)
		if got := h.runsOf(id); !slices.Equal(got, []string{"n2"}) {
			t.Errorf("%s ran on %v", id, got)
		}
	}
	if err := n2.Stop(patience.Context(t)); err != nil {
		t.Fatal(err)
	}
	hostedBy(t, n1, "counter")
	_, err := n1.Delegate(t.Context(), "counter/1", p.TaskRequest{TaskType: "count"})
	if !errors.Is(err, p.CodeStopped) || !strings.Contains(err.Error(), "no node hosts the kind counter") {
		t.Errorf("without a host: %v", err)
	}
}

// A singleton runs without a message, on one node, and on another one when that leaves.
func TestSingleton(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	h, nodes := newHall(), join(t, 2, newPatientMember)
	for _, n := range nodes {
		k := h.kind(n.Name())
		k.Singleton = true
		register(t, n, "Boss", k)
	}
	at := placement.Pick("boss", []string{"n1", "n2"})
	i := slices.IndexFunc(nodes, func(n *runtime.Node) bool { return n.Name() == at })
	runs := func(n *runtime.Node, on string) {
		eventually(t, n, func() error {
			if e, ok := n.Directory().Lookup("boss"); !ok || e.Node != on || len(n.Hosts("boss")) == 0 {
				return fmt.Errorf("%s sees %+v, %t", n.Name(), e, ok)
			}
			return nil
		})
	}
	runs(nodes[i], at)
	runs(nodes[1-i], at)
	if err := nodes[i].Drain(patience.Context(t)); err != nil {
		t.Error(err)
	}
	runs(nodes[1-i], nodes[1-i].Name())
	if _, err := nodes[1-i].Delegate(t.Context(), "boss/a", p.TaskRequest{TaskType: "count"}); !errors.Is(err, p.CodeUnknownAgent) {
		t.Errorf("an agent beside the singleton: %v", err)
	}
}

// A singleton that could not start, or has stopped, starts again.
func TestSingletonStartsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, runtime.Options{})
		starts := 0
		register(t, n, "boss", runtime.Kind{Singleton: true, New: func(p.AgentID) actors.Agent {
			return &scripted{start: func(*actors.Context) error {
				if starts++; starts == 1 {
					return errors.New("not yet")
				}
				return nil
			}}
		}})
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if _, runs := n.System().Lookup("boss"); !runs || starts != 2 {
			t.Fatalf("%d starts, runs: %t", starts, runs)
		}
		if err := n.StopAgent(t.Context(), "boss"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if _, runs := n.System().Lookup("boss"); !runs || starts != 3 {
			t.Errorf("%d starts, runs: %t", starts, runs)
		}
	})
}

// Two halves of a cluster that do not see each other may each run an agent. When they meet, the one
// that began later stops.
func TestTwoActivationsMeet(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	h, keys := newHall(), [][]byte{[]byte("0123456789abcdef"), []byte("fedcba9876543210")}
	h.block = make(chan struct{})
	var nodes []*runtime.Node
	for i, name := range []string{"n1", "n2"} {
		o := &runtime.ClusterOptions{Gossip: "127.0.0.1:0", JoinTime: time.Millisecond, Keys: keys[i : i+1]}
		if i == 1 {
			o.Join = []string{nodes[0].Members()[0].Gossip}
		}
		n := newNode(t, runtime.Options{Name: name, Cluster: o})
		register(t, n, "counter", h.kind(name))
		nodes = append(nodes, n)
		count(t, n, "counter/x")
	}
	end := make(chan error, 1)
	go func() {
		_, err := nodes[1].Delegate(patience.Context(t), "counter/x", p.TaskRequest{TaskType: "wait"})
		end <- err
	}()
	<-h.began
	contested := nodes[1].Events().Subscribe(events.SubscribeOptions{Kinds: []events.Kind{runtime.KindAgentContested}})
	defer contested.Close()
	for i, n := range nodes {
		if err := n.GossipKeys().Add(keys[1-i]); err != nil {
			t.Fatal(err)
		}
	}
	r, err := contested.Next(patience.Context(t))
	if e, ok := r.Event.(runtime.AgentContested); err != nil || !ok || !e.Stops || e.Node != "n1" || e.Agent != "counter/x" {
		t.Fatalf("got %+v, %v", r.Event, err)
	}
	if err := <-end; !errors.Is(err, p.CodeMoved) {
		t.Errorf("the conversation of the later one: %v", err)
	}
	eventually(t, nodes[1], func() error {
		if e, ok := nodes[1].Directory().Lookup("counter/x"); !ok || e.Node != "n1" {
			return fmt.Errorf("n2 sees %+v, %t", e, ok)
		}
		return nil
	})
	if got := count(t, nodes[1], "counter/x"); got != 2 {
		t.Errorf("it counts %d, want 2", got)
	}
}

// An agent that is quiet leaves memory. With its next message it continues, with its state if it
// keeps any.
func TestQuietAgentLeavesMemory(t *testing.T) {
	for _, keepState := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			h, n := newHall(), newNode(t, runtime.Options{})
			h.keepState = keepState
			h.block = make(chan struct{})
			k := h.kind("node")
			k.Idle = time.Minute
			register(t, n, "counter", k)
			count(t, n, "counter/a")
			long, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			go func() { _, _ = n.Delegate(long, "counter/busy", p.TaskRequest{TaskType: "wait"}) }()
			<-h.began
			for range 10 { // it is not quiet
				time.Sleep(50 * time.Second)
				count(t, n, "counter/b")
			}
			synctest.Wait()
			runs := []int{len(h.runsOf("counter/a")), len(h.runsOf("counter/b")), len(h.runsOf("counter/busy"))}
			if !slices.Equal(runs, []int{1, 1, 1}) || n.Counts().Agents != 3 { // with the node's own
				t.Errorf("activations %v, %d agents", runs, n.Counts().Agents)
			}
			want := 1
			if keepState {
				want = 2
			}
			if got := count(t, n, "counter/a"); got != want {
				t.Errorf("it counts %d, want %d", got, want)
			}
			if got := len(h.runsOf("counter/a")); got != 2 {
				t.Errorf("%d activations", got)
			}
		})
	}
}

// A message of a placed agent carries its activation, also to another node. An answer to a run that
// has ended is refused, and does not reach the next one.
func TestAnswerToAnEndedRun(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	nodes := join(t, 2, newPatientMember)
	got := make(chan *p.Message, 10)
	asks := runtime.Kind{New: func(p.AgentID) actors.Agent {
		return &scripted{topics: []string{"x"}, receive: func(c *actors.Context, m *p.Message) {
			got <- m
			if m.Performative() == p.ActRequest {
				q := message(t, c.ID(), "Oracle", p.ActRequest)
				if err := c.Send(q); err != nil {
					t.Error(err)
				}
			}
		}}
	}}
	register(t, nodes[0], "asker", asks)
	asked := make(chan *p.Message, 10)
	spawn(t, nodes[1], "Oracle", always(scripted{topics: []string{"y"}, receive: func(_ *actors.Context, m *p.Message) {
		if m.Performative() == p.ActRequest { // else it says that the asker has stopped
			asked <- m
		}
	}}))
	knowsTopic(t, nodes[0], "Oracle")
	hostedBy(t, nodes[1], "asker", "n1")
	oracle, _ := nodes[1].System().Lookup("Oracle")
	ask := func() (answer *p.Message, activation uint64) {
		if err := oracle.Send(message(t, "Oracle", "asker/1", p.ActRequest)); err != nil {
			t.Fatal(err)
		}
		<-got
		q := <-asked
		answer, err := q.ReplyAs(oracle.Stamp(), p.ActInform, p.Raw(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		return answer, q.Activation()
	}
	first, run := ask()
	if run == 0 || first.Answered() != run {
		t.Fatalf("the activation is %d, and the answer is to %d", run, first.Answered())
	}
	if err := oracle.Send(first); err != nil {
		t.Fatal(err)
	}
	if m := <-got; m.ID() != first.ID() {
		t.Errorf("got %v", m)
	}
	if err := nodes[0].StopAgent(patience.Context(t), "asker/1"); err != nil {
		t.Fatal(err)
	}
	late, again := ask()
	if again <= run {
		t.Errorf("the activation %d follows %d", again, run)
	}
	stale, err := late.With(func(e *p.Envelope) { e.ID, e.Answers = "stale", run })
	if err != nil {
		t.Fatal(err)
	}
	letters := listen(t, nodes[0], events.KindMessageDeadLettered)
	for _, m := range []*p.Message{stale, late} {
		if err := oracle.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	if m := <-got; m.ID() != late.ID() {
		t.Errorf("the next run got %s %s of %s in reply to %q", m.Performative(), m.ID(), m.Sender(), m.InReplyTo())
	}
	isStale := func(e events.DeadLetter) bool {
		m, ok := e.Message.(*p.Message)
		return ok && m.ID() == stale.ID()
	}
	if e := await(t, letters, 1, isStale)[0]; e.Code != p.CodeConversationEnded {
		t.Errorf("the stale answer is dead for %s", e.Code)
	}
}
