package mediation

import (
	"cmp"
	"context"
	"time"

	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/performatives"
)

// DefaultPatience is the default of [Broker.Patience].
const DefaultPatience = 2 * time.Second

// Broker is a ready-made [Mediator], both broker and recruiter. It asks the agents that it knows
// for their capabilities ([discovery.WhisperAll]) and finds those that match. It has no state,
// so one value may run as several agents. Its fields must not change after an agent has
// started.
type Broker struct {
	// Agents returns the agents that the broker knows, for example all of a directory. It
	// runs on a goroutine of the conversation. Nil means that it knows only the agents that
	// a [Proxy] names.
	Agents func(ctx context.Context) ([]performatives.AgentID, error)
	// Admit decides which proxies the broker serves, as [Mediator].ConsiderProxy. Nil admits
	// all.
	Admit func(ctx context.Context, q Proxied) error
	// Describes is the broker's own description.
	Describes performatives.Capabilities
	// Patience is the time that agents have to report their capabilities, and at most a
	// quarter of the time left. An agent that does not answer in it is not asked. Zero
	// means DefaultPatience.
	Patience time.Duration
}

// Describe returns Describes.
func (b *Broker) Describe() performatives.Capabilities { return b.Describes }

// ConsiderProxy decides as Admit does.
func (b *Broker) ConsiderProxy(ctx context.Context, q Proxied) error {
	if b.Admit == nil {
		return nil
	}
	return b.Admit(ctx, q)
}

// FindAgents returns the agents that match, in the order of [discovery.WhisperAll]. If q wants no
// capabilities, it returns the agents that q names without asking them.
func (b *Broker) FindAgents(ctx context.Context, q Proxied) ([]performatives.AgentID, error) {
	known, err := b.known(ctx, q)
	if err != nil || len(q.Capabilities) == 0 {
		return known, err
	}
	ctx, cancel := context.WithTimeout(ctx, b.patience(ctx))
	defer cancel()
	candidates, err := discovery.WhisperAll(ctx, q.Agent, known, performatives.QueryCapabilities{
		Type:       performatives.QuerySpecific,
		Parameters: performatives.QueryParameters{Capabilities: q.Capabilities, MatchType: q.Match},
	})
	if err != nil {
		return nil, err
	}
	var found []performatives.AgentID
	for _, c := range candidates {
		if c.Match {
			found = append(found, c.Agent)
		}
	}
	return found, nil
}

// known returns the agents to ask for their capabilities.
func (b *Broker) known(ctx context.Context, q Proxied) ([]performatives.AgentID, error) {
	if b.Agents == nil {
		return q.Proxy.Agents, nil
	}
	all, err := b.Agents(ctx)
	if err != nil {
		return nil, err
	}
	var known []performatives.AgentID
	for _, id := range all {
		if q.admits(id, false) {
			known = append(known, id)
		}
	}
	return known, nil
}

func (b *Broker) patience(ctx context.Context) time.Duration {
	patience := b.Patience
	patience = cmp.Or(max(patience, 0), DefaultPatience)
	if by, ok := ctx.Deadline(); ok {
		patience = min(patience, time.Until(by)/4)
	}
	return patience
}
