package swarm_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm"
	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm/pydebug"
	"github.com/ribosome-agents/ribosome/internal/leakcheck"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// fixture is a node that hosts the swarm, with a user, and the messages sent so far.
type fixture struct {
	*testing.T
	node *runtime.Node
	user actors.Self
	ctx  context.Context //nolint:containedctx // a test's own

	events *events.Subscription

	mu   sync.Mutex
	sent []*performatives.Message // of those events
}

func newFixture(t *testing.T, o swarm.Options) *fixture {
	t.Helper()
	node, err := runtime.New(runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience.Time)
	stream := node.Events().Subscribe(events.SubscribeOptions{Capacity: 1 << 14, Kinds: []events.Kind{events.KindMessageSent}})
	s := &fixture{T: t, node: node, ctx: ctx, events: stream}
	t.Cleanup(func() {
		defer cancel()
		stream.Close()
		if err := node.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	if err := (runtime.Swarms{swarm.New(o)}).Host(ctx, node, swarm.Name); err != nil {
		t.Fatal(err)
	}
	if s.user, err = node.Client(ctx, "User"); err != nil {
		t.Fatal(err)
	}
	return s
}

// between returns the messages that one agent has sent to another so far.
func (s *fixture) between(from, to performatives.AgentID) (ms []*performatives.Message) {
	s.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.events.C) > 0 {
		s.sent = append(s.sent, (<-s.events.C).Event.(events.MessageSent).Message)
	}
	if n := s.events.Lost(); n > 0 {
		s.Errorf("%d messages were not seen", n)
	}
	for _, m := range s.sent {
		if m.Sender() == from && m.Receiver() == to {
			ms = append(ms, m)
		}
	}
	return ms
}

// acts returns the acts of these messages, without status updates.
func (s *fixture) acts(from, to performatives.AgentID) (acts []performatives.Performative) {
	for _, m := range s.between(from, to) {
		if m.Performative() != performatives.ActStatusUpdate {
			acts = append(acts, m.Performative())
		}
	}
	return acts
}

func (s *fixture) wantActs(from, to performatives.AgentID, want ...performatives.Performative) {
	s.Helper()
	if got := s.acts(from, to); !slices.Equal(got, want) {
		s.Errorf("%s said to %s: %v; want %v", from, to, got, want)
	}
}

// ask delegates a problem to Eddy, as the user.
func (s *fixture) ask(ctx context.Context, p swarm.Problem, opts ...codons.Option) (performatives.InformResult, error) {
	opts = append(opts, codons.WithOntology(performatives.OntologyDebugRequest))
	return delegation.Delegate(ctx, s.user, swarm.EddyID, debugCode(p), opts...)
}

// spawn adds an agent that the swarm does not have.
func (s *fixture) spawn(id performatives.AgentID, a actors.Agent) {
	s.Helper()
	if err := s.node.Spawn(s.ctx, id, func() actors.Agent { return a }); err != nil {
		s.Fatal(err)
	}
}

func debugCode(p any) performatives.TaskRequest {
	return performatives.TaskRequest{TaskType: swarm.TaskDebugCode, Description: "debug it", Parameters: performatives.ContentOf(p)}
}

func sample() swarm.Problem {
	s := pydebug.Sample()
	return swarm.Problem{Code: s.Code, Traceback: s.Traceback}
}

func finding(t testing.TB, r performatives.InformResult) swarm.Finding {
	t.Helper()
	f, err := performatives.Decode[swarm.Finding](r.Details)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// wantEnd checks the terminal state and the code of a delegation without result.
func wantEnd(t testing.TB, err error, state string, code performatives.Code) {
	t.Helper()
	var end *codons.EndError
	if !errors.As(err, &end) || string(end.State) != state || !errors.Is(err, code) {
		t.Errorf("got %v; want it %s with %s", err, state, code)
	}
}

// brain is a function as a Debugger.
type brain func(context.Context, swarm.Problem, func(string)) (performatives.InformResult, error)

func (b brain) Debug(ctx context.Context, p swarm.Problem, report func(string)) (performatives.InformResult, error) {
	return b(ctx, p, report)
}

// answers returns a Debugger with a fixed result.
func answers(summary string) brain {
	return func(context.Context, swarm.Problem, func(string)) (performatives.InformResult, error) {
		return performatives.InformResult{Status: performatives.StatusSuccess, Summary: summary}, nil
	}
}
