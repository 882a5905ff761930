package runtime

import (
	"context"
	"fmt"
	"strings"
)

// Swarm is a named set of cooperating agents that a node can run.
type Swarm struct {
	Name    string                             // for example "eddyjules"
	Purpose string                             // one line of description
	Spawn   func(context.Context, *Node) error // starts the agents
}

// Swarms are the swarms that a program offers.
type Swarms []Swarm

// Host starts the agents of the named swarm on n. For an unknown name, the error lists
// the known ones.
func (s Swarms) Host(ctx context.Context, n *Node, name string) error {
	for _, swarm := range s {
		if swarm.Name == name {
			if err := swarm.Spawn(ctx, n); err != nil {
				return fmt.Errorf("runtime: swarm %q: %w", name, err)
			}
			return nil
		}
	}
	return fmt.Errorf("runtime: there is no swarm %q; there is %s", name, strings.Join(s.Names(), ", "))
}

// Names returns the names of the swarms, in their order.
func (s Swarms) Names() []string {
	names := make([]string, len(s))
	for i, swarm := range s {
		names[i] = swarm.Name
	}
	return names
}
