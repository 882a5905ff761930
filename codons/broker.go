package codons

import (
	"context"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// DefaultPatience is how long a [Broker] waits for agents to say what they can do.
const DefaultPatience = 2 * time.Second

// Broker is a ready-made [Mediator], a broker and a recruiter: it asks the agents
// that it knows what they can do (the Whispering Wind, [WhisperAll]), and mediates
// to those that match. It has no state, so it may be spawned again and again; its
// fields must not be changed once it is.
type Broker struct {
	// Agents returns the agents that it knows, such as all of a directory. It runs
	// on a goroutine of the conversation. Nil means that it knows those that a
	// [Proxy] names, and no others.
	Agents func(ctx context.Context) ([]performatives.AgentID, error)
	// Admit decides for whom and for what it mediates, as
	// [Mediator].ConsiderProxy does. Nil admits all.
	Admit func(ctx context.Context, q Proxied) error
	// Describes is what it says that it can do itself.
	Describes performatives.Capabilities
	// Patience is how long it waits for agents to say what they can do; who does not
	// is no candidate. It is at most a quarter of the time that there is. Zero means
	// DefaultPatience.
	Patience time.Duration
}

// Describe returns what the broker can do itself.
func (b *Broker) Describe() performatives.Capabilities { return b.Describes }

// ConsiderProxy decides as Admit does.
func (b *Broker) ConsiderProxy(ctx context.Context, q Proxied) error {
	if b.Admit == nil {
		return nil
	}
	return b.Admit(ctx, q)
}

// FindAgents returns those that match, the best first: see [WhisperAll]. Where no
// capabilities are wanted, they are those that q names, unasked.
func (b *Broker) FindAgents(ctx context.Context, q Proxied) ([]performatives.AgentID, error) {
	known, err := b.known(ctx, q)
	if err != nil || len(q.Capabilities) == 0 {
		return known, err
	}
	ctx, cancel := context.WithTimeout(ctx, b.patience(ctx))
	defer cancel()
	candidates, err := WhisperAll(ctx, q.Agent, known, performatives.QueryCapabilities{
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

// known returns whom to ask what they can do.
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
		if q.suits(id, false) {
			known = append(known, id)
		}
	}
	return known, nil
}

func (b *Broker) patience(ctx context.Context) time.Duration {
	patience := b.Patience
	if patience <= 0 {
		patience = DefaultPatience
	}
	if by, ok := ctx.Deadline(); ok {
		patience = min(patience, time.Until(by)/4)
	}
	return patience
}
