package runtime_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/internal/leakcheck"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// newNode returns a node that is stopped at the end of the test, and must stop in time.
func newNode(t testing.TB, o runtime.Options) *runtime.Node {
	t.Helper()
	n, err := runtime.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience.Time)
		defer cancel()
		if err := n.Stop(ctx); err != nil {
			t.Errorf("Stop: %v", err)
		}
	})
	return n
}

// scripted is an agent whose methods are functions. A nil function does nothing.
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

// echo replies to every request with its payload.
func echo(c *actors.Context, m *performatives.Message) {
	if m.Performative().ExpectsReply() {
		_ = c.ReplyAs(m, performatives.ActInform, m.Payload())
	}
}

var ids atomic.Uint64

// message returns a message. ActRequest expects a reply, ActInform does not.
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

// record stores events of a node.
type record struct {
	t            testing.TB
	subscription *events.Subscription

	mu     sync.Mutex
	events []events.Event
}

// listen records the events of those kinds, all kinds if none is named, from now on.
func listen(t testing.TB, n *runtime.Node, kinds ...events.Kind) *record {
	s := n.Events().Subscribe(events.SubscribeOptions{Capacity: 1 << 16, Kinds: kinds})
	t.Cleanup(s.Close)
	return &record{t: t, subscription: s}
}

// all returns what was published so far, and expects that nothing of it was lost.
func (r *record) all() []events.Event {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.subscription.Lost(); n > 0 {
		r.t.Errorf("%d events were lost", n)
	}
	for {
		select {
		case next, open := <-r.subscription.C:
			if open {
				r.events = append(r.events, next.Event)
				continue
			}
		default:
		}
		return slices.Clone(r.events)
	}
}

// more waits for the next event.
func (r *record) more(ctx context.Context) error {
	next, err := r.subscription.Next(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, next.Event)
	return nil
}

// await waits until n events of type E were recorded that match, and returns them.
func await[E events.Event](t testing.TB, r *record, n int, match func(E) bool) []E {
	t.Helper()
	ctx := patience.Context(t)
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
		if err := r.more(ctx); err != nil {
			t.Fatalf("got %d of %d events %T: %v", len(found), n, *new(E), err)
		}
	}
}

// succeed is a worker that performs every task successfully.
var succeed = worker{func(_ context.Context, t delegation.Task) (performatives.InformResult, error) {
	return performatives.InformResult{Status: performatives.StatusSuccess, Summary: t.Description}, nil
}}
