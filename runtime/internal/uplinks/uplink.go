package uplinks

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
	"github.com/ribosome-agents/ribosome/runtime/internal/chain"
	"github.com/ribosome-agents/ribosome/runtime/internal/namespace"
	"github.com/ribosome-agents/ribosome/runtime/internal/relay"
	"github.com/ribosome-agents/ribosome/wire"
)

// The errors of [Uplink.Connect].
var (
	ErrConnected = errors.New("runtime: the uplink is connected already") // there is a session
	ErrStopped   = errors.New("runtime: the uplink has stopped")
)

// Options configures an [Uplink]. The options of the runtime say what each field means.
type Options struct {
	Dial      func(ctx context.Context, h wire.Handler) (*wire.Session, error)
	Names     []performatives.AgentID
	Introduce bool
	Backoff   actors.Backoff
	Limits    relay.Limits
}

// Uplinks are the uplinks of a node. They are safe for concurrent use.
type Uplinks struct {
	system  *actors.System
	chain   *chain.Chain
	relay   *relay.Relay
	knows   func(performatives.AgentID) bool
	stopped func(performatives.AgentID) *performatives.Refusal

	mu   sync.Mutex                // held to change list
	list atomic.Pointer[[]*Uplink] // nil without an uplink
}

// New returns no uplinks. knows reports whether the node has a way to an agent without them, and
// stopped returns the refusal of a message for an agent that is not there any more.
func New(
	s *actors.System, c *chain.Chain, r *relay.Relay, knows func(performatives.AgentID) bool, stopped func(performatives.AgentID) *performatives.Refusal,
) *Uplinks {
	return &Uplinks{system: s, chain: c, relay: r, knows: knows, stopped: stopped}
}

// Add creates an uplink, which is not connected yet. It returns nil if another one has one of its
// names, or both have none.
func (us *Uplinks) Add(o Options) *Uplink {
	u := &Uplink{Uplinks: us, opts: o}
	us.mu.Lock()
	defer us.mu.Unlock()
	if slices.ContainsFunc(us.all(), u.overlaps) {
		return nil
	}
	all := append(slices.Clone(us.all()), u)
	us.list.Store(&all)
	return u
}

func (us *Uplinks) all() []*Uplink {
	if all := us.list.Load(); all != nil {
		return *all
	}
	return nil
}

// For returns the uplink beyond which an id is that is unknown here, or nil.
func (us *Uplinks) For(id performatives.AgentID) *Uplink {
	var found *Uplink
	longest := -1
	for _, u := range us.all() {
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

// LinkOf returns the link of the uplink beyond which an unknown id is, or nil.
func (us *Uplinks) LinkOf(id performatives.AgentID) *relay.Link {
	if u := us.For(id); u != nil {
		if l := u.current.Load(); l != nil {
			return l.Link
		}
	}
	return nil
}

// AgentChanged tells the far nodes of an agent of this node.
func (us *Uplinks) AgentChanged(id performatives.AgentID) {
	for _, u := range us.all() {
		if l := u.current.Load(); l != nil && u.opts.Introduce {
			l.updateIntroduction(id)
		}
	}
}

// Uplink is a session to another node, which is opened anew when it is lost, and the destination of
// the ids beyond it.
type Uplink struct {
	*Uplinks
	opts Options

	mu      sync.Mutex              // held to attach and detach a session
	current atomic.Pointer[session] // nil without a session
	dialing atomic.Bool
	closed  atomic.Bool
}

// session is the link of one session of an Uplink.
type session struct {
	*relay.Link
	uplink  *Uplink
	session *wire.Session

	introduceMu sync.Mutex                     // keeps the introductions of one agent in order
	introduced  map[performatives.AgentID]bool // by folded id; guarded by introduceMu
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

// Connect makes one attempt to open a session. The error is that of Dial, ErrConnected or
// ErrStopped.
func (u *Uplink) Connect(ctx context.Context) (*wire.Session, error) {
	if !u.dialing.CompareAndSwap(false, true) {
		return nil, ErrConnected
	}
	defer u.dialing.Store(false)
	switch {
	case u.closed.Load():
		return nil, ErrStopped
	case u.Connected():
		return nil, ErrConnected
	}
	s, err := u.opts.Dial(ctx, u)
	if err != nil {
		return nil, fmt.Errorf("runtime: uplink: %w", err)
	}
	l := u.attach(s)
	if u.closed.Load() { // the uplink was stopped during the attempt
		_ = s.Stop(ctx) // the session ends in any case
		return nil, ErrStopped
	}
	u.introduceAll(l)
	return s, nil
}

// attach makes a session the uplink's, unless it has ended already or the uplink has stopped.
// Connect and Opened call it, in either order.
func (u *Uplink) attach(s *wire.Session) *session {
	u.mu.Lock()
	defer u.mu.Unlock()
	l, ok := s.Value().(*session)
	if !ok {
		l = &session{
			Link: u.relay.NewLink(relay.Uplink, s, u.opts.Limits), uplink: u,
			session: s, introduced: make(map[performatives.AgentID]bool),
		}
		s.SetValue(l)
	}
	if !u.closed.Load() && !l.Ended() {
		u.current.Store(l)
	}
	return l
}

// Run keeps the uplink connected until ctx ends. It reconnects when a session is lost. The delay
// grows with each failed attempt, and with each session ended by an error of the far node, such as
// that another connection speaks for this node's agents. It returns nil when ctx has ended or the
// uplink has stopped, and ErrConnected when there is a session already. The session stays open
// until [Uplink.Stop].
func (u *Uplink) Run(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		s, err := u.Connect(ctx)
		switch {
		case errors.Is(err, ErrStopped), ctx.Err() != nil:
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
				u.system.Logger().Warn("uplink ended by the far node", "attempt", attempt, "err", told)
			} else {
				attempt = 0
			}
		default:
			u.system.Logger().Warn("uplink not connected", "attempt", attempt, "err", err)
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
	u.closed.Store(true)
	l := u.current.Load() // Connect stops one that is attached later
	if l == nil {
		return nil
	}
	return l.session.Stop(ctx)
}

// Deliver sends a message to the far node, unless the message came from there.
func (u *Uplink) Deliver(m *performatives.Message) error {
	l := u.current.Load()
	if l == nil {
		return &performatives.Refusal{
			Code: performatives.CodeStopped, About: m.ID(),
			Text: fmt.Sprintf("there is no agent %q on this node, and it is not connected to another", m.Receiver()),
		}
	}
	if !u.knows(m.Sender()) && !u.system.HasRun(m.Sender()) && u.For(m.Sender()) == u {
		return u.system.Deliver(m.Receiver(), m) // which says why it cannot
	}
	return l.SendTo(m, m.Receiver(), relay.Unchanged)
}
