package swarm_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm"
	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm/pydebug"
	"github.com/ribosome-agents/ribosome/internal/leakcheck"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// stage is a node that hosts the swarm, with a user and all that was sent.
type stage struct {
	*testing.T
	node *runtime.Node
	user actors.Self
	ctx  context.Context //nolint:containedctx // a test's own

	mu   sync.Mutex
	sent []*performatives.Message
}

func play(t *testing.T, o swarm.Options) *stage {
	t.Helper()
	node, err := runtime.New(runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
	s := &stage{T: t, node: node, ctx: ctx}
	unlisten := node.Events().Listen(s.observe)
	t.Cleanup(func() {
		defer cancel()
		unlisten()
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

func (s *stage) observe(ev actors.Event) {
	if e, ok := ev.(actors.MessageSent); ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.sent = append(s.sent, e.Message)
	}
}

// between returns what one agent has sent another so far.
func (s *stage) between(from, to performatives.AgentID) (ms []*performatives.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.sent {
		if m.Sender() == from && m.Receiver() == to {
			ms = append(ms, m)
		}
	}
	return ms
}

// acts returns the acts of what one agent has sent another, but for its progress.
func (s *stage) acts(from, to performatives.AgentID) (acts []performatives.Performative) {
	for _, m := range s.between(from, to) {
		if m.Performative() != performatives.ActStatusUpdate {
			acts = append(acts, m.Performative())
		}
	}
	return acts
}

func (s *stage) wantActs(from, to performatives.AgentID, want ...performatives.Performative) {
	s.Helper()
	if got := s.acts(from, to); !slices.Equal(got, want) {
		s.Errorf("%s said to %s: %v; want %v", from, to, got, want)
	}
}

// ask has the user delegate to Eddy.
func (s *stage) ask(ctx context.Context, p swarm.Problem, opts ...codons.DelegateOption) (performatives.InformResult, error) {
	opts = append(opts, codons.WithOntology(performatives.OntologyDebugRequest))
	return codons.Delegate(ctx, s.user, swarm.EddyID, debugCode(p), opts...)
}

// spawn adds an agent that the swarm does not have.
func (s *stage) spawn(id performatives.AgentID, a actors.Agent) {
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

// wantEnd checks how a delegation ended that brought no result.
func wantEnd(t testing.TB, err error, state string, code performatives.Code) {
	t.Helper()
	var end *codons.EndError
	if !errors.As(err, &end) || string(end.State) != state || !errors.Is(err, code) {
		t.Errorf("got %v; want it %s with %s", err, state, code)
	}
}

// brain is a Debugger that is a function.
type brain func(context.Context, swarm.Problem, func(string)) (performatives.InformResult, error)

func (b brain) Debug(ctx context.Context, p swarm.Problem, report func(string)) (performatives.InformResult, error) {
	return b(ctx, p, report)
}

// says is a brain that knows its answer.
func says(summary string) brain {
	return func(context.Context, swarm.Problem, func(string)) (performatives.InformResult, error) {
		return performatives.InformResult{Status: performatives.StatusSuccess, Summary: summary}, nil
	}
}
