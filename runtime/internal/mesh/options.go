package mesh

import (
	"crypto/tls"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	nodelink "github.com/ribosome-agents/ribosome/cluster/link"
	"github.com/ribosome-agents/ribosome/cluster/membership"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/grpc"
)

// Options are those of package runtime's ClusterOptions, which has checked them.
type Options struct {
	Gossip, Advertise string
	Join              []string
	JoinTime          time.Duration
	Profile           membership.Profile
	Keys              [][]byte
	Labels            map[string]string
	Links             string
	Accept            func(serve func(*grpc.LinkStream))
	TLS               *tls.Config
	LinkTimeout       time.Duration

	Network Network // nil: the real one
}

// Network makes the parts of a cluster that reach other nodes. A simulation has another one.
type Network interface {
	Membership(membership.Options) (Joiner, error)
	Links(nodelink.LinksOptions) (NodeLinks, error)
}

// Kind is that of package runtime, which has checked it. The durations have no defaults.
type Kind struct {
	New            func(id performatives.AgentID) actors.Agent
	Singleton      bool
	Idle, MoveTime time.Duration
	MinMembers     int
	Labels         map[string]string
	Spawn          []func(*actors.Spec)
}

// kind is a registered [Kind].
type kind struct {
	Kind
	name  string // folded
	hosts bool   // this node may run its agents
}
