package query_test

import (
	"context"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/codontest"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/query"
)

// TestConform runs questions of both codons over a bad network.
func TestConform(t *testing.T) {
	codontest.Conform(t, query.IfCodon, kit.Seeds(), codontest.Agents(1, newOracle, query.IfService),
		codontest.Calling(func(ctx context.Context, s *codontest.Script) error {
			_, err := query.If(ctx, s.Self(), s.Peers()[0], "it rains")
			return err
		}))
	codontest.Conform(t, query.RefCodon, kit.Seeds(), codontest.Agents(1, newOracle, query.RefService),
		codontest.Calling(func(ctx context.Context, s *codontest.Script) error {
			_, err := query.Ref[int](ctx, s.Self(), s.Peers()[0], "temperature")
			return err
		}))
}

// scriptedOracle answers questions as its script chooses.
type scriptedOracle struct {
	kit.Plain
	script *codontest.Script
}

func newOracle(s *codontest.Script) actors.Agent { return scriptedOracle{script: s} }

func (o scriptedOracle) HandleQueryIf(ctx context.Context, q query.AskedIf) (bool, error) {
	return true, o.script.About(q.Message, "answer").Do(ctx, q.Agree)
}

func (o scriptedOracle) HandleQueryRef(ctx context.Context, q query.AskedRef) (any, error) {
	return 21, o.script.About(q.Message, "answer").Do(ctx, q.Agree)
}
