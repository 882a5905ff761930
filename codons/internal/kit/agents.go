package kit

import (
	"context"
	"fmt"

	"github.com/ribosome-agents/ribosome/codons/approval"
	"github.com/ribosome-agents/ribosome/codons/contractnet"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/codons/query"
	"github.com/ribosome-agents/ribosome/codons/request"
	"github.com/ribosome-agents/ribosome/codons/tool"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// Plain is an agent without capabilities that runs at most 4 handlers of a codon at a time.
type Plain struct{}

// MaxTasks returns 4.
func (Plain) MaxTasks() int { return 4 }

// Describe returns no capabilities.
func (Plain) Describe() p.Capabilities { return p.Capabilities{} }

// Boss is an approver that decides by a function.
type Boss struct {
	Plain
	Decide func(context.Context, approval.ProposedStep) (approval.Verdict, error)
}

// DecideStep calls Decide.
func (b *Boss) DecideStep(ctx context.Context, s approval.ProposedStep) (approval.Verdict, error) {
	return b.Decide(ctx, s)
}

// Deletion is a step that needs an approval.
var Deletion = approval.Step{What: "delete the archive", Why: "the disk is full", Data: p.ContentOf([]string{"a", "b"})}

// Council answers proposals by a function.
type Council struct {
	Plain
	Consider func(context.Context, approval.Proposed) (approval.Verdict, error)
}

// ConsiderProposal calls Consider.
func (c *Council) ConsiderProposal(ctx context.Context, q approval.Proposed) (approval.Verdict, error) {
	return c.Consider(ctx, q)
}

// Plan is the content of a proposal.
type Plan struct {
	Build string `json:"build"`
}

// Thrifty accepts the plan of a bench and no other.
func Thrifty(_ context.Context, q approval.Proposed) (approval.Verdict, error) {
	wanted, err := p.PayloadAs[Plan](q.Message)
	return approval.Verdict{Accepted: wanted.Build == "a bench", Reason: "of " + wanted.Build}, err
}

// Host answers handshakes by a function.
type Host struct {
	Plain
	Consider func(context.Context, discovery.Greeting) error
}

// ConsiderHandshake calls Consider.
func (h *Host) ConsiderHandshake(ctx context.Context, g discovery.Greeting) error {
	return h.Consider(ctx, g)
}

// Observatory answers queries of both kinds by functions.
type Observatory struct {
	Plain
	Truth func(query.AskedIf) (bool, error)
	Value func(query.AskedRef) (any, error)
}

// HandleQueryIf calls Truth.
func (o *Observatory) HandleQueryIf(_ context.Context, q query.AskedIf) (bool, error) {
	return o.Truth(q)
}

// HandleQueryRef calls Value.
func (o *Observatory) HandleQueryRef(_ context.Context, q query.AskedRef) (any, error) {
	return o.Value(q)
}

// Shop answers requests by a function.
type Shop struct {
	Handle func(context.Context, request.Requested) (any, error)
}

// Describe returns no capabilities.
func (*Shop) Describe() p.Capabilities { return p.Capabilities{} }

// HandleRequest calls Handle.
func (s *Shop) HandleRequest(ctx context.Context, r request.Requested) (any, error) {
	return s.Handle(ctx, r)
}

type (
	// Order is the content of a request.
	Order struct {
		Item string `json:"item"`
	}
	// Bill is the answer to an [Order].
	Bill struct {
		Price int `json:"price"`
	}
)

// Clerk is an agent that books seats.
type Clerk struct{ Poet }

// HandleRequest books up to 4 seats.
func (Clerk) HandleRequest(_ context.Context, r request.Requested) (any, error) {
	b, err := p.PayloadAs[Booking](r.Message)
	switch {
	case err != nil:
		return nil, err // NOT_UNDERSTOOD, with the reason
	case b.Seats > 4:
		return nil, &p.Refusal{Code: p.CodeForbidden, Text: "at most 4 seats"} // REFUSE
	}
	return Ticket{Number: b.To + "-1"}, nil
}

type (
	// Booking is the content of a request to a [Clerk].
	Booking struct {
		To    string `json:"to"`
		Seats int    `json:"seats"`
	}
	// Ticket is the answer to a [Booking].
	Ticket struct {
		Number string `json:"number"`
	}
)

// Sprinkler answers request-when by functions. Without them it agrees, the condition holds at once,
// and the answer is a [Bill].
type Sprinkler struct {
	Plain
	Consider func(context.Context, request.RequestedWhen) error
	Await    func(context.Context, request.RequestedWhen) error
	Perform  func(context.Context, request.RequestedWhen) (any, error)
}

// ConsiderWhen calls Consider.
func (g *Sprinkler) ConsiderWhen(ctx context.Context, r request.RequestedWhen) error {
	if g.Consider == nil {
		return nil
	}
	return g.Consider(ctx, r)
}

// AwaitCondition calls Await.
func (g *Sprinkler) AwaitCondition(ctx context.Context, r request.RequestedWhen) error {
	if g.Await == nil {
		return nil
	}
	return g.Await(ctx, r)
}

// PerformWhen calls Perform.
func (g *Sprinkler) PerformWhen(ctx context.Context, r request.RequestedWhen) (any, error) {
	if g.Perform == nil {
		return Bill{3}, nil
	}
	return g.Perform(ctx, r)
}

// Sowing returns a request with a condition.
func Sowing() request.When {
	return request.When{Condition: p.ContentOf("it rains"), Action: p.ContentOf(Order{"seeds"})}
}

// Painter is an agent that paints walls for a price per square metre.
type Painter struct {
	Poet
	Rate float64
}

// ConsiderCall bids for walls up to 50 metres.
func (a Painter) ConsiderCall(_ context.Context, c contractnet.Called) (contractnet.Proposal, error) {
	wall, err := p.Decode[struct{ Metres float64 }](c.Task.Parameters)
	switch {
	case err != nil:
		return contractnet.Proposal{}, err // NOT_UNDERSTOOD, with the reason
	case wall.Metres > 50:
		return contractnet.Proposal{}, &p.Refusal{Code: p.CodeIncapable, Text: "my ladder is too short"} // REFUSE
	}
	return contractnet.Proposal{Cost: a.Rate * wall.Metres}, nil
}

// PerformAward returns the price.
func (a Painter) PerformAward(_ context.Context, w contractnet.Awarded) (p.InformResult, error) {
	return p.InformResult{Status: p.StatusSuccess, Summary: fmt.Sprintf("painted for %v", w.Proposal.Cost)}, nil
}

// Calculator is an agent with the tools of a [tool.Tools].
type Calculator struct{ *tool.Tools }

// NewCalculator returns an agent with the tool "add".
func NewCalculator() Calculator {
	add, err := tool.New("add", "adds two numbers", func(_ context.Context, in Terms) (Sum, error) {
		return Sum{in.A + in.B}, nil
	})
	if err != nil {
		panic(err)
	}
	tools, err := tool.NewSet(add)
	if err != nil {
		panic(err)
	}
	return Calculator{tools}
}

type (
	// Terms are the arguments of a tool.
	Terms struct {
		A int `json:"a"`
		B int `json:"b" jsonschema:"what is added"`
	}
	// Sum is the result of a tool.
	Sum struct {
		Sum int `json:"sum"`
	}
)

// Summary asks for the summary of the capabilities.
var Summary = p.QueryCapabilities{Type: p.QuerySummary}

// Details asks for the details of an action.
func Details(action string) p.QueryCapabilities {
	return p.QueryCapabilities{Type: p.QueryActionDetails, Parameters: p.QueryParameters{ActionName: action}}
}
