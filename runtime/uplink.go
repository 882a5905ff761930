package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/runtime/internal/sessions"
	"github.com/ribosome-agents/ribosome/wire"
)

var (
	// ErrUplink is returned by [Node.Uplink] when the node has an uplink.
	ErrUplink = errors.New("runtime: the node has an uplink already")
	// ErrConnected is returned by [Uplink.Connect] while there is a session.
	ErrConnected = sessions.ErrConnected
	// ErrUplinkStopped is returned by [Uplink.Connect] after [Uplink.Stop].
	ErrUplinkStopped = sessions.ErrUplinkStopped
)

// UplinkOptions configures an [Uplink]. Dial is required.
type UplinkOptions struct {
	// Dial opens a session with the far node, with h as its handler. It is called for
	// each connection.
	Dial func(ctx context.Context, h wire.Handler) (*wire.Session, error)

	// Introduce announces each visible agent of this node to the far node until the agent
	// stops, so that agents there can find it and delegate to it. Without it, agents of
	// this node are not visible there, but they can still reply.
	Introduce bool

	// Backoff is the delay between attempts of [Uplink.Run]. The zero value means the
	// zero [actors.Backoff] with a Jitter of one half.
	Backoff actors.Backoff

	// MaxOpen, MaxBytes, Grace and Patience have the meaning of the fields of
	// [PeerOptions].
	MaxOpen, MaxBytes int
	Grace, Patience   time.Duration
}

func (o UplinkOptions) peerOptions() (PeerOptions, error) {
	return PeerOptions{MaxOpen: o.MaxOpen, MaxBytes: o.MaxBytes, Grace: o.Grace, Patience: o.Patience}.withDefaults()
}

// Uplink connects a node to another node by a session that this end opens. It is the destination of
// the ids that are unknown on this node, including namespaces. That includes an agent that has
// stopped here and lives elsewhere now. Without a session, messages to them are refused at once.
// When a session is lost, pending requests over it fail, and conversations lose their peers. A node
// has one uplink at most.
//
// The node's own name, which [Node.Delegate] and [Node.Ask] use as sender, must be unique
// among the agents of the far node, including the far node's own name. Broadcasts stay on
// this node.
type Uplink struct{ up *sessions.Uplink }

// Uplink creates the node's uplink, which is not connected yet. Its owner must call
// [Uplink.Stop], after Node.Stop, so that the node's final messages are sent. The error
// names the invalid option or is ErrUplink.
func (n *Node) Uplink(o UplinkOptions) (*Uplink, error) {
	if o.Dial == nil {
		return nil, errors.New("runtime: UplinkOptions.Dial is nil")
	}
	peers, err := o.peerOptions()
	if err != nil {
		return nil, fmt.Errorf("runtime: UplinkOptions: %w", err)
	}
	if o.Backoff == (actors.Backoff{}) {
		o.Backoff.Jitter = 0.5
	}
	u := n.sessions.NewUplink(sessions.UplinkOptions{Dial: o.Dial, Introduce: o.Introduce, Backoff: o.Backoff, Limits: peers.limits()})
	if u == nil {
		return nil, ErrUplink
	}
	return &Uplink{u}, nil
}

// Connect makes one attempt to open a session. The error is that of Dial, ErrConnected or
// ErrUplinkStopped.
func (u *Uplink) Connect(ctx context.Context) error {
	_, err := u.up.Connect(ctx)
	return err
}

// Run keeps the uplink connected until ctx ends. It reconnects when a session is lost. The delay
// grows with each failed attempt, and with each session ended by an error of the far node, such as
// that another connection speaks for this node's agents. It returns nil when ctx has ended or the
// uplink has stopped, and ErrConnected when there is a session already. The session stays open
// until [Uplink.Stop].
func (u *Uplink) Run(ctx context.Context) error { return u.up.Run(ctx) }

// Connected reports whether there is a session.
func (u *Uplink) Connected() bool { return u.up.Connected() }

// Stop closes the session and waits until it has ended. No further session can be opened.
// When ctx ends first, Stop aborts the session and returns the cause. Further calls are
// harmless.
func (u *Uplink) Stop(ctx context.Context) error { return u.up.Stop(ctx) }
