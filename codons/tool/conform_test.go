package tool_test

import (
	"context"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/codontest"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/tool"
)

// TestConform calls a tool over a bad network.
func TestConform(t *testing.T) {
	codontest.Conform(t, tool.Codon, kit.Seeds(), codontest.Agents(1, newCalculator, tool.Service),
		codontest.Calling(func(ctx context.Context, s *codontest.Script) error {
			name := []string{"add", "add", "add", "subtract"}[s.Chance("tool").IntN(4)]
			_, err := tool.Call[terms, sum](ctx, s.Self(), s.Peers()[0], name, terms{A: 1, B: 2})
			return err
		}))
}

func newCalculator(s *codontest.Script) actors.Agent {
	add, err := tool.New("add", "adds two numbers", func(ctx context.Context, in terms) (sum, error) {
		caller, _ := tool.CallerFrom(ctx)
		return sum{Sum: in.A + in.B}, s.About(caller.Message, "add").Do(ctx)
	})
	if err != nil {
		panic(err)
	}
	tools, err := tool.NewSet(add)
	if err != nil {
		panic(err)
	}
	return calculator{tools}
}
