package runtime_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/internal/leakcheck"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// patience is how long a test waits for what has to come.
const patience = 20 * time.Second

// newNode returns a node that the test stops, and that must stop in time.
func newNode(t testing.TB, o runtime.Options) *runtime.Node {
	t.Helper()
	n, err := runtime.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := n.Stop(ctx); err != nil {
			t.Errorf("Stop: %v", err)
		}
	})
	return n
}

func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// scripted is an agent made of functions; those that are nil do nothing.
type scripted struct {
	receive func(*actors.Context, *performatives.Message)
	start   func(*actors.Context) error
	stop    func(*actors.Context)
	topics  []string
}

func (s *scripted) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: s.topics}
}

func (s *scripted) Receive(c *actors.Context, m *performatives.Message) {
	if s.receive != nil {
		s.receive(c, m)
	}
}

func (s *scripted) Start(c *actors.Context) error {
	if s.start == nil {
		return nil
	}
	return s.start(c)
}

func (s *scripted) Stop(c *actors.Context) {
	if s.stop != nil {
		s.stop(c)
	}
}

func always(s scripted) func() actors.Agent {
	return func() actors.Agent { a := s; return &a }
}

// echo answers every request with what it was sent.
func echo(c *actors.Context, m *performatives.Message) {
	if m.Performative().ExpectsReply() {
		_ = c.ReplyAs(m, performatives.ActInform, m.Payload())
	}
}

var ids atomic.Uint64

// message makes a message; act ActRequest expects an answer, ActInform does not.
func message(t testing.TB, from, to performatives.AgentID, act performatives.Performative, mod ...func(*performatives.Envelope)) *performatives.Message {
	t.Helper()
	id := performatives.MessageID("m" + strconv.FormatUint(ids.Add(1), 10))
	e := performatives.Envelope{ID: id, Performative: act, Sender: from, Receiver: to, Timestamp: time.Now(), Payload: performatives.Raw(`{"n":1}`)}
	for _, f := range mod {
		f(&e)
	}
	m, err := performatives.New(e)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func code(err error) performatives.Code {
	var r *performatives.Refusal
	if !errors.As(err, &r) {
		return ""
	}
	return r.Code
}

// record keeps every event of a node.
type record struct {
	mu     sync.Mutex
	events []actors.Event
	more   chan struct{}
}

func listen(t testing.TB, n *runtime.Node, of ...actors.Interest) *record {
	r := &record{more: make(chan struct{}, 1)}
	t.Cleanup(n.Events().Listen(func(ev actors.Event) {
		r.mu.Lock()
		r.events = append(r.events, ev)
		r.mu.Unlock()
		select {
		case r.more <- struct{}{}:
		default:
		}
	}, of...))
	return r
}

func (r *record) all() []actors.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]actors.Event(nil), r.events...)
}

// await waits until n events of type E were recorded that match, and returns them.
func await[E actors.Event](t testing.TB, r *record, n int, match func(E) bool) []E {
	t.Helper()
	timeout := time.After(patience)
	for {
		var found []E
		for _, ev := range r.all() {
			if e, ok := ev.(E); ok && (match == nil || match(e)) {
				found = append(found, e)
			}
		}
		if len(found) >= n {
			return found
		}
		select {
		case <-r.more:
		case <-timeout:
			t.Fatalf("got %d of %d events %T", len(found), n, *new(E))
		}
	}
}

// succeed is a worker that has done what it is told.
var succeed = worker{func(_ context.Context, t codons.Task) (performatives.InformResult, error) {
	return performatives.InformResult{Status: performatives.StatusSuccess, Summary: t.Description}, nil
}}
