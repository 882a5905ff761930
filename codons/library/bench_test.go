package library_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/approval"
	"github.com/ribosome-agents/ribosome/codons/auction"
	"github.com/ribosome-agents/ribosome/codons/contractnet"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/mediation"
	"github.com/ribosome-agents/ribosome/codons/query"
	"github.com/ribosome-agents/ribosome/codons/request"
	"github.com/ribosome-agents/ribosome/codons/saga"
	"github.com/ribosome-agents/ribosome/codons/scatter"
	"github.com/ribosome-agents/ribosome/codons/tool"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// allRounder is an agent that plays every role and answers at once.
type allRounder struct {
	kit.Doer
	*mediation.Broker
}

func (allRounder) Describe() p.Capabilities { return p.Capabilities{Topics: []string{"everything"}} }

func (allRounder) MaxTasks() int { return 1 << 20 }

func (allRounder) HandleRequest(context.Context, request.Requested) (any, error) {
	return sum{1}, nil
}

func (allRounder) HandleQueryIf(context.Context, query.AskedIf) (bool, error) { return true, nil }

func (allRounder) HandleQueryRef(context.Context, query.AskedRef) (any, error) { return 1, nil }

func (allRounder) ConsiderProposal(context.Context, approval.Proposed) (approval.Verdict, error) {
	return approval.Verdict{Accepted: true}, nil
}

func (allRounder) DecideStep(context.Context, approval.ProposedStep) (approval.Verdict, error) {
	return approval.Verdict{Accepted: true}, nil
}

func (allRounder) ConsiderWhen(context.Context, request.RequestedWhen) error { return nil }

func (allRounder) AwaitCondition(context.Context, request.RequestedWhen) error { return nil }

func (allRounder) PerformWhen(context.Context, request.RequestedWhen) (any, error) {
	return sum{1}, nil
}

func (allRounder) ConsiderCall(context.Context, contractnet.Called) (contractnet.Proposal, error) {
	return contractnet.Proposal{Cost: 1}, nil
}

func (allRounder) PerformAward(context.Context, contractnet.Awarded) (p.InformResult, error) {
	return p.InformResult{Status: p.StatusSuccess}, nil
}

func (allRounder) ConsiderPrice(_ context.Context, o auction.Offered) (bool, error) {
	return o.Price <= 10, nil
}

func (allRounder) SettlePurchase(context.Context, auction.Bought) (p.InformResult, error) {
	return p.InformResult{Status: p.StatusSuccess}, nil
}

// PerformTask asks for input if the task is of type "ask back".
func (allRounder) PerformTask(ctx context.Context, t delegation.Task) (p.InformResult, error) {
	if t.TaskType == "ask back" {
		if _, err := t.NeedInput(ctx, "what?"); err != nil {
			return p.InformResult{}, err
		}
	}
	return p.InformResult{Status: p.StatusSuccess}, nil
}

// converse holds one conversation of a codon, from its beginning to its end.
type converse func(ctx context.Context, from actors.Self, to []p.AgentID) error

