package kit

import (
	"context"
	"slices"
	"sync"

	"github.com/ribosome-agents/ribosome/codons/mediation"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// Knows returns a broker that knows those agents.
func Knows(ids ...p.AgentID) *mediation.Broker {
	return &mediation.Broker{Agents: func(context.Context) ([]p.AgentID, error) { return ids, nil }}
}

// Debuggers returns a PROXY for agents that debug.
func Debuggers(want mediation.Want) mediation.Proxy {
	return mediation.Proxy{Capabilities: []string{"debugging"}, Want: want, Task: Task()}
}

// Porch is a designated receiver. It calls Handle, if set, and records the deliveries.
type Porch struct {
	Handle func(context.Context, mediation.Delivery) error
	mu     sync.Mutex
	got    []mediation.Delivery
}

// Describe returns no capabilities.
func (*Porch) Describe() p.Capabilities { return p.Capabilities{} }

// HandleDelivery records the delivery and calls Handle.
func (o *Porch) HandleDelivery(ctx context.Context, d mediation.Delivery) error {
	o.mu.Lock()
	o.got = append(o.got, d)
	o.mu.Unlock()
	if o.Handle == nil {
		return nil
	}
	return o.Handle(ctx, d)
}

// Deliveries returns the deliveries so far.
func (o *Porch) Deliveries() []mediation.Delivery {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.got)
}

// Brought returns a line for each delivery, sorted.
func Brought(ds []mediation.Delivery) []string {
	var all []string
	for _, d := range ds {
		if d.Err != nil {
			all = append(all, string(d.Recruit)+" failed: "+string(d.Err.Code))
			continue
		}
		all = append(all, string(d.Recruit)+": "+d.Result.Summary)
	}
	slices.Sort(all)
	return all
}

// ToPorch returns a PROXY whose designated receiver is the agent Porch.
func ToPorch(want mediation.Want) mediation.Proxy {
	q := Debuggers(want)
	q.Receiver = "Porch"
	return q
}
