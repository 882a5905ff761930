package runtime_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/cluster/membership"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/notify"
	"github.com/ribosome-agents/ribosome/internal/exhaustive"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/grpc"
)

func spawn(t testing.TB, n *runtime.Node, id p.AgentID, create func() actors.Agent) {
	t.Helper()
	if err := n.Spawn(patience.Context(t), id, create); err != nil {
		t.Fatal(err)
	}
}

func TestBroadcastReachesOtherNodes(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	nodes := newCluster(t, 3)
	heard := make(chan p.AgentID, 8)
	for i, n := range nodes {
		spawn(t, n, p.AgentID(fmt.Sprint("a", i+1)), func() actors.Agent { return noticeRecorder{heard} })
	}
	if err := notify.Broadcast(nodes[0], map[string]any{"text": "rain"}); err != nil {
		t.Fatal(err)
	}
	var got []p.AgentID
	for range 3 {
		got = append(got, <-heard)
	}
	if slices.Sort(got); !slices.Equal(got, []p.AgentID{"a1", "a2", "a3"}) {
		t.Errorf("heard by %v", got)
	}
}

// A request of an agent that is in no directory yet is answered: the reply goes back where it came
// from.
func TestReplyToAnAgentThatHasJustBegun(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	nodes := newCluster(t, 2)
	spawn(t, nodes[1], "Echo", always(scripted{topics: []string{"x"}, receive: func(c *actors.Context, m *p.Message) {
		if of, known := nodes[1].NodeOf(m.Sender()); of != "n1" || !known {
			t.Errorf("the node of %s is %q", m.Sender(), of)
		}
		if m.Performative().ExpectsReply() {
			_ = c.ReplyAs(m, p.ActAgree, nil)
		}
	}}))
	knowsTopic(t, nodes[0], "Echo")
	for i := range 50 {
		client, err := nodes[0].Client(patience.Context(t), p.AgentID(fmt.Sprint("client", i)))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Ask(patience.Context(t), message(t, client.ID(), "Echo", p.ActRequest))
		if err != nil || answer.Performative() != p.ActAgree {
			t.Fatalf("client %d got %v, %v", i, answer, err)
		}
	}
	if of, known := nodes[1].NodeOf("nobody"); known {
		t.Errorf("the node of nobody is %q", of)
	}
}

func knowsTopic(t testing.TB, n *runtime.Node, id p.AgentID) {
	t.Helper()
	eventually(t, n, func() error {
		if !slices.Contains(n.Directory().IDs(), id) {
			return fmt.Errorf("%s does not know %s", n.Name(), id)
		}
		return nil
	})
}

// The node of an agent dies. What asked the agent is told: a conversation, and a request to an
// agent that answers in its Receive.
func TestNodeDies(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	nodes := join(t, 3, newMortalMember)
	began := make(chan struct{}, 1)
	spawn(t, nodes[1], "Rev", func() actors.Agent { return colleague{delay: make(chan struct{}), began: began} })
	received := make(chan struct{}, 1)
	spawn(t, nodes[1], "Mute", always(scripted{topics: []string{"x"}, receive: func(_ *actors.Context, m *p.Message) {
		if m.Performative() == p.ActRequest {
			received <- struct{}{}
		}
	}}))
	knowsTopic(t, nodes[0], "Rev")
	knowsTopic(t, nodes[0], "Mute")
	failed := make(chan error, 2)
	go func() {
		_, err := nodes[0].Delegate(patience.Context(t), "Rev", p.TaskRequest{TaskType: "review"})
		failed <- err
	}()
	go func() {
		_, err := nodes[0].Ask(patience.Context(t), "Mute", p.Raw(`{}`), runtime.WithAct(p.ActRequest))
		failed <- err
	}()
	<-began
	<-received
	lost := listen(t, nodes[0], runtime.KindMemberLost)
	crash(t, nodes[1])
	for range 2 {
		if err := <-failed; !errors.Is(err, p.CodeDisconnected) {
			t.Errorf("got %v", err)
		}
	}
	if e := await[runtime.MemberLost](t, lost, 1, nil); e[0].Node != "n2" || e[0].Reason != "failed" {
		t.Errorf("lost: %+v", e[0])
	}
	if all, _ := nodes[0].Links(); all != 1 {
		t.Errorf("%d links, want that to n3", all)
	}
	if _, ok := nodes[0].Directory().Lookup("Rev"); ok {
		t.Error("an agent of a dead node is in the directory")
	}
	if _, err := nodes[0].Delegate(patience.Context(t), "Rev", p.TaskRequest{TaskType: "review"}); !errors.Is(err, p.CodeStopped) {
		t.Errorf("a later task: %v", err)
	}
}

