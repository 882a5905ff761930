package runtime

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/relay"
	"github.com/ribosome-agents/ribosome/runtime/internal/sessions"
	"github.com/ribosome-agents/ribosome/wire"
)

// The defaults of [PeerOptions].
const (
	DefaultPeerAgents = 64
	DefaultPeerOpen   = 65_536
	DefaultPeerBytes  = 256 << 20
	DefaultDrainTime  = 10 * time.Second
)

// PeerOptions configures [Peers]. The zero value works.
type PeerOptions struct {
	// MaxAgents is the largest number of agents of one session. Zero means
	// [DefaultPeerAgents]. A further agent replaces one that has withdrawn its
	// capabilities, or is refused as busy.
	MaxAgents int
	// MaxOpen is the largest number of open conversations of one session, in both
	// directions together. Zero means [DefaultPeerOpen]. Further requests are refused as
	// busy.
	MaxOpen int
	// MaxBytes is the largest total size, in bytes, of the long requests of open
	// conversations. A long request has 4 KiB or more. A request larger than MaxBytes is
	// accepted when there is no other. Zero means [DefaultPeerBytes]. Further long
	// requests are refused as busy.
	MaxBytes int
	// Grace is the time for the agent of a session to answer the CANCEL of another node, after the
	// ReplyBy of that node's request. At its end this node ends the request, and the agent gets
	// CANCEL if the other node has sent none. The asker is told at the ReplyBy, by its own node,
	// and has no grace: an asker of this node gets FAILURE then, and what the agent still sends is
	// late. Zero means twice [codons.DefaultGrace].
	Grace time.Duration
	// Patience is the time, from its arrival, in which a local agent may reply to a
	// peer's request without a ReplyBy. It must be longer than the limits of
	// Options.Times. Zero means twice [codons.DefaultDeadline].
	Patience time.Duration
	// Operators are the principals that may have the node drain: see [Peers.Drained]. Each covers
	// itself and the ids below it, and * covers every peer that may connect, with or without
	// authentication. Without operators, no peer may have the node drain.
	Operators []performatives.AgentID
	// Health returns the health of an agent, which the namespace system tells peers; it is false
	// for one that does not exist. Nil means [Node.Health], which has no figures but those that
	// agents of sessions report. Package observe's Recorder.Health and HealthCounter.Health have
	// them of all. It is called by several goroutines.
	Health func(performatives.AgentID) (Health, bool)
	// DrainTime is how long the node may take to hand over its agents for an operator. Zero means
	// [DefaultDrainTime].
	DrainTime time.Duration
}

func (o PeerOptions) withDefaults() (PeerOptions, error) {
	err := cmp.Or(
		orDefault("MaxAgents", &o.MaxAgents, DefaultPeerAgents),
		orDefault("MaxOpen", &o.MaxOpen, DefaultPeerOpen),
		orDefault("MaxBytes", &o.MaxBytes, DefaultPeerBytes),
		orDefault("Grace", &o.Grace, 2*codons.DefaultGrace),
		orDefault("Patience", &o.Patience, relay.DefaultPatience),
		orDefault("DrainTime", &o.DrainTime, DefaultDrainTime),
	)
	if err == nil && slices.Contains(o.Operators, "") {
		err = errors.New("runtime: PeerOptions.Operators has an empty name")
	}
	return o, err
}

// orDefault sets a field that is zero to its default. The error is that it is negative.
func orDefault[T int | time.Duration](name string, field *T, value T) error {
	if *field < 0 {
		return fmt.Errorf("runtime: PeerOptions.%s is %v", name, *field)
	}
	*field = cmp.Or(*field, value)
	return nil
}

// limits returns the bounds of a session.
func (o PeerOptions) limits() relay.Limits {
	return relay.Limits{Open: o.MaxOpen, Bytes: o.MaxBytes, Grace: o.Grace, Patience: o.Patience}
}

// Peers is the [wire.Handler] of a server's sessions. It makes the agents of other processes agents
// of a node: each sender id of a session is an entry of the node's directory, whose destination is
// the session, until the session ends. Discovery excludes it until the peer introduces itself by a
// QUERY_CAPABILITIES with its own Capabilities. Other agents can then find it and delegate to it.
// Empty Capabilities hide it again.
//
// A request of a peer that an agent of the node answers in its Receive, and a request to another
// peer, has an end: at its deadline and at the end of a session, the asker gets FAILURE and the
// agent that is asked CANCEL. A conversation of an agent of the node has its codon's.
//
// A sender that only asks is a guest: the node knows it under an id of its own, such as
// vscode-user/client-7@n1, so that several sessions may send as vscode-user, each with its own
// answers. A session owns an id once it has introduced itself under it, with capabilities or with
// empty ones, or has sent a sealed message. Only an owned id can be addressed by others.
//
// A session that registers an id which an older session owns replaces that session: the older one
// is closed, and a warning is logged. What the agent has asked goes on, and its answers come over
// the session that owns the id then, also at another node. What it works on ends as if the
// connection was lost. With authentication, only a session of the same principal replaces another.
// No session can send as an agent that runs on the node itself.
type Peers struct {
	*peers
	node    *Node
	opts    PeerOptions
	drain   sync.Once
	drained chan struct{}
}

type peers = sessions.Peers

var (
	_ wire.HostHandler = (*Peers)(nil)
	_ wire.ToolHandler = (*Peers)(nil)
)

// NewPeers returns the handler of a server for node. The error names the invalid option.
// Peers has no Stop: stop the server, and then the node.
func NewPeers(node *Node, o PeerOptions) (*Peers, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if o.Health == nil {
		o.Health = node.Health
	}
	p := &Peers{node: node, opts: o, drained: make(chan struct{})}
	p.peers = node.sessions.NewPeers(sessions.PeerOptions{
		MaxAgents: o.MaxAgents, Limits: o.limits(), Operate: p.operate,
		Health: func(id performatives.AgentID) (any, bool) { return o.Health(id) },
	})
	return p, nil
}
