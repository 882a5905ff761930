package codons_test

import (
	"context"
	"errors"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/query"
	"github.com/ribosome-agents/ribosome/codons/request"
	p "github.com/ribosome-agents/ribosome/performatives"
)

func kinds() []kit.Kind {
	return []kit.Kind{
		kindRequest(), kindQueryIf(), kindQueryRef(), kit.KindPropose(), kit.KindRequestWhen(), kit.KindAgreedWhen(),
		kit.KindHandshake(), kit.KindApproval(),
	}
}

type ifOracle struct {
	kit.Plain
	handle kit.Handle
}

func (o *ifOracle) HandleQueryIf(ctx context.Context, q query.AskedIf) (bool, error) {
	return true, o.handle(ctx, q.Agree)
}

func kindQueryIf() kit.Kind {
	return kit.Kind{
		Name: "query-if", Opening: p.ActQueryIf, Answer: p.ActInformIf, Agrees: true, Good: true,
		Agent: func(h kit.Handle) actors.Agent { return &ifOracle{handle: h} },
		Start: func(ctx context.Context, party codons.Party, to p.AgentID, opts ...codons.Option) (*kit.Ongoing, error) {
			return kit.Started(query.StartIf(ctx, party, to, "is it raining?", opts...))
		},
	}
}

type refOracle struct {
	kit.Plain
	handle kit.Handle
}

func (o *refOracle) HandleQueryRef(ctx context.Context, q query.AskedRef) (any, error) {
	return 42, o.handle(ctx, q.Agree)
}

func kindQueryRef() kit.Kind {
	return kit.Kind{
		Name: "query-ref", Opening: p.ActQueryRef, Answer: p.ActInformRef, Agrees: true, Good: 42,
		Agent: func(h kit.Handle) actors.Agent { return &refOracle{handle: h} },
		Start: func(ctx context.Context, party codons.Party, to p.AgentID, opts ...codons.Option) (*kit.Ongoing, error) {
			return kit.Started(query.StartRef[int](ctx, party, to, "the answer", opts...))
		},
	}
}

// The handlers of the shared tests.

func atOnce(context.Context, func() error) error { return nil }

func agreeing(_ context.Context, agree func() error) error { return agree() }

// untilEnd works until its context ends, and returns why it did.
func untilEnd(ctx context.Context, _ func() error) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// agreedUntilEnd is the same after AGREE.
func agreedUntilEnd(ctx context.Context, agree func() error) error {
	return errors.Join(agree(), untilEnd(ctx, nil))
}

func kindRequest() kit.Kind {
	return kit.Kind{
		Name: "request", Opening: p.ActRequest, Answer: p.ActInform, Agrees: true, Good: kit.Bill{Price: 3},
		Agent: func(h kit.Handle) actors.Agent {
			return &kit.Shop{Handle: func(ctx context.Context, r request.Requested) (any, error) {
				return kit.Bill{Price: 3}, h(ctx, r.Agree)
			}}
		},
		Start: func(ctx context.Context, party codons.Party, to p.AgentID, opts ...codons.Option) (*kit.Ongoing, error) {
			return kit.Started(request.Start[kit.Bill](ctx, party, to, kit.Order{Item: "tea"}, opts...))
		},
	}
}
