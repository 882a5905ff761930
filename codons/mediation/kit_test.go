package mediation_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/mediation"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// brokerOf returns a broker that knows those agents.
func brokerOf(ids ...p.AgentID) *mediation.Broker {
	return &mediation.Broker{Agents: func(context.Context) ([]p.AgentID, error) { return ids, nil }}
}

// debugging returns a PROXY for agents that debug.
func debugging(want mediation.Want) mediation.Proxy {
	return mediation.Proxy{Capabilities: []string{"debugging"}, Want: want, Task: kit.Task()}
}

// receiver is a designated receiver. It calls handle, if set, and records the deliveries.
type receiver struct {
	handle func(context.Context, mediation.Delivery) error
	mu     sync.Mutex
	got    []mediation.Delivery
}

// Describe returns no capabilities.
func (*receiver) Describe() p.Capabilities { return p.Capabilities{} }

// HandleDelivery records the delivery and calls handle.
func (r *receiver) HandleDelivery(ctx context.Context, d mediation.Delivery) error {
	r.mu.Lock()
	r.got = append(r.got, d)
	r.mu.Unlock()
	if r.handle == nil {
		return nil
	}
	return r.handle(ctx, d)
}

// deliveries returns the deliveries so far.
func (r *receiver) deliveries() []mediation.Delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// deliveryLines returns a line for each delivery, sorted.
func deliveryLines(ds []mediation.Delivery) []string {
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

// toReceiver returns a PROXY whose designated receiver is the agent Receiver.
func toReceiver(want mediation.Want) mediation.Proxy {
	q := debugging(want)
	q.Receiver = "Receiver"
	return q
}

// succeeding returns a worker whose result has that summary.
func succeeding(summary string) *kit.Worker {
	return &kit.Worker{Perform: func(context.Context, delegation.Task) (p.InformResult, error) {
		return p.InformResult{Status: p.StatusSuccess, Summary: summary}, nil
	}}
}

// wantLines compares two lists of lines.
func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}
