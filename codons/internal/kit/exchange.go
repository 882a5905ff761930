package kit

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/approval"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/request"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// Kind describes a codon made of an exchange, for the tests that all of them share.
type Kind struct {
	Name    string
	Opening p.Performative
	Answer  p.Performative // when all goes well
	Agrees  bool           // its handler may agree first
	agreed  bool           // it has agreed before its handler runs
	Early   bool           // its asker sends CANCEL shortly before the deadline
	Good    any            // what the asker gets then
	Agent   func(Handle) actors.Agent
	Start   func(context.Context, codons.Party, p.AgentID, ...codons.Option) (*Ongoing, error)
}

// Handle is the code of the agent. Without an error, the agent gives the good answer.
type Handle func(ctx context.Context, agree func() error) error

// Ongoing is a [codons.Pending] of any type.
type Ongoing struct {
	Cancel func()
	Wait   func() (any, error)
}

// Started returns a pending conversation as Ongoing.
func Started[T any](pending *codons.Pending[T], err error) (*Ongoing, error) {
	if err != nil {
		return nil, err
	}
	return &Ongoing{pending.Cancel, func() (any, error) {
		answer, err := pending.Wait()
		return answer, err
	}}, nil
}

// InBackground runs a function that waits on a goroutine of its own.
func InBackground[T any](ctx context.Context, do func(context.Context) (T, error)) (*Ongoing, error) {
	ctx, cancel := context.WithCancel(ctx)
	var answer T
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		answer, err = do(ctx)
	}()
	return &Ongoing{cancel, func() (any, error) {
		<-done
		cancel()
		return answer, err
	}}, nil
}

// Begin begins a conversation of Eddy with Shop.
func (k Kind) Begin(ctx context.Context, t *testing.T, w *World, opts ...codons.Option) *Ongoing {
	t.Helper()
	u, err := k.Start(ctx, w.Eddy, "Shop", opts...)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// WantGood fails the test unless u has the good answer.
func (k Kind) WantGood(t *testing.T, u *Ongoing) {
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
func (k Kind) End(agree bool, code p.Code) machine.State {
	switch carrier := code.Traits().Carrier; {
	case carrier == p.ActFailure, k.agreed, k.Agrees && agree:
		return "failed"
	case carrier == p.ActNotUnderstood:
		return "not_understood"
	}
	return "refused"
}

// Opener returns the opening act of the codon, for a scripted peer.
func (k Kind) Opener(t *testing.T, w *World) p.Envelope {
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

// KindApproval returns the approval codon.
func KindApproval() Kind {
	return Kind{
		Name: "approval", Opening: p.ActPropose, Answer: p.ActAcceptProposal, Agrees: true,
		Good: approval.Approval{Approved: true, By: "Shop", Reason: "fine"}, Early: true,
		Agent: func(h Handle) actors.Agent {
			return &Boss{Decide: func(ctx context.Context, s approval.ProposedStep) (approval.Verdict, error) {
				return approval.Verdict{Accepted: true, Reason: "fine"}, h(ctx, s.Seen)
			}}
		},
		Start: func(ctx context.Context, party codons.Party, to p.AgentID, opts ...codons.Option) (*Ongoing, error) {
			return InBackground(ctx, func(ctx context.Context) (approval.Approval, error) {
				var all []codons.Option
				all = append(all, opts...)
				return approval.Approve(ctx, party, to, Deletion, all...)
			})
		},
	}
}

// KindPropose returns the propose codon.
func KindPropose() Kind {
	return Kind{
		Name: "propose", Opening: p.ActPropose, Answer: p.ActAcceptProposal, Good: approval.Verdict{Accepted: true, Reason: "fine"},
		Agent: func(h Handle) actors.Agent {
			return &Council{Consider: func(ctx context.Context, _ approval.Proposed) (approval.Verdict, error) {
				err := h(ctx, func() error { return nil })
				return approval.Verdict{Accepted: true, Reason: "fine"}, err
			}}
		},
		Start: func(ctx context.Context, party codons.Party, to p.AgentID, opts ...codons.Option) (*Ongoing, error) {
			return Started(approval.StartPropose(ctx, party, to, Plan{"a bridge"}, opts...))
		},
	}
}

// KindHandshake returns the handshake codon.
func KindHandshake() Kind {
	return Kind{
		Name: "handshake", Opening: p.ActQueryCapabilities, Answer: p.ActInformCapabilities,
		Good: p.Capabilities{Topics: []string{}, Actions: []p.Action{}},
		Agent: func(h Handle) actors.Agent {
			return &Host{Consider: func(ctx context.Context, _ discovery.Greeting) error {
				return h(ctx, func() error { return nil })
			}}
		},
		Start: StartHandshake,
	}
}

// StartHandshake begins a handshake and does not wait for its end.
func StartHandshake(ctx context.Context, party codons.Party, to p.AgentID, opts ...codons.Option) (*Ongoing, error) {
	return InBackground(ctx, func(ctx context.Context) (p.Capabilities, error) {
		return discovery.Handshake(ctx, party, to, opts...)
	})
}

// KindRequestWhen returns the request-when codon, whose decision before AGREE runs the handler.
func KindRequestWhen() Kind {
	return Kind{
		Name: "request-when", Opening: p.ActRequestWhen, Answer: p.ActInform, Good: Bill{3},
		Agent: func(h Handle) actors.Agent {
			return &Sprinkler{Consider: func(ctx context.Context, _ request.RequestedWhen) error {
				return h(ctx, func() error { return nil })
			}}
		},
		Start: func(ctx context.Context, party codons.Party, to p.AgentID, opts ...codons.Option) (*Ongoing, error) {
			return Started(request.StartWhen[Bill](ctx, party, to, Sowing(), opts...))
		},
	}
}

// KindAgreedWhen returns the request-when codon, whose wait after AGREE runs the handler.
func KindAgreedWhen() Kind {
	k := KindRequestWhen()
	k.Name, k.Agrees, k.agreed = "request-when agreed", true, true
	k.Agent = func(h Handle) actors.Agent {
		return &Sprinkler{Await: func(ctx context.Context, _ request.RequestedWhen) error {
			return h(ctx, func() error { return nil })
		}}
	}
	return k
}
