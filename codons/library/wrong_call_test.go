package library_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/approval"
	"github.com/ribosome-agents/ribosome/codons/auction"
	"github.com/ribosome-agents/ribosome/codons/contractnet"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/mediation"
	"github.com/ribosome-agents/ribosome/codons/notify"
	"github.com/ribosome-agents/ribosome/codons/query"
	"github.com/ribosome-agents/ribosome/codons/request"
	"github.com/ribosome-agents/ribosome/codons/saga"
	"github.com/ribosome-agents/ribosome/codons/scatter"
	"github.com/ribosome-agents/ribosome/codons/subscribe"
	"github.com/ribosome-agents/ribosome/codons/tool"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// beginnings are the functions that begin conversations, by the codon that they name in errors.
func beginnings(ctx context.Context) map[string]func(codons.Party, ...codons.Option) error {
	only := func(_ any, err error) error { return err }
	jules := []p.AgentID{"Jules"}
	task := kit.Task()
	return map[string]func(codons.Party, ...codons.Option) error{
		"task-delegation": func(c codons.Party, o ...codons.Option) error {
			return only(delegation.Delegate(ctx, c, "Jules", task, o...))
		},
		"tool-call": func(c codons.Party, o ...codons.Option) error {
			return only(tool.Call[string, string](ctx, c, "Jules", "t", "x", o...))
		},
		"request": func(c codons.Party, o ...codons.Option) error {
			return only(request.Request[string](ctx, c, "Jules", p.Raw(`{}`), o...))
		},
		"query-if": func(c codons.Party, o ...codons.Option) error {
			return only(query.If(ctx, c, "Jules", p.Raw(`{}`), o...))
		},
		"approval": func(c codons.Party, o ...codons.Option) error {
			return only(approval.Approve(ctx, c, "Jules", approval.Step{What: "x"}, o...))
		},
		"contract-net": func(c codons.Party, o ...codons.Option) error {
			return only(contractnet.Start(ctx, c, jules, contractnet.Call{Task: task}, o...))
		},
		"english-auction": func(c codons.Party, o ...codons.Option) error {
			return only(auction.StartEnglish(ctx, c, jules, auction.Lot{Item: "x", Start: 1, Step: 1}, o...))
		},
		"subscribe": func(c codons.Party, o ...codons.Option) error {
			return only(subscribe.Start[string](ctx, c, "Jules", subscribe.Subscription{}, o...))
		},
		"notify": func(c codons.Party, o ...codons.Option) error { return notify.Notify(c, "Jules", p.Raw(`{}`), o...) },
		"notify to several": func(c codons.Party, o ...codons.Option) error {
			return only(notify.All(c, jules, p.Raw(`{}`), o...))
		},
		"notify all": func(c codons.Party, o ...codons.Option) error { return notify.Broadcast(c, p.Raw(`{}`), o...) },
		"brokering": func(c codons.Party, o ...codons.Option) error {
			return only(mediation.StartAskThrough(ctx, c, "Jules", mediation.Proxy{}, o...))
		},
		"recruiting": func(c codons.Party, o ...codons.Option) error {
			return only(mediation.StartRecruiting(ctx, c, "Jules", mediation.Proxy{Task: task}, o...))
		},
		"handshake": func(c codons.Party, o ...codons.Option) error {
			return only(discovery.Handshake(ctx, c, "Jules", o...))
		},
		"whispering-wind": func(c codons.Party, o ...codons.Option) error {
			return only(discovery.Whisper(ctx, c, "Jules", p.QueryCapabilities{Type: p.QuerySummary}, o...))
		},
		"whispering-wind to several": func(c codons.Party, o ...codons.Option) error {
			return only(discovery.WhisperAll(ctx, c, jules, p.QueryCapabilities{Type: p.QuerySummary}, o...))
		},
		"task-delegation to any": func(c codons.Party, o ...codons.Option) error {
			return only(discovery.DelegateToAny(ctx, c, jules, task, o...))
		},
		"task-delegation to all": func(c codons.Party, o ...codons.Option) error {
			return only(scatter.Scatter(ctx, c, jules, task, scatter.AllOf(), o...))
		},
	}
}

type foreign struct{}

func withForeign() codons.Option { return codons.Setting(func(*foreign) {}) }

// TestAnOptionOfAnotherCodonIsAnError checks that the error names the option and the codon, and
// that no conversation begins.
func TestAnOptionOfAnotherCodonIsAnError(t *testing.T) {
	racetest.Skip(t)
	for name, begin := range beginnings(context.Background()) {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				codon, _, _ := strings.Cut(name, " ")
				err := begin(w.Eddy, withForeign())
				if err == nil || !strings.Contains(err.Error(), "library_test.withForeign") || !strings.Contains(err.Error(), codon) {
					t.Errorf("got %v", err)
				}
				if n := w.Counts(); n.Open != 0 {
					t.Errorf("%d conversations are open", n.Open)
				}
			})
		})
	}
}

// TestForeignOptionsHaveTheirNames checks the names of options in errors.
func TestForeignOptionsHaveTheirNames(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		for want, o := range map[string]codons.Option{
			"contractnet.WithRounds":   contractnet.WithRounds(2),
			"approval.WithDefault":     approval.WithDefault(true),
			"subscribe.WithBuffer":     subscribe.WithBuffer(1),
			"codons.OnReport":          codons.OnReport("x", func(string) {}),
			"codons.On":                codons.On[string]("x", nil),
			"mediation.WithNews":       mediation.WithNews(nil),
			"contractnet.WithReserve":  contractnet.WithReserve(),
			"approval.WithEscalation":  approval.WithEscalation("x"),
			"library_test.withForeign": withForeign(),
			"discovery.SafeToRepeat":   discovery.SafeToRepeat(),
			"subscribe.WithHeartbeat":  subscribe.WithHeartbeat(1),
		} {
			if _, err := w.Delegate(t.Context(), o); err == nil || !strings.Contains(err.Error(), "the option "+want+" is not one of the codon task-delegation") {
				t.Errorf("%s: got %v", want, err)
			}
		}
	})
}

// program is a party, as a node is.
type program struct{ self actors.Self }

func (p *program) Self() actors.Self { return p.self }

func TestANilPartyIsAnError(t *testing.T) {
	all := beginnings(context.Background())
	all["saga"] = func(c codons.Party, _ ...codons.Option) error {
		_, err := saga.Saga{Steps: []saga.Step{{Name: "a", Do: func(context.Context, map[string]any) (any, error) { return nil, nil }}}}.Run(t.Context(), c)
		return err
	}
	for name, begin := range all {
		for _, p := range []codons.Party{nil, (*program)(nil), actors.Self{}} {
			if err := begin(p); !errors.Is(err, codons.ErrNoParty) {
				t.Errorf("%s by %T: got %v", name, p, err)
			}
		}
	}
}
