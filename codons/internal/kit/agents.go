package kit

import (
	"context"

	"github.com/ribosome-agents/ribosome/codons/request"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// Plain is an agent without capabilities that runs at most 4 handlers of a codon at a time.
type Plain struct{}

// MaxTasks returns 4.
func (Plain) MaxTasks() int { return 4 }

// Describe returns no capabilities.
func (Plain) Describe() p.Capabilities { return p.Capabilities{} }

// RequestHandler answers requests by a function.
type RequestHandler struct {
	Handle func(context.Context, request.Requested) (any, error)
}

// Describe returns no capabilities.
func (*RequestHandler) Describe() p.Capabilities { return p.Capabilities{} }

// HandleRequest calls Handle.
func (h *RequestHandler) HandleRequest(ctx context.Context, r request.Requested) (any, error) {
	return h.Handle(ctx, r)
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

// Summary asks for the summary of the capabilities.
var Summary = p.QueryCapabilities{Type: p.QuerySummary}

// Details asks for the details of an action.
func Details(action string) p.QueryCapabilities {
	return p.QueryCapabilities{Type: p.QueryActionDetails, Parameters: p.QueryParameters{ActionName: action}}
}
