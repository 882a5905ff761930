package codons_test

import (
	"context"
	"errors"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// kind is a codon of the exchange family as the tests that all of them share see it.
type kind struct {
	name    string
	opening p.Performative
	answer  p.Performative // when all goes well
	agrees  bool           // its handler may agree first
	agreed  bool           // it has agreed before its handler runs
	early   bool           // its asker sends CANCEL shortly before the deadline
	good    any            // what the asker gets then
	agent   func(handle) actors.Agent
	start   func(context.Context, codons.Party, p.AgentID, ...codons.Option) (*ongoing, error)
}

// handle is the agent's code. Without an error, it gives the good answer.
type handle func(ctx context.Context, agree func() error) error

// ongoing is a Pending of whatever type.
type ongoing struct {
	cancel func()
	wait   func() (any, error)
}

func started[T any](pending *codons.Pending[T], err error) (*ongoing, error) {
	if err != nil {
		return nil, err
	}
	return &ongoing{pending.Cancel, func() (any, error) {
		answer, err := pending.Wait()
		return answer, err
	}}, nil
}

// inBackground is what waits by itself.
func inBackground[T any](ctx context.Context, do func(context.Context) (T, error)) (*ongoing, error) {
	ctx, cancel := context.WithCancel(ctx)
	var answer T
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		answer, err = do(ctx)
	}()
	return &ongoing{cancel, func() (any, error) {
		<-done
		cancel()
		return answer, err
	}}, nil
}

// plain is an agent that has no capabilities, and does few things at a time.
type plain struct{}

func (plain) MaxTasks() int { return 4 }

func (plain) Describe() p.Capabilities { return p.Capabilities{} }

func kinds() []kind {
	return []kind{
		kindRequest(), kindQueryIf(), kindQueryRef(), kindPropose(), kindRequestWhen(), kindAgreedWhen(),
		kindHandshake(), kindApproval(),
	}
}

type ifOracle struct {
	plain
	handle handle
}

func (o *ifOracle) HandleQueryIf(ctx context.Context, q codons.AskedIf) (bool, error) {
	return true, o.handle(ctx, q.Agree)
}

func kindQueryIf() kind {
	return kind{
		name: "query-if", opening: p.ActQueryIf, answer: p.ActInformIf, agrees: true, good: true,
		agent: func(h handle) actors.Agent { return &ifOracle{handle: h} },
		start: func(ctx context.Context, party codons.Party, to p.AgentID, opts ...codons.Option) (*ongoing, error) {
			return started(codons.StartQueryIf(ctx, party, to, "is it raining?", opts...))
		},
	}
}

type refOracle struct {
	plain
	handle handle
}

func (o *refOracle) HandleQueryRef(ctx context.Context, q codons.AskedRef) (any, error) {
	return 42, o.handle(ctx, q.Agree)
}

func kindQueryRef() kind {
	return kind{
		name: "query-ref", opening: p.ActQueryRef, answer: p.ActInformRef, agrees: true, good: 42,
		agent: func(h handle) actors.Agent { return &refOracle{handle: h} },
		start: func(ctx context.Context, party codons.Party, to p.AgentID, opts ...codons.Option) (*ongoing, error) {
			return started(codons.StartQueryRef[int](ctx, party, to, "the answer", opts...))
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

func kindRequest() kind {
	return kind{
		name: "request", opening: p.ActRequest, answer: p.ActInform, agrees: true, good: bill{3},
		agent: func(h handle) actors.Agent {
			return &shop{func(ctx context.Context, r codons.Requested) (any, error) { return bill{3}, h(ctx, r.Agree) }}
		},
		start: func(ctx context.Context, party codons.Party, to p.AgentID, opts ...codons.Option) (*ongoing, error) {
			return started(codons.StartRequest[bill](ctx, party, to, order{"tea"}, opts...))
		},
	}
}

func isCode(err error, code p.Code) bool { return errors.Is(err, code) }
