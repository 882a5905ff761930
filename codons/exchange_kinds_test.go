package codons_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	p "github.com/ribosome-agents/ribosome/performatives"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/approval"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/query"
	"github.com/ribosome-agents/ribosome/codons/request"
)

// exchangeKind describes a codon made of an exchange, for the tests that all of them share.
type exchangeKind struct {
	Name    string
	Opening p.Performative
	Answer  p.Performative // when all goes well
	Agrees  bool           // its handler may agree first
	agreed  bool           // it has agreed before its handler runs
	Early   bool           // its asker sends CANCEL shortly before the deadline
	Good    any            // what the asker gets then
	Start   func(context.Context, codons.Party, p.AgentID, ...codons.Option) (*kit.Ongoing, error)
}

// handlerFunc is the code of the agent. Without an error, the agent gives the good answer.
type handlerFunc func(ctx context.Context, agree func() error) error

// Begin begins a conversation of Eddy with Shop.
func (k exchangeKind) Begin(ctx context.Context, t *testing.T, w *kit.World, opts ...codons.Option) *kit.Ongoing {
	t.Helper()
	u, err := k.Start(ctx, w.Eddy, "Shop", opts...)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// WantGood fails the test unless u has the good answer.
func (k exchangeKind) WantGood(t *testing.T, u *kit.Ongoing) {
	t.Helper()
	got, err := u.Wait()
	if err != nil {
		t.Error(err)
	} else if diff := cmp.Diff(k.Good, got); diff != "" {
		t.Errorf("another answer (-want +got):\n%s", diff)
	}
}

// End returns the terminal state of a conversation whose handler returns that code, after AGREE or
// not.
func (k exchangeKind) End(agree bool, code p.Code) machine.State {
	switch carrier := code.Traits().Carrier; {
	case carrier == p.ActFailure, k.agreed, k.Agrees && agree:
		return "failed"
	case carrier == p.ActNotUnderstood:
		return "not_understood"
	}
	return "refused"
}

// Opener returns the opening act of the codon, for a scripted peer.
func (k exchangeKind) Opener(t *testing.T, w *kit.World) p.Envelope {
	t.Helper()
	var opening *p.Message
	w.Net.Intercept(func(m *p.Message) bool {
		if m.Performative() != k.Opening {
			return false
		}
		opening = m
		return true
	})
	u := k.Begin(t.Context(), t, w, codons.WithGrace(0))
	synctest.Wait()
	w.Net.Intercept(nil)
	u.Cancel()
	_, _ = u.Wait()
	e := opening.Envelope()
	return p.Envelope{Receiver: "Shop", Performative: k.Opening, Protocol: e.Protocol, Payload: e.Payload}
}

// kinds returns the codons of the exchange family.
func kinds() []exchangeKind {
	agreed := kindRequestWhen()
	agreed.Name, agreed.Agrees, agreed.agreed = "request-when agreed", true, true
	return []exchangeKind{
		kindRequest(), kindQueryIf(), kindQueryRef(), kindPropose(), kindRequestWhen(), agreed, kindHandshake(), kindApproval(),
	}
}

// Agent returns an agent with that code.
func (k exchangeKind) Agent(h handlerFunc) actors.Agent {
	return &exchangeAgent{handle: h, awaits: k.agreed}
}

// exchangeAgent plays the role of every kind.
type exchangeAgent struct {
	kit.Plain
	handle handlerFunc
	awaits bool // in a request-when, handle runs after AGREE
}

func nothing() error { return nil }

func (a *exchangeAgent) HandleRequest(ctx context.Context, r request.Requested) (any, error) {
	return kit.Bill{Price: 3}, a.handle(ctx, r.Agree)
}

func (a *exchangeAgent) HandleQueryIf(ctx context.Context, q query.AskedIf) (bool, error) {
	return true, a.handle(ctx, q.Agree)
}

func (a *exchangeAgent) HandleQueryRef(ctx context.Context, q query.AskedRef) (any, error) {
	return 42, a.handle(ctx, q.Agree)
}

func (a *exchangeAgent) DecideStep(ctx context.Context, s approval.ProposedStep) (approval.Verdict, error) {
	return approval.Verdict{Accepted: true, Reason: "fine"}, a.handle(ctx, s.Seen)
}

func (a *exchangeAgent) ConsiderProposal(ctx context.Context, _ approval.Proposed) (approval.Verdict, error) {
	return approval.Verdict{Accepted: true, Reason: "fine"}, a.handle(ctx, nothing)
}

func (a *exchangeAgent) ConsiderHandshake(ctx context.Context, _ discovery.Greeting) error {
	return a.handle(ctx, nothing)
}

func (a *exchangeAgent) ConsiderWhen(ctx context.Context, _ request.RequestedWhen) error {
	if a.awaits {
		return nil
	}
	return a.handle(ctx, nothing)
}

func (a *exchangeAgent) AwaitCondition(ctx context.Context, _ request.RequestedWhen) error {
	if !a.awaits {
		return nil
	}
	return a.handle(ctx, nothing)
}

func (*exchangeAgent) PerformWhen(context.Context, request.RequestedWhen) (any, error) {
	return kit.Bill{Price: 3}, nil
}

func kindRequest() exchangeKind {
	return exchangeKind{
		Name: "request", Opening: p.ActRequest, Answer: p.ActInform, Agrees: true, Good: kit.Bill{Price: 3},
		Start: func(ctx context.Context, party codons.Party, to p.AgentID, opts ...codons.Option) (*kit.Ongoing, error) {
			return kit.Started(request.Start[kit.Bill](ctx, party, to, kit.Order{Item: "tea"}, opts...))
		},
	}
}

func kindQueryIf() exchangeKind {
	return exchangeKind{
		Name: "query-if", Opening: p.ActQueryIf, Answer: p.ActInformIf, Agrees: true, Good: true,
		Start: func(ctx context.Context, party codons.Party, to p.AgentID, opts ...codons.Option) (*kit.Ongoing, error) {
			return kit.Started(query.StartIf(ctx, party, to, "is it raining?", opts...))
		},
	}
}

func kindQueryRef() exchangeKind {
	return exchangeKind{
		Name: "query-ref", Opening: p.ActQueryRef, Answer: p.ActInformRef, Agrees: true, Good: 42,
		Start: func(ctx context.Context, party codons.Party, to p.AgentID, opts ...codons.Option) (*kit.Ongoing, error) {
			return kit.Started(query.StartRef[int](ctx, party, to, "the answer", opts...))
		},
	}
}

func kindApproval() exchangeKind {
	return exchangeKind{
		Name: "approval", Opening: p.ActPropose, Answer: p.ActAcceptProposal, Agrees: true,
		Good: approval.Approval{Approved: true, By: "Shop", Reason: "fine"}, Early: true,
		Start: func(ctx context.Context, party codons.Party, to p.AgentID, opts ...codons.Option) (*kit.Ongoing, error) {
			return kit.InBackground(ctx, func(ctx context.Context) (approval.Approval, error) {
				return approval.Approve(ctx, party, to, approval.Step{What: "delete the archive"}, opts...)
			})
		},
	}
}

func kindPropose() exchangeKind {
	return exchangeKind{
		Name: "propose", Opening: p.ActPropose, Answer: p.ActAcceptProposal, Good: approval.Verdict{Accepted: true, Reason: "fine"},
		Start: func(ctx context.Context, party codons.Party, to p.AgentID, opts ...codons.Option) (*kit.Ongoing, error) {
			return kit.Started(approval.StartPropose(ctx, party, to, map[string]string{"build": "a bridge"}, opts...))
		},
	}
}

func kindHandshake() exchangeKind {
	return exchangeKind{
		Name: "handshake", Opening: p.ActQueryCapabilities, Answer: p.ActInformCapabilities,
		Good: p.Capabilities{Topics: []string{}, Actions: []p.Action{}},
		Start: func(ctx context.Context, party codons.Party, to p.AgentID, opts ...codons.Option) (*kit.Ongoing, error) {
			return kit.InBackground(ctx, func(ctx context.Context) (p.Capabilities, error) {
				return discovery.Handshake(ctx, party, to, opts...)
			})
		},
	}
}

// kindRequestWhen is the request-when codon, whose decision before AGREE runs the handler.
func kindRequestWhen() exchangeKind {
	return exchangeKind{
		Name: "request-when", Opening: p.ActRequestWhen, Answer: p.ActInform, Good: kit.Bill{Price: 3},
		Start: func(ctx context.Context, party codons.Party, to p.AgentID, opts ...codons.Option) (*kit.Ongoing, error) {
			q := request.When{Condition: p.ContentOf("it rains"), Action: p.ContentOf(kit.Order{Item: "seeds"})}
			return kit.Started(request.StartWhen[kit.Bill](ctx, party, to, q, opts...))
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
