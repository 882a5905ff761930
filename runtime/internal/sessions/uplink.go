package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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
	ErrConnected     = errors.New("runtime: the uplink is connected already") // there is a session
	ErrUplinkStopped = errors.New("runtime: the uplink has stopped")
)

// UplinkOptions configures an [Uplink]. The options of the runtime say what each field means.
type UplinkOptions struct {
	Dial      func(ctx context.Context, h wire.Handler) (*wire.Session, error)
	Introduce bool
	Backoff   actors.Backoff
	Limits    relay.Limits
}

// NewUplink creates the uplink, which is not connected yet. It returns nil if there is one.
func (n *Sessions) NewUplink(o UplinkOptions) *Uplink {
	u := &Uplink{node: n, opts: o}
	if !n.uplink.CompareAndSwap(nil, u) {
		return nil
	}
	return u
}

// Uplink returns the uplink beyond which the ids are that are unknown here. It is nil if there is
// none, which is not connected.
func (n *Sessions) Uplink() *Uplink { return n.uplink.Load() }

// Link returns the link of the session, or nil.
func (u *Uplink) Link() *relay.Link {
	if l := u.session(); l != nil {
		return l.Link
	}
	return nil
}

// AgentChanged tells the far node of an agent of this node.
func (n *Sessions) AgentChanged(id performatives.AgentID) {
	if l := n.Uplink().session(); l != nil && l.uplink.opts.Introduce {
		l.updateIntroduction(id)
	}
}

// Uplink is a session to another node, which is opened anew when it is lost, and the destination of
// the ids beyond it.
type Uplink struct {
	node *Sessions
	opts UplinkOptions

	mu      sync.Mutex                    // held to attach and detach a session
	current atomic.Pointer[uplinkSession] // nil without a session
	dialing atomic.Bool
	closed  atomic.Bool
}

// uplinkSession is the link of one session of an Uplink.
type uplinkSession struct {
	*relay.Link
	uplink  *Uplink
	session *wire.Session

	introduceMu sync.Mutex                     // keeps the introductions of one agent in order
	introduced  map[performatives.AgentID]bool // by folded id; guarded by introduceMu
}

// Connect makes one attempt to open a session. The error is that of Dial, ErrConnected or
// ErrUplinkStopped.
func (u *Uplink) Connect(ctx context.Context) (*wire.Session, error) {
	if !u.dialing.CompareAndSwap(false, true) {
		return nil, ErrConnected
	}
	defer u.dialing.Store(false)
	switch {
	case u.closed.Load():
		return nil, ErrUplinkStopped
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
		return nil, ErrUplinkStopped
	}
	if u.opts.Introduce {
		for agent := range u.node.System.Agents() {
			l.updateIntroduction(agent.ID())
		}
	}
	return s, nil
}

// attach makes a session the uplink's, unless it has ended already or the uplink has stopped.
// Connect and Opened call it, in either order.
func (u *Uplink) attach(s *wire.Session) *uplinkSession {
	u.mu.Lock()
	defer u.mu.Unlock()
	l, ok := s.Value().(*uplinkSession)
	if !ok {
		l = &uplinkSession{
			Link: u.node.Relay.NewLink(relay.Uplink, s, u.opts.Limits), uplink: u,
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
		case errors.Is(err, ErrUplinkStopped), ctx.Err() != nil:
			return nil //nolint:nilerr // this is how it is ended
		case errors.Is(err, ErrConnected):
			return err
		case err == nil:
			select {
			case <-s.Done():
			case <-ctx.Done():
				return nil
			}
			if told := new(wire.PeerError); errors.As(s.Err(), &told) {
				u.node.System.Logger().Warn("uplink ended by the far node", "attempt", attempt, "err", told)
			} else {
				attempt = 0
			}
		default:
			u.node.System.Logger().Warn("uplink not connected", "attempt", attempt, "err", err)
		}
		select {
		case <-time.After(u.opts.Backoff.Delay(max(attempt, 1), rand.Float64)):
		case <-ctx.Done():
			return nil
		}
	}
}

// Connected reports whether there is a session.
func (u *Uplink) Connected() bool { return u.session() != nil }

// session returns the present session, or nil.
func (u *Uplink) session() *uplinkSession {
	if u == nil {
		return nil
	}
	return u.current.Load()
}

// Stop closes the session and waits until it has ended. No further session can be opened.
// When ctx ends first, Stop aborts the session and returns the cause. Further calls are
// harmless.
func (u *Uplink) Stop(ctx context.Context) error {
	u.closed.Store(true)
	if l := u.current.Load(); l != nil { // Connect stops one that is attached later
		return l.session.Stop(ctx)
	}
	return nil
}

