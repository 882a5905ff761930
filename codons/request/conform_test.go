package request_test

import (
	"context"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/codontest"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/request"
)

// TestConform runs requests of both codons over a bad network.
func TestConform(t *testing.T) {
	codontest.Conform(t, request.Codon, kit.Seeds(), codontest.Agents(1, newHandler, request.Service),
		codontest.Calling(func(ctx context.Context, s *codontest.Script) error {
			_, err := request.Request[kit.Bill](ctx, s.Self(), s.Peers()[0], kit.Order{Item: "tea"})
			return err
		}))
	codontest.Conform(t, request.WhenCodon, kit.Seeds(), codontest.Agents(1, newWhenHandler, request.WhenService),
		codontest.Calling(func(ctx context.Context, s *codontest.Script) error {
			_, err := request.AskWhen[kit.Bill](ctx, s.Self(), s.Peers()[0], sowing)
			return err
		}))
}

func newHandler(s *codontest.Script) actors.Agent {
	return &kit.RequestHandler{Handle: func(ctx context.Context, r request.Requested) (any, error) {
		return kit.Bill{Price: 3}, s.About(r.Message, "handle").Do(ctx, r.Agree)
	}}
}

func newWhenHandler(s *codontest.Script) actors.Agent {
	do := func(part string) func(context.Context, request.RequestedWhen) error {
		return func(ctx context.Context, r request.RequestedWhen) error { return s.About(r.Message, part).Do(ctx) }
	}
	return &whenHandler{
		consider: do("consider"), await: do("await"),
		perform: func(ctx context.Context, r request.RequestedWhen) (any, error) {
			return kit.Bill{Price: 3}, do("perform")(ctx, r)
		},
	}
}