// conversations are the measured codons: all but subscribe and request whenever, which have no
// end of their own, and notify. A codon of one initiator with many responders has three of them.
func conversations() map[string]converse {
	task := p.TaskRequest{TaskType: "nothing"}
	answer := func(p.InformResult) (p.TaskRequest, bool) { return task, true }
	return map[string]converse{
		"delegation": func(ctx context.Context, from actors.Self, to []p.AgentID) error {
			_, err := delegation.Delegate(ctx, from, to[0], task)
			return err
		},
		"need more input": func(ctx context.Context, from actors.Self, to []p.AgentID) error {
			_, err := delegation.Delegate(ctx, from, to[0], p.TaskRequest{TaskType: "ask back"},
				delegation.WithInput(func(_ context.Context, r p.InformResult) (p.TaskRequest, bool) { return answer(r) }))
			return err
		},
		"whispering wind": func(ctx context.Context, from actors.Self, to []p.AgentID) error {
			_, err := discovery.Whisper(ctx, from, to[0], p.QueryCapabilities{Type: p.QuerySummary})
			return err
		},
		"discover and delegate": func(ctx context.Context, from actors.Self, to []p.AgentID) error {
			_, err := discovery.FindAndDelegate(ctx, from, discovery.Search{Among: discovery.Agents(to), Need: []string{"everything"}}, task)
			return err
		},
		"request": func(ctx context.Context, from actors.Self, to []p.AgentID) error {
			_, err := request.Request[sum](ctx, from, to[0], sum{1})
			return err
		},
		"request when": func(ctx context.Context, from actors.Self, to []p.AgentID) error {
			_, err := request.AskWhen[sum](ctx, from, to[0], request.When{Condition: p.ContentOf(true), Action: p.ContentOf(sum{1})})
			return err
		},
		"query if": func(ctx context.Context, from actors.Self, to []p.AgentID) error {
			_, err := query.If(ctx, from, to[0], true)
			return err
		},
		"query ref": func(ctx context.Context, from actors.Self, to []p.AgentID) error {
			_, err := query.Ref[int](ctx, from, to[0], "it")
			return err
		},
		"propose": func(ctx context.Context, from actors.Self, to []p.AgentID) error {
			_, err := approval.Propose(ctx, from, to[0], sum{1})
			return err
		},
		"approval": func(ctx context.Context, from actors.Self, to []p.AgentID) error {
			_, err := approval.Approve(ctx, from, to[0], approval.Step{What: "nothing"})
			return err
		},
		"tool call": func(ctx context.Context, from actors.Self, _ []p.AgentID) error {
			_, err := tool.Call[terms, sum](ctx, from, "Calc", "add", terms{A: 2, B: 3})
			return err
		},
		"handshake": func(ctx context.Context, from actors.Self, to []p.AgentID) error {
			_, err := discovery.Handshake(ctx, from, to[0])
			return err
		},
		"contract net of 3": func(ctx context.Context, from actors.Self, to []p.AgentID) error {
			_, err := contractnet.CallForProposals(ctx, from, to, contractnet.Call{Task: task})
			return err
		},
		"iterated contract net of 3": func(ctx context.Context, from actors.Self, to []p.AgentID) error {
			_, err := contractnet.CallForProposals(ctx, from, to, contractnet.Call{Task: task}, contractnet.WithRounds(2), contractnet.WithDecision(
				func(ctx context.Context, b contractnet.Bidding) contractnet.Selection {
					if b.Again {
						return contractnet.Selection{Revise: to[:2]}
					}
					return contractnet.LowestCost(ctx, b)
				}))
			return err
		},
		"English auction of 3": func(ctx context.Context, from actors.Self, to []p.AgentID) error {
			_, err := auction.English(ctx, from, to, auction.Lot{Item: "it", Start: 9, Step: 1})
			return err
		},
		"Dutch auction of 3": func(ctx context.Context, from actors.Self, to []p.AgentID) error {
			_, err := auction.Dutch(ctx, from, to, auction.Lot{Item: "it", Start: 11, Step: 1})
			return err
		},
		"saga of 2": func(ctx context.Context, from actors.Self, to []p.AgentID) error {
			step := func(id p.AgentID) saga.Step {
				return saga.Step{Name: string(id), Do: func(ctx context.Context, _ map[string]any) (any, error) {
					return delegation.Delegate(ctx, from, id, task)
				}}
			}
			_, err := saga.Saga{Steps: []saga.Step{step(to[0]), step(to[1])}}.Run(ctx, from)
			return err
		},
		"scatter to 3": func(ctx context.Context, from actors.Self, to []p.AgentID) error {
			_, err := scatter.Scatter(ctx, from, to, task, scatter.AllOf())
			return err
		},
		"brokering": func(ctx context.Context, from actors.Self, to []p.AgentID) error {
			_, err := mediation.AskThrough(ctx, from, to[0], mediation.Proxy{Agents: to[1:2], Task: task})
			return err
		},
		"recruiting": func(ctx context.Context, from actors.Self, to []p.AgentID) error {
			_, err := mediation.Recruit(ctx, from, to[0], mediation.Proxy{Agents: to[1:2], Task: task})
			return err
		},
	}
}

// newCalculator returns an agent with the tool "add".
func newCalculator() calculator {
	add, err := tool.New("add", "adds two numbers", func(_ context.Context, in terms) (sum, error) {
		return sum{in.A + in.B}, nil
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

type (
	calculator struct{ *tool.Tools }
	terms      struct {
		A int `json:"a"`
		B int `json:"b" jsonschema:"what is added"`
	}
	sum struct {
		Sum int `json:"sum"`
	}
)

// echo is an agent without a role. It answers raw messages.
type echo struct{ kit.Poet }

func (echo) Receive(ctx *actors.Context, m *p.Message) {
	if answer, err := m.ReplyAs(ctx.Stamp(), p.ActInform, sum{1}); err == nil {
		_ = ctx.Send(answer)
	}
}

// bareAsk is the baseline: a request and its answer without a conversation.
func bareAsk(ctx context.Context, from actors.Self, _ []p.AgentID) error {
	stamp := from.Stamp()
	m, err := p.New(p.Envelope{
		ID: stamp.ID, Timestamp: stamp.Time, Sender: from.ID(), Receiver: "Echo",
		Performative: p.ActRequest, Protocol: "none", Payload: sum{1},
	})
	if err != nil {
		return err
	}
	_, err = from.Ask(ctx, m)
	return err
}

// BenchmarkCodons measures whole conversations on one node, 64 at a time: conversations per
// second, and the allocations of each.
func BenchmarkCodons(b *testing.B) {
	s := kit.BenchSystem(b)
	var ids []p.AgentID
	for i := range 3 {
		id := p.AgentID(fmt.Sprint("agent-", i))
		kit.Spawn(b.Context(), s, id, allRounder{Broker: &mediation.Broker{}})
		ids = append(ids, id)
	}
	kit.Spawn(b.Context(), s, "Calc", newCalculator())
	from := kit.Spawn(b.Context(), s, "asker", allRounder{Broker: &mediation.Broker{}})
	kit.Spawn(b.Context(), s, "Echo", echo{})
	all := conversations()
	all["(a bare ask, no conversation)"] = bareAsk
	for _, name := range slices.Sorted(maps.Keys(all)) {
		hold := all[name]
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(32)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := hold(b.Context(), from, ids); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "conversations/s")
		})
	}
}
