package runtime

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/namespace"
	"github.com/ribosome-agents/ribosome/runtime/internal/relay"
	"github.com/ribosome-agents/ribosome/wire"
)

var (
	// ErrUplink is returned by [Node.Uplink] when another uplink of the node has one of the names,
	// or both have none.
	ErrUplink = errors.New("runtime: the node has an uplink for that already")
	// ErrConnected is returned by [Uplink.Connect] while there is a session.
	ErrConnected = errors.New("runtime: the uplink is connected already")
	// ErrUplinkStopped is returned by [Uplink.Connect] after [Uplink.Stop].
	ErrUplinkStopped = errors.New("runtime: the uplink has stopped")
)

// UplinkOptions configures an [Uplink]. Dial is required.
type UplinkOptions struct {
	// Dial opens a session with the far node, with h as its handler. It is called for
	// each connection.
	Dial func(ctx context.Context, h wire.Handler) (*wire.Session, error)

	// Names are the agents and namespaces beyond the uplink: agents whose id is one of them, or
	// begins with it and a slash. The longest name decides. The uplink without Names has all other
	// ids that are unknown on this node. The far node may send messages of these agents only.
	Names []performatives.AgentID

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

func (o UplinkOptions) withDefaults() UplinkOptions {
	if o.Backoff == (actors.Backoff{}) {
		o.Backoff.Jitter = 0.5
	}
	p := o.peerOptions().withDefaults()
	o.MaxOpen, o.MaxBytes, o.Grace, o.Patience = p.MaxOpen, p.MaxBytes, p.Grace, p.Patience
	return o
}

func (o UplinkOptions) peerOptions() PeerOptions {
	return PeerOptions{MaxOpen: o.MaxOpen, MaxBytes: o.MaxBytes, Grace: o.Grace, Patience: o.Patience}
}

// Uplink connects a node to another node by a session that this end opens. It is the destination of
// the ids that are unknown on this node, including namespaces, as [UplinkOptions].Names says. That
// includes an agent that has stopped here and lives elsewhere now. Without a session, messages to
// them are refused at once. When a session is lost, pending requests over it fail, and
// conversations lose their peers. A node may have several uplinks.
//
// The node's own name, which [Node.Delegate] and [Node.Ask] use as sender, must be unique
// among the agents of the far node, including the far node's own name. Broadcasts stay on
// this node.
type Uplink struct {
	node *Node
	opts UplinkOptions

	current atomic.Pointer[uplinkSession] // nil without a session

	mu      sync.Mutex
	dialing bool
	stopped bool
}

// uplinkSession is the link of one session of an Uplink.
type uplinkSession struct {
	*link
	uplink  *Uplink
	session *wire.Session

	mu    sync.Mutex
	asked map[string]performatives.AgentID // introductions without a reply, by message id

	introduceMu sync.Mutex                     // keeps the introductions of one agent in order
	introduced  map[performatives.AgentID]bool // by folded id; guarded by introduceMu
}

// Uplink creates the node's uplink, which is not connected yet. Its owner must call
// [Uplink.Stop], after Node.Stop, so that the node's final messages are sent. The error
// names the invalid option or is ErrUplink.
func (n *Node) Uplink(o UplinkOptions) (*Uplink, error) {
	if o.Dial == nil {
		return nil, errors.New("runtime: UplinkOptions.Dial is nil")
	}
	if err := o.peerOptions().validate(); err != nil {
		return nil, fmt.Errorf("runtime: UplinkOptions: %w", err)
	}
	u := &Uplink{node: n, opts: o.withDefaults()}
	n.handover.Lock()
	defer n.handover.Unlock()
	all := n.allUplinks()
	for _, other := range all {
		if u.overlaps(other) {
			return nil, ErrUplink
		}
	}
	all = append(slices.Clone(all), u)
	n.uplinks.Store(&all)
	return u, nil
}

// overlaps reports whether both have a name, or both have none.
func (u *Uplink) overlaps(other *Uplink) bool {
	if len(u.opts.Names) == 0 && len(other.opts.Names) == 0 {
		return true
	}
	return slices.ContainsFunc(u.opts.Names, func(name performatives.AgentID) bool {
		return slices.ContainsFunc(other.opts.Names, name.Is)
	})
}

// allUplinks returns the node's uplinks.
func (n *Node) allUplinks() []*Uplink {
	if all := n.uplinks.Load(); all != nil {
		return *all
	}
	return nil
}

// uplinkFor returns the uplink beyond which an id is that is unknown here, or nil.
func (n *Node) uplinkFor(id performatives.AgentID) *Uplink {
	var found *Uplink
	longest := -1
	for _, u := range n.allUplinks() {
		if len(u.opts.Names) == 0 && longest < 0 {
			found, longest = u, 0
		}
		for _, name := range u.opts.Names {
			if len(name) > longest && namespace.Within(string(name.Fold()), string(id.Fold())) {
				found, longest = u, len(name)
			}
		}
	}
	return found
}

// Connect makes one attempt to open a session. The error is that of Dial, ErrConnected or
// ErrUplinkStopped.
func (u *Uplink) Connect(ctx context.Context) error {
	_, err := u.connect(ctx)
	return err
}

func (u *Uplink) connect(ctx context.Context) (*wire.Session, error) {
	if err := u.begin(); err != nil {
		return nil, err
	}
	s, err := u.opts.Dial(ctx, (*uplinkHandler)(u))
	if u.dialed(s, err) {
		return nil, u.discard(ctx, s)
	}
	if err != nil {
		return nil, fmt.Errorf("runtime: uplink: %w", err)
	}
	u.introduceAll(u.linkOf(s))
	return s, nil
}

// begin marks the beginning of an attempt, so that there is only one at a time.
func (u *Uplink) begin() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.stopped:
		return ErrUplinkStopped
	case u.dialing || u.current.Load() != nil:
		return ErrConnected
	}
	u.dialing = true
	return nil
}

