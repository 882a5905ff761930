package mediation_test

import (
	"context"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/codontest"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/mediation"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// TestConform has a mediator find agents for tasks, over a bad network. The conversations of the
// mediator with the agents, and the deliveries, are checked too.
func TestConform(t *testing.T) {
	whisper := discovery.WhisperService
	codontest.Conform(t, mediation.BrokeringCodon, kit.Seeds(),
		codontest.Agents(1, newMediator, mediation.BrokeringService, whisper), codontest.Agents(2, newRecruit, delegation.Service),
		codontest.Calling(func(ctx context.Context, s *codontest.Script) error {
			_, err := mediation.AskThrough(ctx, s.Self(), s.Peers()[0], proxy(s))
			return err
		}))
	codontest.Conform(t, mediation.RecruitingCodon, kit.Seeds(),
		codontest.Agents(1, newMediator, mediation.RecruitingService, whisper),
		codontest.Agents(2, newRecruit, delegation.NewService(mediation.Recruitable)),
		codontest.Agents(1, newReceiver, mediation.DeliveryService),
		codontest.Calling(func(ctx context.Context, s *codontest.Script) error {
			q := proxy(s)
			if s.Chance("receiver").IntN(2) == 0 {
				q.Receiver = s.Peers()[3]
			}
			_, err := mediation.Recruit(ctx, s.Self(), s.Peers()[0], q)
			return err
		}))
}

// proxy asks for one agent or for all.
func proxy(s *codontest.Script) mediation.Proxy {
	return debugging([]mediation.Want{mediation.WantOne, mediation.WantAll}[s.Chance("want").IntN(2)])
}

func newMediator(s *codontest.Script) actors.Agent {
	m := brokerOf(s.Peers()...)
	m.Admit = func(ctx context.Context, q mediation.Proxied) error { return s.About(q.Message, "admit").Do(ctx) }
	return m
}

func newRecruit(s *codontest.Script) actors.Agent {
	return &kit.Worker{Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
		return kit.Result(p.StatusSuccess), s.About(t.Message, "perform").Do(ctx)
	}}
}

func newReceiver(s *codontest.Script) actors.Agent {
	return &receiver{handle: func(ctx context.Context, d mediation.Delivery) error { return s.About(d.Message, "deliver").Do(ctx) }}
}
