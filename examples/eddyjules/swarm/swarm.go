package swarm

import (
	"context"
	"fmt"
	"slices"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// Name is the name by which a node hosts the swarm.
const Name = "eddyjules"

// The ids of the swarm's agents.
const (
	EddyID  performatives.AgentID = "Eddy"
	JulesID performatives.AgentID = "Jules"
	ElizaID performatives.AgentID = "Eliza"
)

// Options configures the swarm. The zero value works.
type Options struct {
	// Brain is the Debugger of Jules. Nil means [Offline].
	Brain Debugger

	// CodeRoot is the folder in which files are read whose paths come in place of code (acl §4.1).
	// Empty means that no file is read.
	CodeRoot string

	// Replace replaces agents of the swarm, by their ids. The node calls a function at
	// the start and at each restart of the agent; nil omits the agent. Hosting fails for
	// an id that is not in the swarm. Spawn additional agents on the node itself.
	Replace map[performatives.AgentID]func() actors.Agent
}

// New returns the swarm for a node to host, by [runtime.Swarms.Host].
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

// member is an agent of the swarm. One without new is omitted.
type member struct {
	id  performatives.AgentID
	new func() actors.Agent
}

func (o Options) members(n *runtime.Node) ([]member, error) {
	all := []member{
		{EddyID, func() actors.Agent { return &Eddy{Colleagues: n.Directory().IDs, CodeRoot: o.CodeRoot} }},
		{JulesID, func() actors.Agent { return &Jules{Brain: o.Brain, CodeRoot: o.CodeRoot} }},
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
				_ = n.StopAgent(context.WithoutCancel(ctx), started.id) // an idle agent stops at once
			}
			return fmt.Errorf("%s: %w", m.id, err)
		}
	}
	return nil
}