// Deliver sends a message to the far node, unless the message came from there.
func (u *Uplink) Deliver(m *performatives.Message) error {
	l := u.current.Load()
	if l == nil {
		return m.Refused(performatives.CodeStopped, fmt.Sprintf("there is no agent %q on this node, and it is not connected to another", m.Receiver()))
	}
	if !u.node.Knows(m.Sender()) && !u.node.System.HasRun(m.Sender()) {
		return u.node.System.Deliver(m.Receiver(), m) // which says why it cannot
	}
	return l.SendTo(m, nil, m.Receiver(), relay.Unchanged)
}

var _ wire.Handler = (*Uplink)(nil)

// Opened makes a new session the uplink's: what the far node sends first may be answered at once.
func (u *Uplink) Opened(s *wire.Session) { u.attach(s) }

// Receive routes a message to an agent of this node. A message for an unknown id is
// refused and not sent back to the far node.
func (u *Uplink) Receive(s *wire.Session, m *performatives.Message) error {
	l := uplinkOf(s)
	if l.handleIntroductionReply(m) {
		return nil
	}
	m, routed, err := u.node.Chain.Run(chain.Uplink, m)
	if err != nil {
		return u.node.Relay.Refuse(m, err)
	}
	l.Receiving.Lock()
	defer l.Receiving.Unlock()
	worker := u.node.Relay.WorkerOf(m.Sender(), m, routed)
	to := cmp.Or(worker, m.Receiver())
	_, own := u.node.System.Find(m.Sender())
	switch {
	case own:
		return u.node.Relay.Refuse(m, performatives.Refused(performatives.CodeForbidden, "an agent with the id of the sender runs on the receiving node"))
	case to == "":
		return u.node.System.Pass(m)
	case !u.node.Knows(to): // it does not go back, even if its sender has run here
		if err = u.node.System.Deliver(to, m); err != nil { // which says why it cannot
			err = u.node.Relay.Refuse(m, err)
		}
		return err
	case worker != "":
		return l.DeliverAs(m, worker, m.Sender(), false)
	}
	return l.Deliver(m, m.Sender())
}

// Undelivered handles a message that the session did not deliver to the far node.
func (u *Uplink) Undelivered(s *wire.Session, m *performatives.Message, why *performatives.Refusal) {
	uplinkOf(s).Undelivered(m, why)
}

// linkLost is the reason that agents get when the session with the far node ends.
var linkLost = performatives.Failure{ErrorCode: performatives.CodeDisconnected, ErrorText: "the connection to the agent's node was lost"}

// Closed ends the link of a session, and loses the peers of open conversations that are beyond it.
func (u *Uplink) Closed(s *wire.Session, _ error) {
	l, peers := uplinkOf(s), []performatives.AgentID(nil)
	for c := range u.node.System.Conversations() {
		if !u.node.Knows(c.Key().Peer) {
			peers = append(peers, c.Key().Peer)
		}
	}
	l.Finish(linkLost, peers...)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.current.CompareAndSwap(l, nil)
}

func uplinkOf(s *wire.Session) *uplinkSession { return s.Value().(*uplinkSession) }

// updateIntroduction sends the far node the current capabilities of a visible agent, or
// empty capabilities for an agent that is not visible any more. When the far node refuses
// an agent because it has too many, the agent is introduced again at its next Announce.
func (l *uplinkSession) updateIntroduction(id performatives.AgentID) {
	l.introduceMu.Lock()
	defer l.introduceMu.Unlock()
	key := id.Fold()
	agent, runs := l.uplink.node.System.Find(id)
	var c performatives.Capabilities
	switch visible := runs && agent.Visible(); {
	case visible:
		l.introduced[key], c = true, agent.Describe()
	case l.introduced[key]:
		delete(l.introduced, key)
	default:
		return
	}
	s := l.uplink.node.System.Stamp()
	m, err := performatives.New(performatives.Envelope{
		ID: s.ID, Timestamp: s.Time, Sender: id, Receiver: namespace.System, ReplyWith: string(s.ID),
		Ontology: performatives.OntologyCapabilityQuery, Payload: performatives.QueryCapabilities{Type: performatives.QuerySummary, Capabilities: &c},
	})
	if err != nil {
		return // the error is an invalid stamp
	}
	if err := l.session.Send(m); err != nil {
		l.uplink.node.System.Logger().Warn("agent not introduced", "agent", string(id), "err", err)
	}
}

// handleIntroductionReply reports whether m replies to an introduction: it is of the far node, and
// answers nothing that the agent itself has asked. It is not routed to the agent. A refusal is
// logged.
func (l *uplinkSession) handleIntroductionReply(m *performatives.Message) bool {
	if !l.uplink.opts.Introduce || m.InReplyTo() == "" || !m.Sender().Is(namespace.System) || l.Continues(m, m.Sender()) {
		return false
	}
	if r := m.AsRefusal(); r != nil {
		l.uplink.node.System.Logger().Warn("agent not introduced", "agent", string(m.Receiver()), "err", r)
	}
	return true
}