// The asker's node dies: the work that nobody waits for any more is stopped.
func TestNodeOfTheAskerDies(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	nodes := join(t, 2, newMortalMember)
	began, ended := make(chan struct{}, 1), make(chan struct{}, 1)
	spawn(t, nodes[1], "Rev", func() actors.Agent {
		return working(func(ctx context.Context) error {
			began <- struct{}{}
			<-ctx.Done()
			ended <- struct{}{}
			return context.Cause(ctx)
		})
	})
	knowsTopic(t, nodes[0], "Rev")
	go func() { _, _ = nodes[0].Delegate(patience.Context(t), "Rev", p.TaskRequest{TaskType: "review"}) }()
	<-began
	crash(t, nodes[0])
	<-ended
}

// working is an agent whose tasks are a function.
type working func(ctx context.Context) error

func (working) Describe() p.Capabilities {
	return p.Capabilities{Topics: []string{"work"}, Actions: []p.Action{{Name: "review"}}}
}

func (working) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

func (w working) PerformTask(ctx context.Context, _ delegation.Task) (p.InformResult, error) {
	return p.InformResult{Status: p.StatusSuccess}, w(ctx)
}

// A tree of 121 delegations over three nodes is cancelled at any moment: when the receipt has come,
// no handler runs any more.
func TestCancelledTreeOverNodes(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	tree := newTreeOfTasks(t)
	runs := 5
	switch {
	case exhaustive.Enabled():
		runs = 200
	case racetest.Enabled:
		runs = 2
	}
	var took []time.Duration // until no side of a conversation is left
	random := rand.New(rand.NewPCG(1, 1))
	for run := range runs {
		ctx, cancel := context.WithCancel(patience.Context(t))
		tree.begin(1 + random.IntN(121))
		over := make(chan error, 1)
		go func() {
			_, err := tree.nodes[run%3].Delegate(ctx, tree.agent(1), p.TaskRequest{TaskType: "review", Description: "4"})
			over <- err
		}()
		<-tree.grown
		cancelled := time.Now()
		cancel()
		err := <-over
		if err == nil {
			t.Fatal("a cancelled delegation succeeded")
		}
		if n := tree.running.Load(); n != 0 {
			t.Fatalf("run %d: %d handlers run after the receipt: %v", run, n, err)
		}
		tree.ended(t)
		took = append(took, time.Since(cancelled))
	}
	slices.Sort(took)
	t.Logf("%d trees, cancelled in %v, the longest in %v", runs, took[(runs-1)/2], took[runs-1])
	limit := 5 * time.Second // CI runs the tests of other packages beside it; a CANCEL that is lost is sent again later than that
	if exhaustive.Enabled() && !racetest.Enabled {
		limit = 500 * time.Millisecond
	}
	if took[(runs-1)/2] > limit { // the longest one may have waited for a busy machine
		t.Error("that is too long")
	}
}

