package codons_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// allRounder is an agent that plays every role, and takes no time over any.
type allRounder struct {
	doer
	*codons.Broker
}

func (allRounder) Describe() p.Capabilities { return p.Capabilities{Topics: []string{"everything"}} }

func (allRounder) MaxTasks() int { return 1 << 20 }

func (allRounder) HandleRequest(context.Context, codons.Requested) (any, error) { return Sum{1}, nil }

func (allRounder) HandleQueryIf(context.Context, codons.AskedIf) (bool, error) { return true, nil }

func (allRounder) HandleQueryRef(context.Context, codons.AskedRef) (any, error) { return 1, nil }

func (allRounder) ConsiderProposal(context.Context, codons.Proposed) (codons.Verdict, error) {
	return codons.Verdict{Accepted: true}, nil
}

func (allRounder) DecideStep(context.Context, codons.ProposedStep) (codons.Verdict, error) {
	return codons.Verdict{Accepted: true}, nil
}

func (allRounder) ConsiderWhen(context.Context, codons.RequestedWhen) error { return nil }

func (allRounder) AwaitCondition(context.Context, codons.RequestedWhen) error { return nil }

func (allRounder) PerformWhen(context.Context, codons.RequestedWhen) (any, error) { return Sum{1}, nil }

func (allRounder) ConsiderCall(context.Context, codons.Called) (codons.Proposal, error) {
	return codons.Proposal{Cost: 1}, nil
}

func (allRounder) PerformAward(context.Context, codons.Awarded) (p.InformResult, error) {
	return p.InformResult{Status: p.StatusSuccess}, nil
}

func (allRounder) ConsiderPrice(_ context.Context, o codons.Offered) (bool, error) {
	return o.Price <= 10, nil
}

func (allRounder) SettlePurchase(context.Context, codons.Bought) (p.InformResult, error) {
	return p.InformResult{Status: p.StatusSuccess}, nil
}

// PerformTask asks back where the task says so.
func (allRounder) PerformTask(ctx context.Context, t codons.Task) (p.InformResult, error) {
	if t.TaskType == "ask back" {
		if _, err := t.NeedInput(ctx, "what?"); err != nil {
			return p.InformResult{}, err
		}
	}
	return p.InformResult{Status: p.StatusSuccess}, nil
}

// conversed is one conversation of a codon, from its beginning to its end.
type conversed func(ctx context.Context, from actors.Self, to []p.AgentID) error

