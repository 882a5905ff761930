package swarm

import (
	"context"
	"fmt"
	"slices"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// Name is what a node hosts the swarm by.
const Name = "eddyjules"

// The agents of the swarm.
const (
	EddyID  performatives.AgentID = "Eddy"
	JulesID performatives.AgentID = "Jules"
	ElizaID performatives.AgentID = "Eliza"
)

// Options configures the swarm. The zero value works.
type Options struct {
	// Brain is what Jules debugs with. Nil means [Offline].
	Brain Debugger

	// Replace has agents of your own take the place of the swarm's, by the id of
	// the one that goes. Each function makes a value, anew when the agent restarts;
	// nil leaves the agent out. An id that no agent of the swarm has is an error of
	// the hosting; spawn what comes on top on the node itself.
	Replace map[performatives.AgentID]func() actors.Agent
}

// New returns the swarm, for a node to host.
func New(o Options) runtime.Swarm {
	if o.Brain == nil {
		o.Brain = Offline{}
	}
	return runtime.Swarm{
		Name:    Name,
		Purpose: "Eddy delegates a failing Python script to Jules, who debugs it",
		Spawn:   o.spawn,
	}
}

// member is an agent that is to be spawned; one without new stays away.
type member struct {
	id  performatives.AgentID
	new func() actors.Agent
}

func (o Options) members(n *runtime.Node) ([]member, error) {
	all := []member{
		{EddyID, func() actors.Agent { return &Eddy{Colleagues: n.Directory().IDs} }},
		{JulesID, func() actors.Agent { return &Jules{Brain: o.Brain} }},
		{ElizaID, func() actors.Agent { return Eliza{} }},
	}
	for id, create := range o.Replace {
		i := slices.IndexFunc(all, func(m member) bool { return m.id.Is(id) })
		if i < 0 {
			return nil, fmt.Errorf("swarm: Options.Replace: there is no agent %q to replace", id)
		}
		all[i].new = create
	}
	return slices.DeleteFunc(all, func(m member) bool { return m.new == nil }), nil
}

// spawn starts all agents, or none.
func (o Options) spawn(ctx context.Context, n *runtime.Node) error {
	members, err := o.members(n)
	if err != nil {
		return err
	}
	for i, m := range members {
		if err := n.Spawn(ctx, m.id, m.new); err != nil {
			for _, started := range members[:i] {
				_ = n.StopAgent(context.WithoutCancel(ctx), started.id) // idle: nothing can keep it
			}
			return fmt.Errorf("%s: %w", m.id, err)
		}
	}
	return nil
}