// Both sides of each conversation of a tree over three nodes name the one in whose work it was
// begun. When the tree is cancelled, no side stays.
func TestParentsInATreeOverNodes(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	tree := newTreeOfTasks(t)
	ctx, cancel := context.WithCancel(patience.Context(t))
	tree.begin(121)
	over := make(chan error, 1)
	go func() {
		_, err := tree.nodes[0].Delegate(ctx, tree.agent(1), p.TaskRequest{TaskType: "review", Description: "4"})
		over <- err
	}()
	<-tree.grown
	parents, sides := make(map[p.ConversationID]p.ConversationID), 0
	for _, n := range tree.nodes {
		for _, c := range n.Conversations() {
			if parent, known := parents[c.ID]; known && parent != c.Parent {
				t.Errorf("the %s of %s on %s has the parent %q, the other side %q", c.Role, c.ID, n.Name(), c.Parent, parent)
			}
			parents[c.ID] = c.Parent
			sides++
		}
	}
	children := make(map[p.ConversationID]int)
	for id, parent := range parents {
		children[parent]++
		if _, known := parents[parent]; !known && parent != "" {
			t.Errorf("the parent %q of %s is none of the tree", parent, id)
		}
	}
	if len(parents) != 121 || sides != 242 || children[""] != 1 || len(children) != 41 {
		t.Errorf("%d conversations with %d sides, of which %d have no parent, and %d have children", len(parents), sides, children[""], len(children)-1)
	}
	cancel()
	if err := <-over; err == nil {
		t.Error("a cancelled delegation succeeded")
	}
	tree.ended(t)
}

// treeOfTasks are the handlers of a tree of delegations, each of which has three children, down to
// a depth.
type treeOfTasks struct {
	nodes   []*runtime.Node
	running atomic.Int64
	left    atomic.Int64  // how many handlers are to begin until grown
	grown   chan struct{} // gets a value when so many have begun
}

// newTreeOfTasks starts three nodes, each with an agent of trees, that know one another.
func newTreeOfTasks(t *testing.T) *treeOfTasks {
	t.Helper()
	tree := &treeOfTasks{nodes: newCluster(t, 3)}
	for i, n := range tree.nodes {
		spawn(t, n, tree.agent(i), func() actors.Agent { return branch{tree, i} })
	}
	for _, n := range tree.nodes {
		for i := range tree.nodes {
			knowsTopic(t, n, tree.agent(i))
		}
	}
	return tree
}

// ended waits until no side of a conversation is left on any node.
func (t *treeOfTasks) ended(tb testing.TB) {
	tb.Helper()
	for _, n := range t.nodes {
		eventually(tb, n, func() error {
			if left := n.Conversations(); len(left) > 0 {
				return fmt.Errorf("%d conversations are left on %s: %+v", len(left), n.Name(), left[0])
			}
			return nil
		})
	}
}

func (*treeOfTasks) agent(node int) p.AgentID { return p.AgentID(fmt.Sprint("branch", node)) }

func (t *treeOfTasks) begin(n int) {
	t.grown = make(chan struct{}, 1)
	t.left.Store(int64(n))
}

// branch is the agent of one node.
type branch struct {
	tree *treeOfTasks
	node int
}

func (branch) Describe() p.Capabilities {
	return p.Capabilities{Topics: []string{"work"}, Actions: []p.Action{{Name: "review"}}}
}

func (branch) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

// PerformTask delegates to three agents, on this node and on the others, and waits for them. A leaf
// waits for its end.
func (b branch) PerformTask(ctx context.Context, t delegation.Task) (p.InformResult, error) {
	b.tree.running.Add(1)
	defer b.tree.running.Add(-1)
	if b.tree.left.Add(-1) == 0 {
		b.tree.grown <- struct{}{}
	}
	if t.Description == "0" {
		<-ctx.Done()
		return p.InformResult{}, context.Cause(ctx)
	}
	below := p.TaskRequest{TaskType: "review", Description: string(t.Description[0] - 1)}
	failed := make(chan error, 3)
	for i := range 3 {
		go func() {
			_, err := delegation.Delegate(ctx, b.tree.nodes[b.node], b.tree.agent((b.node+i)%3), below)
			failed <- err
		}()
	}
	var err error
	for range 3 {
		err = errors.Join(err, <-failed)
	}
	return p.InformResult{Status: p.StatusSuccess}, err
}

