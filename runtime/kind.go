package runtime

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/cluster/placement"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/mesh"
)

// Kind describes agents that the nodes of a cluster place. The id of an agent is the name of its
// kind, a slash and any further text, such as reviewer/alice: see [Node.RegisterKind]. New is
// required.
//
// Placement is best effort, the first of the levels that docs/cluster.md names. While the cluster
// is connected, one agent runs under an id, besides the moments in which nodes have not yet heard
// of one another's. During a partition each side may run one. Once it heals, the one that began
// later stops, and says so: see [AgentContested]. What an agent does outside can be fenced by its
// activation: see [performatives.Message.Activation].
type Kind struct {
	// New creates the value of the agent with that id, at each activation and each restart.
	New func(id performatives.AgentID) actors.Agent

	// Singleton means that there is one agent of the kind, whose id is the name of the kind. It is
	// activated without a message, as soon as a node hosts the kind.
	Singleton bool

	// Idle is how long an agent stays in memory without a conversation or message, up to twice as
	// long. Its next message activates it again. An agent that is [actors.Movable] continues with
	// its state, which stays in the memory of the node. Zero means DefaultIdle, and a negative
	// value that it stays. A singleton always stays.
	Idle time.Duration

	// MoveTime is how long the conversations of an agent that moves to another node may go on.
	// Those that are left fail with [performatives.CodeMoved]. Zero means DefaultMoveTime.
	// [Node.Drain] has a time of its own.
	MoveTime time.Duration

	// MinMembers is how many members of the cluster a node must see, itself included, to activate
	// an agent. In a partition a side with fewer refuses. That makes two agents of one id rarer,
	// and does not rule them out. Zero means 1.
	MinMembers int

	// Labels are those that a node must have to host the kind: see [ClusterOptions].Labels. Other
	// nodes know the kind and send messages for its agents to those. Nil means that each node may.
	Labels map[string]string

	// Spawn are options of each agent.
	Spawn []SpawnOption
}

// The defaults of [Kind].
const (
	DefaultIdle     = 10 * time.Minute
	DefaultMoveTime = 10 * time.Second
)

func (k *Kind) validate(name string) error {
	switch {
	case name == "":
		return errors.New("the name is empty")
	case strings.Contains(name, placement.Separator):
		return fmt.Errorf("the name %.64q contains %q, which is between it and the rest of an agent's id", name, placement.Separator)
	case k.New == nil:
		return errors.New("Kind.New is nil")
	case k.MoveTime < 0:
		return fmt.Errorf("Kind.MoveTime is %v", k.MoveTime)
	case k.MinMembers < 0:
		return fmt.Errorf("Kind.MinMembers is %d", k.MinMembers)
	}
	return nil
}

// RegisterKind registers a kind of agents. If the node has the labels of the kind, it hosts the
// kind. Names are compared case-insensitively, and all nodes should describe a kind alike. Of the
// nodes that host the kind, rendezvous hashing picks one for each agent. The first message for the
// agent activates it there, and each node sends its messages there. When nodes come or go, those
// agents move for which another node is picked. A moving agent opens no new conversation, its open
// ones have [Kind].MoveTime, and the messages that wait for it are handed over. A node without a
// cluster runs all agents itself.
//
// The level of the placement is logged. The error names the invalid field of the kind, or is
// [actors.ErrExists].
func (n *Node) RegisterKind(name string, k Kind) error {
	if err := k.validate(name); err != nil {
		return fmt.Errorf("runtime: register the kind %.64q: %w", name, err)
	}
	k.Idle, k.MoveTime = cmp.Or(k.Idle, DefaultIdle), cmp.Or(k.MoveTime, DefaultMoveTime)
	if err := n.mesh.Register(name, mesh.Kind(k)); err != nil {
		return fmt.Errorf("runtime: register the kind %.64q: %w", name, err)
	}
	return nil
}
