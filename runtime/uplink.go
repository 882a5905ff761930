package runtime

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

var (
	// ErrUplink is returned by [Node.Uplink] for a node that has one already.
	ErrUplink = errors.New("runtime: the node has an uplink already")
	// ErrConnected is returned by [Uplink.Connect] while there is a session.
	ErrConnected = errors.New("runtime: the uplink is connected already")
	// ErrUplinkStopped is returned by [Uplink.Connect] after [Uplink.Stop].
	ErrUplinkStopped = errors.New("runtime: the uplink has stopped")
)

// UplinkOptions configures an [Uplink]. Dial is required.
type UplinkOptions struct {
	// Dial opens a session with the far node, whose handler is h. It is called for each
	// connection.
	Dial func(ctx context.Context, h wire.Handler) (*wire.Session, error)

	// Introduce tells the far node of each agent here that is not hidden, now and later, so
	// that agents there can find it and delegate to it, until it stops. Without it they can still answer
	// whoever has asked them.
	Introduce bool

	// Backoff is how long [Uplink.Run] waits between attempts. The zero value is that of
	// [actors.Backoff] with a jitter of one half.
	Backoff actors.Backoff

	// MaxOpen, MaxBytes, Grace and Patience are those of [PeerOptions].
	MaxOpen, MaxBytes int
	Grace, Patience   time.Duration
}

func (o UplinkOptions) withDefaults() UplinkOptions {
	if o.Backoff == (actors.Backoff{}) {
		o.Backoff.Jitter = 0.5
	}
	p := o.peers().withDefaults()
	o.MaxOpen, o.MaxBytes, o.Grace, o.Patience = p.MaxOpen, p.MaxBytes, p.Grace, p.Patience
	return o
}

func (o UplinkOptions) peers() PeerOptions {
	return PeerOptions{MaxOpen: o.MaxOpen, MaxBytes: o.MaxBytes, Grace: o.Grace, Patience: o.Patience}
}

// Uplink is the way from a node to another, over a session that this end opens: whom the
// node does not have, the far node is asked for, namespaces included. What agents send
// while there is no session is refused at once, and when a session is lost, whoever waits
// for an answer by it is told so.
//
// The node's own name, as which [Node.Delegate] and [Node.Ask] send, has to be another
// than that of the far node and of everybody else there. Broadcasts stay on this node.
type Uplink struct {
	node *Node
	opts UplinkOptions

	unlisten func()
	current  atomic.Pointer[upLink] // nil without a session

	mu      sync.Mutex
	dialing bool
	stopped bool
}

// upLink is the link of one session of an Uplink.
type upLink struct {
	*link

	mu    sync.Mutex
	asked map[string]performatives.AgentID // introductions without an answer, by id

	telling    sync.Mutex                     // what is said of one agent is said in order
	introduced map[performatives.AgentID]bool // by folded ids; guarded by telling
}

// Uplink returns the way to another node, which is not connected yet. Its owner must call
// [Uplink.Stop], best after the node's own Stop, whose last words it carries. The error
// says what is wrong with o, or is ErrUplink.
func (n *Node) Uplink(o UplinkOptions) (*Uplink, error) {
	if o.Dial == nil {
		return nil, errors.New("runtime: UplinkOptions.Dial is nil")
	}
	if err := o.peers().validate(); err != nil {
		return nil, fmt.Errorf("runtime: UplinkOptions: %w", err)
	}
	u := &Uplink{node: n, opts: o.withDefaults(), unlisten: func() {}}
	if !n.uplink.CompareAndSwap(nil, u) {
		return nil, ErrUplink
	}
	if u.opts.Introduce {
		u.unlisten = n.Events().Listen(u.heard, actors.About[actors.AgentStarted](), actors.About[actors.AgentAnnounced](), actors.About[actors.AgentStopped]())
	}
	return u, nil
}

// Connect opens a session, once. The error is that of Dial, ErrConnected or
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
		return nil, u.drop(ctx, s)
	}
	if err != nil {
		return nil, fmt.Errorf("runtime: uplink: %w", err)
	}
	u.introduceAll(u.linkOf(s))
	return s, nil
}

// begin reserves the uplink for one attempt.
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

// dialed ends an attempt, and reports whether the uplink has stopped in the meantime.
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
	l := u.linkOfLocked(s)
	if !l.over() { // it may have been lost at once
		u.current.Store(l)
	}
	return false
}

// drop ends a session that nobody wants any more.
func (u *Uplink) drop(ctx context.Context, s *wire.Session) error {
	_ = s.Stop(ctx) // it ends either way
	return ErrUplinkStopped
}

// Run keeps the uplink connected until ctx ends: it connects, and does so again when a
// session is lost, after a time that grows with each attempt that fails. It returns nil
// once ctx has ended or the uplink has stopped. The session stays for [Uplink.Stop].
func (u *Uplink) Run(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		s, err := u.connect(ctx)
		switch {
		case errors.Is(err, ErrUplinkStopped), ctx.Err() != nil:
			return nil
		case errors.Is(err, ErrConnected):
			return err
		case err == nil:
			attempt = 0
			select {
			case <-s.Done():
			case <-ctx.Done():
				return nil
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

// Stop closes the session in order, for good, and returns when nothing of it is left.
// When ctx ends first, it ends the session at once and returns the cause. Stopping again
// is harmless.
func (u *Uplink) Stop(ctx context.Context) error {
	u.mu.Lock()
	u.stopped = true
	u.mu.Unlock()
	u.unlisten()
	l := u.current.Load()
	if l == nil {
		return nil
	}
	return l.session.Stop(ctx)
}

// route sends a message to the far node, for the router.
func (u *Uplink) route(m *performatives.Message) error {
	l := u.current.Load()
	if l == nil {
		return &performatives.Refusal{
			Code: performatives.CodeStopped, About: m.ID(),
			Text: fmt.Sprintf("there is no agent %q on this node, and it is not connected to another", m.Receiver()),
		}
	}
	return l.send(m, m.Sender(), m.Receiver())
}

// linkOf returns the link of a session. Dial may return before its handler has heard of
// the session, or after.
func (u *Uplink) linkOf(s *wire.Session) *upLink {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.linkOfLocked(s)
}

func (u *Uplink) linkOfLocked(s *wire.Session) *upLink {
	if l, ok := s.Value().(*upLink); ok {
		return l
	}
	l := &upLink{link: newLink(u.node, s, u.opts.peers().ledger()), asked: make(map[string]performatives.AgentID), introduced: make(map[performatives.AgentID]bool)}
	s.SetValue(l)
	return l
}
