package runtime_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/cluster/membership"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/codons/notify"
	"github.com/ribosome-agents/ribosome/codons/query"
	requesting "github.com/ribosome-agents/ribosome/codons/request"
	"github.com/ribosome-agents/ribosome/codons/tool"
	"github.com/ribosome-agents/ribosome/internal/patience"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
	"github.com/ribosome-agents/ribosome/wire/dialect/bridge"
	"github.com/ribosome-agents/ribosome/wire/sealed"
	"github.com/ribosome-agents/ribosome/wire/sealed/sealedtest"
	"github.com/ribosome-agents/ribosome/wire/tcp"
)

// canary is in each payload of the tests of sealed payloads, and in none of the bytes on the way.
const canary = "canary-7d1f"

// confidant is an agent with several roles, all of whose answers have the canary in them.
type confidant struct {
	*tool.Tools
	stopped chan error // of tasks named wait
}

func newConfidant(t testing.TB) confidant {
	t.Helper()
	whisper, err := tool.New("whisper", "repeats a text", func(_ context.Context, in struct {
		Text string `json:"text"`
	},
	) (map[string]string, error) {
		return map[string]string{"text": in.Text + "-back"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	set, err := tool.NewSet(whisper)
	if err != nil {
		t.Fatal(err)
	}
	return confidant{set, make(chan error, 1)}
}

func (c confidant) Describe() p.Capabilities {
	d := c.Tools.Describe()
	d.Topics = []string{"secrets"}
	return d
}

func (c confidant) ConsiderTask(_ context.Context, t delegation.Task) delegation.Decision {
	if t.TaskType == "forbidden" {
		return delegation.Reject(p.CodeForbidden, canary+": no")
	}
	return delegation.Accept()
}

func (c confidant) PerformTask(ctx context.Context, t delegation.Task) (p.InformResult, error) {
	switch t.TaskType {
	case "fail":
		return p.InformResult{}, &p.Refusal{Code: p.CodeFailed, Text: canary + ": failed"}
	case "wait":
		_ = t.Progress(1, canary+"-waiting")
		<-ctx.Done()
		c.stopped <- context.Cause(ctx)
		return p.InformResult{}, context.Cause(ctx)
	}
	if err := t.Progress(50, canary+"-half"); err != nil {
		return p.InformResult{}, err
	}
	return p.InformResult{Status: p.StatusSuccess, Summary: t.Description + "-done"}, nil
}

func (c confidant) HandleRequest(_ context.Context, r requesting.Requested) (any, error) {
	return r.Message.Payload(), nil
}

func (c confidant) HandleQueryRef(_ context.Context, q query.AskedRef) (any, error) {
	return q.Reference + "-value", nil
}

func (c confidant) HandleQueryIf(_ context.Context, q query.AskedIf) (bool, error) {
	condition, err := p.Decode[string](q.Condition)
	return strings.HasPrefix(condition, canary), err
}

// tap forwards TCP connections and keeps all bytes that pass.
type tap struct {
	net.Listener
	t  testing.TB
	to string

	mu     sync.Mutex
	passed bytes.Buffer
	all    sync.WaitGroup
	open   []net.Conn
}

func newTap(t testing.TB, to string) *tap {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	x := &tap{Listener: l, t: t, to: to}
	x.all.Go(x.serve)
	t.Cleanup(x.close)
	return x
}

func (x *tap) close() {
	_ = x.Listener.Close()
	x.mu.Lock()
	for _, c := range x.open {
		_ = c.Close()
	}
	x.mu.Unlock()
	x.all.Wait()
}

func (x *tap) serve() {
	for {
		near, err := x.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", x.to)
		if err != nil {
			_ = near.Close()
			return
		}
		x.mu.Lock()
		x.open = append(x.open, near, far)
		x.mu.Unlock()
		x.all.Go(func() { x.copy(far, near) })
		x.all.Go(func() { x.copy(near, far) })
	}
}

func (x *tap) copy(to, from net.Conn) {
	defer func() { _, _ = to.Close(), from.Close() }()
	_, _ = io.Copy(io.MultiWriter(x, to), from)
}

func (x *tap) Write(b []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.passed.Write(b)
}

func (x *tap) text() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.passed.String()
}

// routed is a router and two nodes that are connected to it over TCP, each through a tap.
type routed struct {
	hub         *hub
	log         *lockedBuffer // the messages that the router has passed on
	left, right *runtime.Node
	taps        []*tap
}

func newRouted(t testing.TB, dialect wire.Dialect) *routed {
	t.Helper()
	r := &routed{log: new(lockedBuffer)}
	r.hub = newHubOf(t, newNode(t, runtime.Options{Name: "hub", MessageLog: r.log}), runtime.PeerOptions{}, func(o *wire.Options) { o.Dialects = []wire.Dialect{dialect} })
	l, err := tcp.Listen(r.hub.server, tcp.Options{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	stopListener(t, l)
	node := func(name string) *runtime.Node {
		x := newTap(t, l.Addr().String())
		r.taps = append(r.taps, x)
		o := newOutpostOf(t, newNode(t, runtime.Options{Name: name}), r.hub, func(o *runtime.UplinkOptions) {
			o.Dial = func(ctx context.Context, h wire.Handler) (*wire.Session, error) {
				conn, err := tcp.Dial(ctx, "tcp://"+x.Addr().String(), tcp.DialOptions{})
				if err != nil {
					return nil, err
				}
				return wire.Connect(conn, wire.Options{Handler: h, Dialects: []wire.Dialect{dialect}})
			}
		})
		if err := o.up.Connect(patience.Context(t)); err != nil {
			t.Fatal(err)
		}
		return o.Node
	}
	r.left, r.right = node("left"), node("right")
	return r
}

// spawnSealed starts a sealed agent on a node and waits until the router knows it.
func (r *routed) spawnSealed(t testing.TB, n *runtime.Node, s *sealed.Sealer, a actors.Agent) actors.Self {
	t.Helper()
	if err := n.Spawn(patience.Context(t), s.Agent(), returning(a), runtime.Sealed(s)); err != nil {
		t.Fatal(err)
	}
	r.hub.awaitVisible(s.Agent())
	self, _ := n.System().Lookup(s.Agent())
	return self
}

// unread fails if the canary is in anything that has passed.
func (r *routed) unread(t testing.TB) {
	t.Helper()
	for i, x := range r.taps {
		if text := x.text(); strings.Contains(text, canary) {
			at := strings.Index(text, canary)
			t.Errorf("in the clear on link %d: …%s", i, text[max(0, at-400):at+40])
		} else if !strings.Contains(text, `"jose`) {
			t.Errorf("nothing sealed has passed link %d", i)
		}
	}
	if strings.Contains(r.log.String(), canary) {
		t.Errorf("in the log of the router: %s", r.log.String())
	}
}

// Two agents work with each other over a router, in several codons, and no byte of what they say is
// in the clear on the way. Before it can seal, the asker learns the keys by a discovery that the
// router answers.
func TestSealedOverARouter(t *testing.T) {
	for _, dialect := range []wire.Dialect{acl.Dialect{}, bridge.Dialect{}} {
		t.Run(dialect.Name(), func(t *testing.T) {
			t.Parallel() // it waits, mostly
			r := newRouted(t, dialect)
			group := sealedtest.Group(t, nil, "Eddy", "Jules")
			jules := newConfidant(t)
			r.spawnSealed(t, r.right, group["Jules"], jules)
			eddy := r.spawnSealed(t, r.left, group["Eddy"], &scripted{topics: []string{"asking"}})
			if _, err := delegation.Delegate(patience.Context(t), eddy, "Jules", p.TaskRequest{TaskType: "x", Description: canary}); !strings.Contains(fmt.Sprint(err), "no trusted key") {
				t.Errorf("before the keys are known: %v", err)
			}
			learn(t, r.hub.Node, group["Eddy"], "Jules")
			converse(t, dialect.Name(), eddy, jules)
			r.unread(t)
		})
	}
}

// stripping is a dialect whose frames come through somebody who takes the extension encryption out
// of handshakes.
type stripping struct{ wire.Dialect }

func (d stripping) Open(o wire.CodecOptions) (wire.Codec, error) {
	c, err := d.Dialect.Open(o)
	return strippingCodec{c}, err
}

type strippingCodec struct{ wire.Codec }

func (c strippingCodec) Decode(frame []byte, take func(wire.Inbound)) {
	c.Codec.Decode(bytes.Replace(frame, []byte(`"encryption":{`), []byte(`"stripped":{`), 1), take)
}

// A handshake from which the extension was taken makes the sender refuse, and nothing passes in the
// clear.
func TestSealedOverAStrippedHandshake(t *testing.T) {
	r := newRouted(t, stripping{bridge.Dialect{}})
	group := sealedtest.Group(t, nil, "Eddy", "Jules")
	r.spawnSealed(t, r.right, group["Jules"], newConfidant(t))
	eddy := r.spawnSealed(t, r.left, group["Eddy"], &scripted{topics: []string{"asking"}})
	learn(t, r.hub.Node, group["Eddy"], "Jules")
	for range 2 {
		_, err := delegation.Delegate(patience.Context(t), eddy, "Jules", p.TaskRequest{TaskType: "x", Description: canary})
		if refused := p.RefusalOf(err); refused == nil || refused.Code != p.CodeIncapable || !strings.Contains(refused.Text, "not signed") {
			t.Errorf("got %v", err)
		}
	}
	for i, x := range r.taps {
		if text := x.text(); strings.Contains(text, canary) || strings.Contains(text, `"jose":"`) || !strings.Contains(text, "handshake_request") {
			t.Errorf("on link %d: %s", i, text)
		}
	}
}

// learn has an agent learn the keys of another one from the directory of a node.
func learn(t testing.TB, n *runtime.Node, s *sealed.Sealer, of p.AgentID) {
	t.Helper()
	r, ok := n.System().Find(of)
	if !ok {
		t.Fatalf("no agent %s", of)
	}
	if err := s.Learn(of, r.Describe()); err != nil {
		t.Fatal(err)
	}
}

// converse runs conversations of several codons.
func converse(t *testing.T, dialect string, eddy actors.Self, jules confidant) {
	t.Helper()
	var heard []string
	result, err := delegation.Delegate(patience.Context(t), eddy, "Jules", p.TaskRequest{TaskType: "x", Description: canary},
		delegation.WithProgress(func(u p.StatusUpdate) { heard = append(heard, u.Description) }))
	if err != nil || result.Summary != canary+"-done" || fmt.Sprint(heard) != "["+canary+"-half]" {
		t.Errorf("a task: %v, %v, %v", result.Summary, heard, err)
	}
	var r *p.Refusal
	if _, err := delegation.Delegate(patience.Context(t), eddy, "Jules", p.TaskRequest{TaskType: "forbidden", Description: canary}); !errors.As(err, &r) || r.Code != p.CodeForbidden || r.Text != canary+": no" {
		t.Errorf("a rejected task: %v", err)
	}
	if _, err := delegation.Delegate(patience.Context(t), eddy, "Jules", p.TaskRequest{TaskType: "fail", Description: canary}); !errors.As(err, &r) || r.Code != p.CodeFailed || r.Text != canary+": failed" {
		t.Errorf("a failed task: %v", err)
	}
	if got, err := tool.Call[map[string]string, map[string]string](patience.Context(t), eddy, "Jules", "whisper", map[string]string{"text": canary}); err != nil || got["text"] != canary+"-back" {
		t.Errorf("a tool: %v, %v", got, err)
	}
	if _, err := tool.Call[map[string]any, p.Raw](patience.Context(t), eddy, "Jules", "whisper", map[string]any{"text": 7, "x": canary}); !errors.Is(err, p.CodeInvalidPayload) || !strings.Contains(fmt.Sprint(err), "task_parameters") {
		t.Errorf("a tool with wrong arguments: %v", err)
	}
	withdrawn, cancel := context.WithCancelCause(patience.Context(t))
	_, err = delegation.Delegate(withdrawn, eddy, "Jules", p.TaskRequest{TaskType: "wait", Description: canary},
		delegation.WithProgress(func(p.StatusUpdate) { cancel(errors.New(canary + "-enough")) }))
	if err == nil {
		t.Error("a cancelled task has succeeded")
	}
	select {
	case cause := <-jules.stopped:
		if cause == nil {
			t.Error("the cancelled task was stopped without a cause")
		}
	case <-patience.Context(t).Done():
		t.Error("the cancelled task was not stopped")
	}
	if dialect == "bridge" {
		return // which has no words for the other acts
	}
	if got, err := requesting.Request[map[string]string](patience.Context(t), eddy, "Jules", map[string]string{"say": canary}); err != nil || got["say"] != canary {
		t.Errorf("a request: %v, %v", got, err)
	}
	if got, err := query.Ref[string](patience.Context(t), eddy, "Jules", canary); err != nil || got != canary+"-value" {
		t.Errorf("a reference: %v, %v", got, err)
	}
	if got, err := query.If(patience.Context(t), eddy, "Jules", canary); err != nil || !got {
		t.Errorf("a condition: %v, %v", got, err)
	}
}

// Two nodes of a cluster: the keys are in the directory that the nodes share.
func TestSealedInACluster(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	watched := new(lockedBuffer)
	nodes := join(t, 2, func(t testing.TB, name string, join ...string) *runtime.Node {
		return newNode(t, runtime.Options{
			Name: name, Cluster: &runtime.ClusterOptions{Gossip: "127.0.0.1:0", Join: join, Profile: membership.WAN},
			Network: func(next actors.Router) actors.Router { return writer{next, watched} },
		})
	})
	group := sealedtest.Group(t, nil, "Eddy", "Jules")
	jules := newConfidant(t)
	if err := nodes[1].Spawn(patience.Context(t), "Jules", returning(jules), runtime.Sealed(group["Jules"])); err != nil {
		t.Fatal(err)
	}
	eddy, err := nodes[0].Client(patience.Context(t), "Eddy", runtime.Sealed(group["Eddy"])) // hidden: Jules knows its keys from its messages
	if err != nil {
		t.Fatal(err)
	}
	knowsTopic(t, nodes[0], "Jules")
	converse(t, "acl", eddy, jules)
	if text := watched.String(); strings.Contains(text, canary) || !strings.Contains(text, `"jose":"`) {
		t.Errorf("on the way: %s", text)
	}
	if err := group["Jules"].Rotate(sealedtest.Keys(t), ""); err != nil {
		t.Fatal(err)
	}
	self, _ := nodes[1].System().Lookup("Jules")
	self.Announce(self.Describe())
	var text string
	eventually(t, nodes[0], func() error {
		r, found := nodes[0].System().Find("Jules")
		if !found {
			return errors.New("Jules is not known")
		}
		if err := json.Unmarshal(r.Describe().Extra[sealed.CapabilityKeys], &text); err != nil || text != group["Jules"].Statement() {
			return fmt.Errorf("the new keys are not known: %w", err)
		}
		return nil
	})
	if err := group["Eddy"].Learn("Jules", self.Describe()); err != nil {
		t.Fatal(err)
	}
	if err := group["Jules"].Retire(); err != nil {
		t.Fatal(err)
	}
	converse(t, "acl", eddy, jules)
}

// writer writes each message that leaves an agent.
type writer struct {
	next actors.Router
	to   io.Writer
}

func (w writer) Route(m *p.Message) error {
	j, err := m.JSON()
	if err != nil {
		return err
	}
	if err := json.NewEncoder(w.to).Encode(j); err != nil {
		return err
	}
	return w.next.Route(m)
}

// interceptor is a router on the way that changes messages.
type interceptor struct {
	mu    sync.Mutex
	next  actors.Router
	alter func(m *p.Message) []*p.Message // what goes on instead
}

func (i *interceptor) Route(m *p.Message) error {
	i.mu.Lock()
	alter := i.alter
	i.mu.Unlock()
	if alter == nil {
		return i.next.Route(m)
	}
	var err error
	for _, m := range alter(m) {
		err = i.next.Route(m)
	}
	return err
}

// set sets what is done with each message.
func (i *interceptor) set(alter func(m *p.Message) []*p.Message) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.alter = alter
}

// sealedPair is a node with two sealed agents and an attacker between them.
type sealedPair struct {
	*runtime.Node
	way   *interceptor
	group map[p.AgentID]*sealed.Sealer
	eddy  actors.Self
	jules confidant
}

func newSealedPair(t *testing.T) *sealedPair {
	t.Helper()
	return newSealedPairOf(t, func(s *sealed.Sealer) actors.Sealer { return s })
}

// newSealedPairOf has each agent use what wrap makes of its sealer.
func newSealedPairOf(t *testing.T, wrap func(*sealed.Sealer) actors.Sealer) *sealedPair {
	t.Helper()
	x := &sealedPair{way: new(interceptor), group: sealedtest.Group(t, nil, "Eddy", "Jules"), jules: newConfidant(t)}
	x.Node = newNode(t, runtime.Options{Network: func(next actors.Router) actors.Router { x.way.next = next; return x.way }})
	if err := x.Spawn(patience.Context(t), "Jules", returning(x.jules), runtime.Sealed(wrap(x.group["Jules"]))); err != nil {
		t.Fatal(err)
	}
	var err error
	if x.eddy, err = x.Client(patience.Context(t), "Eddy", runtime.Sealed(wrap(x.group["Eddy"]))); err != nil {
		t.Fatal(err)
	}
	return x
}

func (x *sealedPair) delegate(t *testing.T) (p.InformResult, error) {
	t.Helper()
	return delegation.Delegate(patience.Context(t), x.eddy, "Jules", p.TaskRequest{TaskType: "x", Description: canary})
}

// onlyTo alters the messages to one agent.
func onlyTo(to p.AgentID, act p.Performative, alter func(m *p.Message) []*p.Message) func(m *p.Message) []*p.Message {
	return func(m *p.Message) []*p.Message {
		if m.Receiver().Is(to) && m.Performative() == act {
			return alter(m)
		}
		return []*p.Message{m}
	}
}

func altered(m *p.Message, change func(e *p.Envelope)) *p.Message {
	out, err := m.With(change)
	if err != nil {
		panic(err)
	}
	return out
}

// What an attacker on the way does with a request is refused to its sender, with the code of the
// reason.
func TestSealedRequestIsAttacked(t *testing.T) {
	for name, tt := range map[string]struct {
		code  p.Code
		alter func(m *p.Message) *p.Message
	}{
		"in the clear": {p.CodeSealRequired, func(m *p.Message) *p.Message {
			return altered(m, func(e *p.Envelope) {
				e.MessageType, e.Payload = "", p.TaskRequest{TaskType: "x", Description: "forged"}
			})
		}},
		"changed": {p.CodeInvalidSeal, func(m *p.Message) *p.Message {
			return altered(m, func(e *p.Envelope) { e.Payload = p.Raw(strings.Replace(string(e.Payload.(p.Raw)), ".", "._", 4)) })
		}},
		"of another act": {p.CodeInvalidSeal, func(m *p.Message) *p.Message {
			return altered(m, func(e *p.Envelope) { e.Performative = p.ActRequest })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			x := newSealedPair(t)
			x.way.set(onlyTo("Jules", p.ActTaskRequest, func(m *p.Message) []*p.Message { return []*p.Message{tt.alter(m)} }))
			if _, err := x.delegate(t); !errors.Is(err, tt.code) {
				t.Errorf("got %v, want %s", err, tt.code)
			}
		})
	}
}

// startled is a sealer that panics on the first request.
type startled struct {
	*sealed.Sealer
	seal, open *atomic.Bool
}

func (s startled) Seal(m *p.Message, c p.Capabilities) (*p.Message, error) {
	if m.Performative() == p.ActTaskRequest && s.seal.CompareAndSwap(true, false) {
		panic(canary)
	}
	return s.Sealer.Seal(m, c)
}

func (s startled) Open(m *p.Message, c p.Capabilities) (*p.Message, bool, error) {
	if m.Performative() == p.ActTaskRequest && s.open.CompareAndSwap(true, false) {
		panic(canary)
	}
	return s.Sealer.Open(m, c)
}

// A sealer that panics on a request, of the asker or of the asked, has it refused at once. The next
// one is served.
func TestSealerPanics(t *testing.T) {
	for _, method := range []string{"Seal", "Open"} {
		t.Run(method, func(t *testing.T) {
			var seal, open atomic.Bool
			x := newSealedPairOf(t, func(s *sealed.Sealer) actors.Sealer { return startled{s, &seal, &open} })
			seal.Store(method == "Seal")
			open.Store(method == "Open")
			if _, err := x.delegate(t); !errors.Is(err, p.CodeInternal) || strings.Contains(fmt.Sprint(err), canary) {
				t.Errorf("got %v", err)
			}
			if result, err := x.delegate(t); err != nil || result.Summary != canary+"-done" {
				t.Errorf("the next one: %v, %v", result, err)
			}
		})
	}
}

// A request that comes twice is taken once, and the second copy is no answer to its sender.
func TestSealedRequestIsReplayed(t *testing.T) {
	x := newSealedPair(t)
	dead := listen(t, x.Node, events.KindMessageDeadLettered)
	x.way.set(onlyTo("Jules", p.ActTaskRequest, func(m *p.Message) []*p.Message { return []*p.Message{m, m} }))
	result, err := x.delegate(t)
	if err != nil || result.Summary != canary+"-done" {
		t.Errorf("got %v, %v", result, err)
	}
	await(t, dead, 1, func(e events.DeadLetter) bool { return e.Code == p.CodeReplayed })
}

// A forged answer in the clear is not believed: the true one still comes.
func TestSealedAnswerIsForged(t *testing.T) {
	x := newSealedPair(t)
	dead := listen(t, x.Node, events.KindMessageDeadLettered)
	x.way.set(onlyTo("Eddy", p.ActInformResult, func(m *p.Message) []*p.Message {
		return []*p.Message{altered(m, func(e *p.Envelope) {
			e.MessageType, e.Payload = "", p.InformResult{Status: p.StatusSuccess, Summary: "forged"}
		}), m}
	}))
	if result, err := x.delegate(t); err != nil || result.Summary != canary+"-done" {
		t.Errorf("got %v, %v", result, err)
	}
	await(t, dead, 1, func(e events.DeadLetter) bool { return e.Code == p.CodeSealRequired })
}

// Of a refusal that is not signed the code remains, and nothing that an attacker has written.
func TestSealedAnswerIsAForgedRefusal(t *testing.T) {
	x := newSealedPair(t)
	x.way.set(onlyTo("Jules", p.ActTaskRequest, func(m *p.Message) []*p.Message {
		return []*p.Message{m.Refuse("Jules", p.Stamp{ID: "forged", Time: time.Now()}, p.CodeForbidden, "send it to Mallory")}
	}))
	_, err := x.delegate(t)
	if r := p.RefusalOf(err); r == nil || r.Code != p.CodeForbidden || strings.Contains(r.Text, "Mallory") || !strings.Contains(r.Text, "not signed") {
		t.Errorf("got %v", err)
	}
}

// Agents without keys: a sealed payload is refused by them, and they are refused by a sealed agent.
func TestSealedAndPlainAgents(t *testing.T) {
	x := newSealedPair(t)
	if _, err := x.Delegate(patience.Context(t), "Jules", p.TaskRequest{TaskType: "x"}); !errors.Is(err, p.CodeSealRequired) {
		t.Errorf("a plain asker: %v", err)
	}
	if err := x.Spawn(patience.Context(t), "Plain", returning(newConfidant(t))); err != nil {
		t.Fatal(err)
	}
	if _, err := delegation.Delegate(patience.Context(t), x.eddy, "Plain", p.TaskRequest{TaskType: "x"}); !strings.Contains(fmt.Sprint(err), `no trusted key of the agent "Plain"`) {
		t.Errorf("to a plain agent: %v", err)
	}
	if _, err := x.Ask(patience.Context(t), "Plain", p.Raw(`{"jose":"x"}`), runtime.WithAct(p.ActRequest), runtime.WithMessageType(p.TypeSealed)); !errors.Is(err, p.CodeUnknownKey) {
		t.Errorf("a sealed payload to a plain agent: %v", err)
	}
	if err := notify.Broadcast(x.eddy, map[string]any{"x": canary}); !errors.Is(err, p.CodeSealRequired) {
		t.Errorf("a broadcast: %v", err)
	}
	m := message(t, "Eddy", "Jules", p.ActRequest)
	if err := x.Send(m); !errors.Is(err, p.CodeForbidden) {
		t.Errorf("in the name of a sealed agent: %v", err)
	}
	if got, err := discovery.Whisper(patience.Context(t), x, "Jules", p.QueryCapabilities{Type: p.QuerySummary}); err != nil || got.Capabilities == nil {
		t.Errorf("discovery of a sealed agent: %+v, %v", got, err)
	}
	if err := x.Spawn(patience.Context(t), "Other", returning(newConfidant(t)), runtime.Sealed(x.group["Jules"])); err == nil {
		t.Error("an agent has the sealer of another one")
	}
}

// An agent knows which messages are authentic, and a message type of the application stays one.
func TestSealedMessageType(t *testing.T) {
	x := newSealedPair(t)
	got := make(chan *p.Message, 1)
	s := sealedtest.Group(t, nil, "Ann", "Bob")
	if err := x.Spawn(patience.Context(t), "Bob", always(scripted{receive: func(_ *actors.Context, m *p.Message) { got <- m }}), runtime.Sealed(s["Bob"])); err != nil {
		t.Fatal(err)
	}
	ann, err := x.Client(patience.Context(t), "Ann", runtime.Sealed(s["Ann"]))
	if err != nil {
		t.Fatal(err)
	}
	m := message(t, "Ann", "Bob", p.ActInform, func(e *p.Envelope) { e.MessageType = "REVIEW_DONE" })
	if err := ann.Send(m); err != nil {
		t.Fatal(err)
	}
	select {
	case m := <-got:
		if m.MessageType() != "REVIEW_DONE" || !m.Authentic() || m.Sealed() {
			t.Errorf("got %v, authentic %t", m.MessageType(), m.Authentic())
		}
	case <-patience.Context(t).Done():
		t.Error("it has not come")
	}
}