// Two clusters join, and both have an agent of one id: each uses its own, and says so.
func TestSameIDOnTwoNodes(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	a, b := newPatientMember(t, "a"), newPatientMember(t, "b")
	for _, n := range []*runtime.Node{a, b} {
		spawn(t, n, "Rev", func() actors.Agent { return colleague{} })
	}
	contested := listen(t, a, runtime.KindAgentContested)
	newPatientMember(t, "c", a.Members()[0].Gossip, b.Members()[0].Gossip)
	if e := await[runtime.AgentContested](t, contested, 1, nil); e[0].Agent != "Rev" || e[0].Node != "b" {
		t.Errorf("got %+v", e[0])
	}
	for _, n := range []*runtime.Node{a, b} {
		if e, ok := n.Directory().Lookup("Rev"); !ok || e.Node != n.Name() {
			t.Errorf("%s uses %+v", n.Name(), e)
		}
	}
	if err := a.StopAgent(patience.Context(t), "Rev"); err != nil {
		t.Fatal(err)
	}
	knows(t, a, "Rev", "b")
}

// The agents of a session are agents of the cluster, also when they connect to another node.
func TestSessionMovesToAnotherNode(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	nodes := newCluster(t, 2)
	hubs := []*hub{newHubOf(t, nodes[0], noPeerOptions), newHubOf(t, nodes[1], noPeerOptions)}
	first := newOutpostOf(t, newNode(t, runtime.Options{Name: "outpost"}), hubs[0])
	spawn(t, first.Node, "Crm", func() actors.Agent { return colleague{} })
	if err := first.up.Connect(patience.Context(t)); err != nil {
		t.Fatal(err)
	}
	knows(t, nodes[1], "Crm", "n1")
	if _, err := nodes[1].Delegate(patience.Context(t), "Crm", p.TaskRequest{TaskType: "review"}); err != nil {
		t.Fatalf("by two nodes: %v", err)
	}
	second := newOutpostOf(t, newNode(t, runtime.Options{Name: "outpost2"}), hubs[1])
	spawn(t, second.Node, "Crm", func() actors.Agent { return colleague{} })
	if err := second.up.Connect(patience.Context(t)); err != nil {
		t.Fatal(err)
	}
	knows(t, nodes[0], "Crm", "n2")
	if _, err := nodes[0].Delegate(patience.Context(t), "Crm", p.TaskRequest{TaskType: "review"}); err != nil {
		t.Errorf("at the other node: %v", err)
	}
}

