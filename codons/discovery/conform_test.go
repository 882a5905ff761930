package discovery_test

import (
	"context"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/codontest"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// TestConform runs handshakes, and queries to several agents, over a bad network.
func TestConform(t *testing.T) {
	codontest.Conform(t, discovery.HandshakeCodon, kit.Seeds(), codontest.Agents(1, newHost, discovery.HandshakeService),
		codontest.Calling(func(ctx context.Context, s *codontest.Script) error {
			_, err := discovery.Handshake(ctx, s.Self(), s.Peers()[0])
			return err
		}))
	codontest.Conform(t, discovery.WhisperCodon, kit.Seeds(), codontest.Agents(3, newHost, discovery.WhisperService),
		codontest.Calling(func(ctx context.Context, s *codontest.Script) error {
			_, err := discovery.WhisperAll(ctx, s.Self(), s.Peers(), kit.Summary)
			return err
		}))
}

// TestConformFind delegates tasks to one of several workers over a bad network.
func TestConformFind(t *testing.T) {
	codontest.Conform(t, discovery.FindCodon, kit.Seeds(), codontest.Agents(3, newWorker, discovery.WhisperService, delegation.Service),
		codontest.Calling(func(ctx context.Context, s *codontest.Script) error {
			var opts []codons.Option
			if s.Chance("repeat").IntN(2) == 0 {
				opts = append(opts, discovery.SafeToRepeat())
			}
			_, err := discovery.FindAndDelegate(ctx, s.Self(), discovery.Search{Among: discovery.Agents(s.Peers()), Need: []string{"debugging"}}, kit.Task(), opts...)
			return err
		}))
}

func newHost(s *codontest.Script) actors.Agent {
	return &host{consider: func(ctx context.Context, g discovery.Greeting) error { return s.About(g.Message, "consider").Do(ctx) }}
}

func newWorker(s *codontest.Script) actors.Agent {
	return &kit.Worker{
		Consider: func(_ context.Context, t delegation.Task) delegation.Decision {
			if s.About(t.Message, "consider").IntN(3) == 0 {
				return delegation.Reject(p.CodeBusy, "")
			}
			return delegation.Accept()
		},
		Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
			return kit.Result(p.StatusSuccess), s.About(t.Message, "perform").Do(ctx)
		},
	}
}