// dialed marks the end of an attempt. It reports whether the uplink was stopped during
// the attempt, so that the session must be discarded.
func (u *Uplink) dialed(s *wire.Session, err error) (late bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.dialing = false
	if err != nil {
		return false
	}
	if u.stopped {
		return true
	}
	if l := u.linkOfLocked(s); !l.Ended() { // the session may have ended already
		u.current.Store(l)
	}
	return false
}

// discard stops a session that was opened after Stop.
func (u *Uplink) discard(ctx context.Context, s *wire.Session) error {
	_ = s.Stop(ctx) // the session ends in any case
	return ErrUplinkStopped
}

// Run keeps the uplink connected until ctx ends. It reconnects when a session is lost. The delay
// grows with each failed attempt, and with each session ended by an error of the far node, such as
// that another connection speaks for this node's agents. It returns nil when ctx has ended or the
// uplink has stopped, and ErrConnected when there is a session already. The session stays open
// until [Uplink.Stop].
func (u *Uplink) Run(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		s, err := u.connect(ctx)
		switch {
		case errors.Is(err, ErrUplinkStopped), ctx.Err() != nil:
			return nil
		case errors.Is(err, ErrConnected):
			return err
		case err == nil:
			select {
			case <-s.Done():
			case <-ctx.Done():
				return nil
			}
			if told := new(wire.PeerError); errors.As(s.Err(), &told) {
				u.node.system.Logger().Warn("uplink ended by the far node", "attempt", attempt, "err", told)
			} else {
				attempt = 0
			}
		default:
			u.node.system.Logger().Warn("uplink not connected", "attempt", attempt, "err", err)
		}
		retry := time.NewTimer(u.opts.Backoff.Delay(max(attempt, 1), rand.Float64))
		select {
		case <-retry.C:
		case <-ctx.Done():
			retry.Stop()
			return nil
		}
	}
}

// Connected reports whether there is a session.
func (u *Uplink) Connected() bool { return u.current.Load() != nil }

// Stop closes the session and waits until it has ended. No further session can be opened.
// When ctx ends first, Stop aborts the session and returns the cause. Further calls are
// harmless.
func (u *Uplink) Stop(ctx context.Context) error {
	u.mu.Lock()
	u.stopped = true
	u.mu.Unlock()
	l := u.current.Load()
	if l == nil {
		return nil
	}
	return l.session.Stop(ctx)
}

// deliver sends a message to the far node, unless the message came from there.
func (u *Uplink) deliver(m *performatives.Message) error {
	l := u.current.Load()
	if l == nil {
		return &performatives.Refusal{
			Code: performatives.CodeStopped, About: m.ID(),
			Text: fmt.Sprintf("there is no agent %q on this node, and it is not connected to another", m.Receiver()),
		}
	}
	if !u.node.knows(m.Sender()) && !u.node.system.HasRun(m.Sender()) && u.node.uplinkFor(m.Sender()) == u {
		return u.node.system.Deliver(m.Receiver(), m) // which says why it cannot
	}
	return l.SendTo(m, m.Receiver(), relay.Unchanged)
}

// linkOf returns the link of a session, and creates it on first use: by Opened of the
// handler or by connect, in either order.
func (u *Uplink) linkOf(s *wire.Session) *uplinkSession {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.linkOfLocked(s)
}

func (u *Uplink) linkOfLocked(s *wire.Session) *uplinkSession {
	if l, ok := s.Value().(*uplinkSession); ok {
		return l
	}
	l := &uplinkSession{
		link: u.node.relay.NewLink(relay.Uplink, s, u.opts.peerOptions().limits()), uplink: u,
		session: s,
		asked:   make(map[string]performatives.AgentID), introduced: make(map[performatives.AgentID]bool),
	}
	s.SetValue(l)
	return l
}