// An agent behind an uplink of one node works for the agents of another.
func TestUplinkBesideACluster(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	nodes := newCluster(t, 2)
	h := newHubOf(t, nodes[0], noPeerOptions)
	out := newOutpostOf(t, newNode(t, runtime.Options{Name: "outpost"}), h, func(o *runtime.UplinkOptions) { o.Introduce = false })
	spawn(t, nodes[1], "Rev", func() actors.Agent { return colleague{} })
	knows(t, nodes[0], "Rev", "n2")
	if err := out.up.Connect(patience.Context(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Delegate(patience.Context(t), "Rev", p.TaskRequest{TaskType: "review"}); err != nil {
		t.Errorf("got %v", err)
	}
}

// An agent beyond an uplink of one node is in no directory. It is told the end of what it has asked
// an agent of another node, and of what it works on for one.
func TestEndIsToldBeyondTheUplinkOfAnotherNode(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	nodes, far := newCluster(t, 2), newHub(t, noPeerOptions)
	out := newOutpostOf(t, nodes[0], far)
	asked, got := make(chan *p.Message, 1), make(chan *p.Message, 1)
	spawn(t, nodes[1], "Rev", always(scripted{topics: []string{"x"}, receive: func(_ *actors.Context, m *p.Message) { asked <- m }}))
	knowsTopic(t, nodes[0], "Rev")
	if err := out.up.Connect(patience.Context(t)); err != nil {
		t.Fatal(err)
	}
	far.awaitVisible("Rev")
	spawn(t, far.Node, "Far", always(scripted{receive: func(_ *actors.Context, m *p.Message) { got <- m }}))
	if err := far.Send(message(t, "Far", "Rev", p.ActRequest)); err != nil {
		t.Fatal(err)
	}
	question := <-asked
	client, err := nodes[1].Client(patience.Context(t), "client")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(patience.Context(t))
	go func() {
		<-got
		cancel()
	}()
	ask := message(t, "client", "Far", p.ActRequest)
	if _, err := client.Ask(ctx, ask); !errors.Is(err, context.Canceled) {
		t.Errorf("asked with the error %v", err)
	}
	if m := <-got; m.Performative() != p.ActCancel || m.InReplyTo() != string(ask.ID()) {
		t.Errorf("got %v, want CANCEL", m)
	}
	if err := nodes[1].StopAgent(patience.Context(t), "Rev"); err != nil {
		t.Error(err)
	}
	if m := <-got; m.AsRefusal() == nil || m.InReplyTo() != string(question.ID()) {
		t.Errorf("got %v, want a refusal", m)
	}
}

// Two nodes with different versions of a codon do not converse by it, and the asker learns which
// one: whether they differ in a row or in a payload type.
func TestDifferentVersionsOfACodon(t *testing.T) {
	type verdict struct { // has a field more than that of codeReview
		File string `json:"file"`
		Fine bool   `json:"fine"`
		Line int    `json:"line"`
	}
	for name, change := range map[string]func(*codons.Definition){
		"a row": func(d *codons.Definition) {
			d.Table.Rows = slices.Clone(d.Table.Rows)
			d.Table.Rows[1].To = "waiting"
		},
		"a payload type": func(d *codons.Definition) {
			d.Messages = maps.Clone(d.Messages)
			d.Messages["REVIEW_DONE"] = codons.Says[verdict](p.ActInform)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits for gossip, mostly
			other := codeReview.Definition
			change(&other)
			testDifferentVersions(t, codons.MustDefine(other))
		})
	}
}

// testDifferentVersions has a node with codeReview ask one that has another version of it.
func testDifferentVersions(t *testing.T, changed *codons.Codon) {
	a := newNode(t, runtime.Options{
		Name: "a", Codons: []*codons.Service{codeReview.Answer(codons.Method("review", codeReviewer.Review))},
		Cluster: &runtime.ClusterOptions{Gossip: "127.0.0.1:0", Profile: membership.WAN},
	})
	links := listen(t, a, runtime.KindMemberLinked)
	b := newNode(t, runtime.Options{
		Name: "b", Codons: []*codons.Service{changed.Answer(codons.Method("review", codeReviewer.Review))},
		Cluster: &runtime.ClusterOptions{Gossip: "127.0.0.1:0", Join: []string{a.Members()[0].Gossip}, Profile: membership.WAN},
	})
	spawn(t, b, "Rev", func() actors.Agent { return strictReviewer{} })
	knowsTopic(t, a, "Rev")
	if e := await[runtime.MemberLinked](t, links, 1, nil); !slices.Equal(e[0].Differ, []string{"code-review"}) {
		t.Errorf("they differ in %v", e[0].Differ)
	}
	_, err := codeReview.Ask(patience.Context(t), a, "Rev", review{File: "x_test.go"}, codons.On("revise", func(context.Context, codons.Turn[verdict]) (codons.Command, error) {
		return codons.Command{}, errors.New("not revised")
	}))
	if err == nil || !strings.Contains(err.Error(), "the nodes a and b have different versions of the codon code-review") {
		t.Errorf("got %v", err)
	}
}

// The hash of a codon depends on the payload types of its messages, and on those of the acts that
// its table sends.
func TestHashOfACodonHasItsPayloads(t *testing.T) {
	type review struct { // has a field more than that of the messages
		File   string `json:"file"`
		Branch string `json:"branch"`
	}
	with := func(change func(*codons.Definition)) uint64 {
		d := codeReview.Definition
		d.Messages = maps.Clone(d.Messages)
		change(&d)
		return codons.MustDefine(d).Hash()
	}
	payload := func(of any) func(*codons.Definition) {
		return func(d *codons.Definition) {
			d.Payloads = []codons.Payload{{Act: p.ActRequest, Type: of, Doc: "a change"}}
		}
	}
	same := with(func(*codons.Definition) {})
	if again := codeReview.Hash(); again != same {
		t.Errorf("one codon has the hashes %x and %x", same, again)
	}
	if other := with(func(d *codons.Definition) { d.Messages["REVIEW_REQUEST"] = codons.Says[review](p.ActRequest) }); other == same {
		t.Error("a message with another payload type does not change the hash")
	}
	one := with(payload(struct{ File string }{}))
	if again := with(payload(struct{ File string }{})); again != one {
		t.Errorf("one codon has the hashes %x and %x", one, again)
	}
	if other := with(payload(struct{ File []string }{})); other == one {
		t.Error("an act with another payload type does not change the hash")
	}
}

// The principal of a message goes along to another node.
func TestPrincipalOverNodes(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	nodes := newCluster(t, 2)
	h := newHubOf(t, nodes[0], noPeerOptions, func(o *wire.Options) { o.Auth, o.Anonymous = connectionsOnly{}, false })
	got := make(chan *p.Message, 1)
	spawn(t, nodes[1], "Eliza", always(scripted{topics: []string{"x"}, receive: func(_ *actors.Context, m *p.Message) { got <- m }}))
	knowsTopic(t, nodes[0], "Eliza")
	c := newCaller(t, h, &wire.Identity{Name: "crm"})
	c.say(message(t, "crm/bot", "Eliza", p.ActInform))
	if m := <-got; m.Principal() != "crm" || m.Sender() != "crm/bot/client-1@"+p.AgentID(nodes[0].Name()) {
		t.Errorf("a message of %s with the principal %q", m.Sender(), m.Principal())
	}
}

// A budget goes along to the agents of other nodes, and what they use is missing from that of the
// conversation that asked them.
func TestBudgetOverNodes(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	nodes := newCluster(t, 3)
	left := make(chan int64, 2)
	task := p.TaskRequest{TaskType: "review"}
	spawn(t, nodes[2], "Leaf", func() actors.Agent {
		return working(func(ctx context.Context) error {
			left <- codons.BudgetLeft(ctx)[codons.Tokens]
			return codons.Spend(ctx, codons.Budget{codons.Tokens: 3})
		})
	})
	spawn(t, nodes[1], "Middle", func() actors.Agent {
		return working(func(ctx context.Context) error {
			if err := codons.Spend(ctx, codons.Budget{codons.Tokens: 2}); err != nil {
				return err
			}
			_, err := delegation.Delegate(ctx, nodes[1], "Leaf", task)
			left <- codons.BudgetLeft(ctx)[codons.Tokens]
			return err
		})
	})
	knowsTopic(t, nodes[0], "Middle")
	knowsTopic(t, nodes[1], "Leaf")
	if _, err := nodes[0].Delegate(patience.Context(t), "Middle", task, codons.WithBudget(codons.Budget{codons.Tokens: 10})); err != nil {
		t.Fatal(err)
	}
	if leaf, middle := <-left, <-left; leaf != 8 || middle != 5 {
		t.Errorf("the third node has %d tokens, and the second one %d after it, want 8 and 5", leaf, middle)
	}
	if _, err := nodes[0].Delegate(patience.Context(t), "Middle", task, codons.WithBudget(codons.Budget{codons.Tokens: 4})); !errors.Is(err, p.CodeBudget) {
		t.Errorf("with too small a budget: %v", err)
	}
}

func TestWrongClusterOptions(t *testing.T) {
	taken := newMember(t, "n1")
	for want, o := range map[string]runtime.ClusterOptions{
		"Gossip is empty":        {},
		`Gossip is "nowhere"`:    {Gossip: "nowhere"},
		"all addresses":          {Gossip: "0.0.0.0:0"},
		"JoinTime is -1ns":       {Gossip: "127.0.0.1:0", JoinTime: -1},
		"LinkTimeout is -1ns":    {Gossip: "127.0.0.1:0", LinkTimeout: -1},
		"name taken by another":  {Gossip: "127.0.0.1:0", Join: []string{taken.Members()[0].Gossip}},
		"address already in use": {Gossip: taken.Members()[0].Gossip},
		`Advertise is "[::1]"`:   {Gossip: "127.0.0.1:0", Advertise: "[::1]"},
		`Advertise is "::g"`:     {Gossip: "127.0.0.1:0", Advertise: "::g"},
		`Advertise is "n1:7946"`: {Gossip: "127.0.0.1:0", Advertise: "n1:7946"},
		"a zone":                 {Gossip: "[::1%lo]:0"},
		"no ClientCAs":           {Gossip: "127.0.0.1:0", TLS: &tls.Config{MinVersion: tls.VersionTLS13}},
		"no GetClientCertificate": {Gossip: "127.0.0.1:0", TLS: &tls.Config{
			MinVersion: tls.VersionTLS13, ClientCAs: x509.NewCertPool(), GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return nil, nil },
		}},
		"Links is empty": {Gossip: "127.0.0.1:0", Accept: func(func(*grpc.LinkStream)) {}},
	} {
		n, err := runtime.New(runtime.Options{Name: "n1", Cluster: &o})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "runtime: Options.Cluster: ") {
			t.Errorf("want %q, got %v", want, err)
		}
		if n != nil {
			_ = n.Stop(patience.Context(t))
		}
	}
}