// conversations are the codons that are measured, all that have an end of their own.
// Those of one with many are held with three.
func conversations() map[string]conversed {
	task := p.TaskRequest{TaskType: "nothing"}
	answer := func(p.InformResult) (p.TaskRequest, bool) { return task, true }
	return map[string]conversed{
		"delegation": func(ctx context.Context, from actors.Self, to []p.AgentID) error {
			_, err := codons.Delegate(ctx, from, to[0], task)
			return err
		},
		"need more input": func(ctx context.Context, from actors.Self, to []p.AgentID) error {
			_, err := codons.Delegate(ctx, from, to[0], p.TaskRequest{TaskType: "ask back"},
				codons.WithInput(func(_ context.Context, r p.InformResult) (p.TaskRequest, bool) { return answer(r) }))
			return err
		},
		"whispering wind": func(ctx context.Context, from actors.Self, to []p.AgentID) error {
			_, err := codons.Whisper(ctx, from, to[0], p.QueryCapabilities{Type: p.QuerySummary})
			return err
		},
		"discover and delegate": func(ctx context.Context, from actors.Self, to []p.AgentID) error {
			_, err := codons.FindAndDelegate(ctx, from, codons.Search{Among: codons.Agents(to), Need: []string{"everything"}}, task)
			return err
		},
		"request": func(ctx context.Context, from actors.Self, to []p.AgentID) error {
			_, err := codons.Request[Sum](ctx, from, to[0], Sum{1})
			return err
		},
		"request when": func(ctx context.Context, from actors.Self, to []p.AgentID) error {
			_, err := codons.RequestWhen[Sum](ctx, from, to[0], codons.When{Condition: p.ContentOf(true), Action: p.ContentOf(Sum{1})})
			return err
		},
		"query if": func(ctx context.Context, from actors.Self, to []p.AgentID) error {
			_, err := codons.QueryIf(ctx, from, to[0], true)
			return err
		},
		"query ref": func(ctx context.Context, from actors.Self, to []p.AgentID) error {
			_, err := codons.QueryRef[int](ctx, from, to[0], "it")
			return err
		},
		"propose": func(ctx context.Context, from actors.Self, to []p.AgentID) error {
			_, err := codons.Propose(ctx, from, to[0], Sum{1})
			return err
		},
		"approval": func(ctx context.Context, from actors.Self, to []p.AgentID) error {
			_, err := codons.Approve(ctx, from, to[0], codons.Step{What: "nothing"})
			return err
		},
		"tool call": func(ctx context.Context, from actors.Self, _ []p.AgentID) error {
			_, err := codons.CallTool[Terms, Sum](ctx, from, "Calc", "add", Terms{2, 3})
			return err
		},
		"handshake": func(ctx context.Context, from actors.Self, to []p.AgentID) error {
			_, err := codons.Handshake(ctx, from, to[0])
			return err
		},
		"contract net of 3": func(ctx context.Context, from actors.Self, to []p.AgentID) error {
			_, err := codons.CallForProposals(ctx, from, to, codons.Call{Task: task})
			return err
		},
		"iterated contract net of 3": func(ctx context.Context, from actors.Self, to []p.AgentID) error {
			_, err := codons.CallForProposals(ctx, from, to, codons.Call{Task: task}, codons.WithRounds(2), codons.WithDecision(
				func(ctx context.Context, b codons.Bidding) codons.Selection {
					if b.Again {
						return codons.Selection{Revise: to[:2]}
					}
					return codons.LowestCost(ctx, b)
				}))
			return err
		},
		"English auction of 3": func(ctx context.Context, from actors.Self, to []p.AgentID) error {
			_, err := codons.EnglishAuction(ctx, from, to, codons.Lot{Item: "it", Start: 9, Step: 1})
			return err
		},
		"Dutch auction of 3": func(ctx context.Context, from actors.Self, to []p.AgentID) error {
			_, err := codons.DutchAuction(ctx, from, to, codons.Lot{Item: "it", Start: 11, Step: 1})
			return err
		},
		"saga of 2": func(ctx context.Context, from actors.Self, to []p.AgentID) error {
			step := func(id p.AgentID) codons.SagaStep {
				return codons.SagaStep{Name: string(id), Do: func(ctx context.Context, _ map[string]any) (any, error) {
					return codons.Delegate(ctx, from, id, task)
				}}
			}
			_, err := codons.Saga{Steps: []codons.SagaStep{step(to[0]), step(to[1])}}.Run(ctx, from)
			return err
		},
		"scatter to 3": func(ctx context.Context, from actors.Self, to []p.AgentID) error {
			_, err := codons.Scatter(ctx, from, to, task, codons.AllOf())
			return err
		},
		"brokering": func(ctx context.Context, from actors.Self, to []p.AgentID) error {
			_, err := codons.AskThrough(ctx, from, to[0], codons.Proxy{Agents: to[1:2], Task: task})
			return err
		},
		"recruiting": func(ctx context.Context, from actors.Self, to []p.AgentID) error {
			_, err := codons.Recruit(ctx, from, to[0], codons.Proxy{Agents: to[1:2], Task: task})
			return err
		},
	}
}

// echo is an agent without a role, which answers raw messages.
type echo struct{ poet }

func (echo) Receive(ctx *actors.Context, m *p.Message) {
	if answer, err := m.ReplyAs(ctx.Stamp(), p.ActInform, Sum{1}); err == nil {
		_ = ctx.Send(answer)
	}
}

// bareAsk is what is left of a request without its conversation: the baseline.
func bareAsk(ctx context.Context, from actors.Self, _ []p.AgentID) error {
	stamp := from.Stamp()
	m, err := p.New(p.Envelope{
		ID: stamp.ID, Timestamp: stamp.Time, Sender: from.ID(), Receiver: "Echo",
		Performative: p.ActRequest, Protocol: "none", Payload: Sum{1},
	})
	if err != nil {
		return err
	}
	_, err = from.Ask(ctx, m)
	return err
}

// BenchmarkCodons measures whole conversations on one node, 64 under way at a time:
// how many a second, and what each allocates.
func BenchmarkCodons(b *testing.B) {
	s := benchSystem(b)
	var ids []p.AgentID
	for i := range 3 {
		id := p.AgentID(fmt.Sprint("agent-", i))
		spawn(b.Context(), s, id, allRounder{Broker: &codons.Broker{}})
		ids = append(ids, id)
	}
	spawn(b.Context(), s, "Calc", newCalculator())
	from := spawn(b.Context(), s, "asker", allRounder{Broker: &codons.Broker{}})
	spawn(b.Context(), s, "Echo", echo{})
	all := conversations()
	all["(a bare ask, no conversation)"] = bareAsk
	for _, name := range slices.Sorted(maps.Keys(all)) {
		converse := all[name]
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(32)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := converse(b.Context(), from, ids); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "conversations/s")
		})
	}
}
