package delegation_test

import (
	"context"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/codontest"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/request"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// TestConform runs delegations over a bad network: with progress, and with further rounds that
// the caller's code serves.
func TestConform(t *testing.T) {
	codontest.Conform(t, delegation.Codon, kit.Seeds(), codontest.Agents(1, newWorker, delegation.Service),
		codontest.Calling(func(ctx context.Context, s *codontest.Script) error {
			_, err := delegation.Delegate(ctx, s.Self(), s.Peers()[0], kit.Task(),
				delegation.WithInput(func(ctx context.Context, _ p.InformResult) (p.TaskRequest, bool) {
					chance := s.Chance("input")
					return kit.Task(), chance.Do(ctx) == nil
				}))
			return err
		}))
}

// TestConformInputFrom has another agent serve the further rounds.
func TestConformInputFrom(t *testing.T) {
	codontest.Conform(t, delegation.NeedInputCodon, kit.Seeds(),
		codontest.Agents(1, newWorker, delegation.Service),
		codontest.Agents(1, func(s *codontest.Script) actors.Agent {
			return &kit.RequestHandler{Handle: func(ctx context.Context, r request.Requested) (any, error) {
				return delegation.InputGiven{Text: "blue"}, s.About(r.Message, "input").Do(ctx, r.Agree)
			}}
		}, request.Service),
		codontest.Calling(func(ctx context.Context, s *codontest.Script) error {
			_, err := delegation.Delegate(ctx, s.Self(), s.Peers()[0], kit.Task(), delegation.WithInputFrom(s.Peers()[1]))
			return err
		}))
}

// newWorker returns a worker that asks for input in its work, or by its result.
func newWorker(s *codontest.Script) actors.Agent {
	return &kit.Worker{
		Consider: func(_ context.Context, t delegation.Task) delegation.Decision {
			switch s.About(t.Message, "consider").IntN(8) {
			case 0:
				return delegation.Reject(p.CodeIncapable, "not for me")
			case 1:
				return delegation.NotUnderstood(p.CodeInvalidPayload, "what")
			}
			return delegation.Accept()
		},
		Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
			chance := s.About(t.Message, "perform")
			if err := chance.Do(ctx, func() error { return t.Progress(50, "half") }); err != nil {
				return p.InformResult{}, err
			}
			switch chance.IntN(3) {
			case 0:
				return kit.Asking("which colour?"), nil
			case 1:
				if _, err := t.NeedInput(ctx, "which colour?"); err != nil && chance.IntN(2) == 0 {
					return p.InformResult{}, err
				}
			}
			return kit.Result(p.StatusSuccess), chance.Do(ctx)
		},
	}
}
