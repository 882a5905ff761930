package scatter_test

import (
	"context"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/codontest"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/scatter"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// TestConform scatters tasks to three workers over a bad network, and checks the delegations.
func TestConform(t *testing.T) {
	codontest.Conform(t, scatter.Codon, kit.Seeds(), codontest.Agents(3, newScripted, delegation.Service),
		codontest.Calling(func(ctx context.Context, s *codontest.Script) error {
			gather := []scatter.Gather{scatter.FirstOf(), scatter.Quorum(2), scatter.AllOf()}[s.Chance("gather").IntN(3)]
			_, err := scatter.Scatter(ctx, s.Self(), s.Peers(), kit.Task(), gather)
			return err
		}))
}

func newScripted(s *codontest.Script) actors.Agent {
	return &kit.Worker{Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
		return kit.Result(p.StatusSuccess), s.About(t.Message, "perform").Do(ctx)
	}}
}