// A message that reaches a node where its receiver is not is refused to its sender, and passed on
// to no other node.
func TestReceiverIsOnNoNodeOrOnAnother(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	nodes := newCluster(t, 3)
	got := make(chan *p.Message, 1)
	spawn(t, nodes[0], "Asker", always(scripted{topics: []string{"x"}, receive: func(_ *actors.Context, m *p.Message) { got <- m }}))
	spawn(t, nodes[2], "Third", func() actors.Agent { return colleague{} })
	knows(t, nodes[1], "Third", "n3")
	knowsTopic(t, nodes[1], "Asker")
	for to, want := range map[p.AgentID]p.Code{"Nobody": p.CodeUnknownAgent, "Third": p.CodeStopped} {
		if err := sendTo(nodes[0], "n2", message(t, "Asker", to, p.ActRequest)); err != nil {
			t.Fatal(err)
		}
		var m *p.Message
		select {
		case m = <-got:
		case <-patience.Context(t).Done():
			t.Fatalf("to %s: no refusal has come", to)
		}
		if r := m.AsRefusal(); r == nil || r.Code != want || m.Sender() != to || !m.Undeliverable() {
			t.Errorf("to %s: got %s of %s: %v", to, m.Performative(), m.Sender(), r)
		}
	}
}

// No other node can speak as an agent of this one.
func TestSenderOfThisNode(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	nodes := newCluster(t, 2)
	got := make(chan *p.Message, 2)
	spawn(t, nodes[1], "Eliza", always(scripted{topics: []string{"x"}, receive: func(_ *actors.Context, m *p.Message) { got <- m }}))
	spawn(t, nodes[1], "Jules", always(scripted{topics: []string{"x"}}))
	knowsTopic(t, nodes[0], "Eliza")
	dead := listen(t, nodes[1], events.KindMessageDeadLettered)
	if err := sendTo(nodes[0], "n2", message(t, "jules", "Eliza", p.ActInform)); err != nil {
		t.Fatal(err)
	}
	if e := await[events.DeadLetter](t, dead, 1, nil); e[0].Code != p.CodeForbidden {
		t.Errorf("got %+v", e[0])
	}
	if len(got) != 0 {
		t.Errorf("Eliza got a message of %s", (<-got).Sender())
	}
}
