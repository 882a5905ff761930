package actors

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Destination takes the messages for an agent of another process: a session, or the link to another
// node.
type Destination interface {
	// Deliver takes m for the agent, or returns a [*performatives.Refusal] with the reason why it
	// cannot. It does not block and calls no code of an agent. A message that it has taken and
	// cannot deliver is refused later, from another goroutine.
	Deliver(m *performatives.Message) error

	// Load returns what the conversations with the agents behind the destination are counted in,
	// the same at each call. Nil counts nothing.
	Load() *Load

	// Wait returns how long messages for the agent wait at present until its process takes them in.
	// Zero means that there is no such wait, or that it is not known. It does not block.
	Wait() time.Duration
}

// Load counts the open conversations that agents of this process have with the agents behind a
// [Destination]. It is safe for concurrent use.
type Load struct {
	conversations atomic.Int64
	weight        atomic.Int64
}

// Conversations returns how many are open.
func (l *Load) Conversations() int { return int(l.conversations.Load()) }

// Weight returns the sum of the [performatives.Message.Weight] of the messages that opened them, in
// bytes.
func (l *Load) Weight() int { return int(l.weight.Load()) }

// Registration is an entry of the directory: the id of an agent, its capabilities, and the
// destination of its messages, which is the mailbox of an agent of this process or a [Destination].
// All methods may be called from any goroutine.
type Registration struct {
	sys         *System
	id          performatives.AgentID
	folded      performatives.AgentID
	local       *cell       // the agent of this process; nil for another
	destination Destination // of an agent of another process

	describes      *performatives.Capabilities                // before the first announcement; nil for none; immutable
	announced      atomic.Pointer[performatives.Capabilities] // of the last announcement; nil before it. Stored by capabilityIndex
	indexedActions *[]string                                  // names under which capabilityIndex lists the agent; guarded by capabilityIndex.mu
	unannounced    bool                                       // discovery excludes the agent until it announces capabilities
	unregistered   atomic.Bool                                // capabilityIndex.remove was called; set with capabilityIndex.mu

	removal *stopCalls // nil for an agent of this process
}

// Register adds an agent of another process to the directory. Discovery excludes it until
// [Registration.Announce]. The owner of d must call [Registration.Remove]. The error is
// [ErrExists], [ErrStopped], or says why the id is not valid.
func (s *System) Register(id performatives.AgentID, d Destination) (*Registration, error) {
	err := performatives.CheckID(id)
	switch {
	case err != nil:
	case s.draining.Load():
		err = ErrStopped
	default:
		r := s.newRegistration(id, d)
		if s.takeID(nil, r) {
			return r, nil
		}
		err = ErrExists
	}
	return nil, fmt.Errorf("actors: register %.64q: %w", id, err)
}

// newRegistration returns an entry that is not in the directory yet.
func (s *System) newRegistration(id performatives.AgentID, d Destination) *Registration {
	return &Registration{sys: s, id: id, folded: id.Fold(), destination: d, unannounced: true, removal: new(stopCalls)}
}

// takeID puts r in the place of the entry of its folded id, nil for none. It reports false when
// that is not the entry.
func (s *System) takeID(former, r *Registration) bool {
	if !s.registrations.swap(r.folded, former, r) {
		return false
	}
	if r.folded != r.id {
		s.registrations.swap(r.id, anyEntry, r) // the common spelling needs no folding
	}
	s.capabilities.add(r)
	if r.local == nil {
		s.remote.add(1)
	}
	return true
}

// removeRegistration releases the id. The folded id is released last: it decides whether another
// agent can take the id.
func (s *System) removeRegistration(r *Registration) (removed bool) {
	if !s.capabilities.remove(r) {
		return false
	}
	if r.local == nil {
		s.remote.add(-1)
	}
	if r.folded != r.id {
		s.registrations.swap(r.id, r, nil)
	}
	s.registrations.swap(r.folded, r, nil)
	s.opts.OnList(r.id)
	return true
}

// Replace puts another destination in the place of an agent of another process, in one step. The
// new entry is not announced. It reports false when the agent was removed before.
func (r *Registration) Replace(id performatives.AgentID, d Destination) (*Registration, bool) {
	by := r.sys.newRegistration(id, d)
	if r.local != nil || !id.Is(r.id) || !r.sys.takeID(r, by) {
		return nil, false
	}
	r.Remove()
	return by, true
}

// Remove takes an agent of another process off the directory, and runs the functions of
// [Self.Watch]. Further calls are harmless. It does nothing for an agent of this process.
func (r *Registration) Remove() {
	if r.local != nil {
		return
	}
	r.sys.stoppedAgents.add(r.id)
	if !r.sys.removeRegistration(r) {
		return
	}
	for _, fn := range r.removal.stop() {
		(*fn)()
	}
	if r.announced.Load() == nil {
		return
	}
	r.sys.opts.OnChange(r.id)
	if events.Wants[events.AgentStopped](&r.sys.Events) {
		r.sys.Events.Publish(events.AgentStopped{At: r.sys.at(), Agent: r.id})
	}
}

// ID returns the agent's id as registered.
func (r *Registration) ID() performatives.AgentID { return r.id }

// Destination returns the destination of an agent of another process, and nil for an agent of this
// process.
func (r *Registration) Destination() Destination { return r.destination }

// Local returns the handle of an agent of this process.
func (r *Registration) Local() (Self, bool) { return Self{r.local}, r.local != nil }

// Describe returns the agent's capabilities: those of the last announcement, or else those of
// [Agent].Describe. The caller must not modify them.
func (r *Registration) Describe() performatives.Capabilities {
	if c := r.announced.Load(); c != nil {
		return *c
	}
	if r.describes != nil {
		return *r.describes
	}
	return performatives.Capabilities{}
}

// Announce replaces the agent's capabilities and makes the agent visible to discovery, even if
// [Spec].Hidden is set. Capabilities without any topic or action hide an agent of another process,
// or one with Spec.Hidden. The change is atomic. The caller must not modify the slices and maps of
// capabilities afterwards.
func (r *Registration) Announce(capabilities performatives.Capabilities) {
	if r.local != nil && r.local.spec.Sealer != nil {
		capabilities = r.local.spec.Sealer.Entry(capabilities)
	}
	r.sys.capabilities.update(r, &capabilities)
	r.sys.opts.OnList(r.id)
	r.sys.opts.OnChange(r.id)
	if events.Wants[events.AgentAnnounced](&r.sys.Events) {
		r.sys.Events.Publish(events.AgentAnnounced{At: r.sys.at(), Agent: r.id, Capabilities: capabilities})
	}
}

// Visible reports whether discovery includes the agent.
func (r *Registration) Visible() bool {
	if !r.unannounced {
		return true
	}
	says := r.announced.Load()
	return says != nil && says.Offers()
}

// current reports whether the agent can get messages: one of this process has an actor.
func (r *Registration) current() bool { return r.local == nil || r.local.pid.Load() != nil }

// leadsTo reports whether Find returns this entry for an id. r may be nil.
func (r *Registration) leadsTo(id performatives.AgentID) bool {
	return r != nil && r.id.Is(id) && !r.unregistered.Load() && r.current()
}

// Deliver passes m to the agent's destination. The error is a [*performatives.Refusal], as that of
// [System.Deliver].
func (r *Registration) Deliver(m *performatives.Message) error {
	if r.local == nil {
		return r.destination.Deliver(m)
	}
	return r.local.deliver(m)
}

// deliver passes a message of another agent to the mailbox, or when the agent has stopped, to what
// took its place.
func (c *cell) deliver(m *performatives.Message) error {
	err := c.take(m)
	if err == nil || !errors.Is(err, performatives.CodeStopped) {
		return err
	}
	if r, ok := c.sys.Find(c.id); ok && r != &c.Registration {
		return r.Deliver(m)
	}
	return err
}

// take passes a message of another agent to the mailbox. The error is a [*performatives.Refusal].
func (c *cell) take(m *performatives.Message) error {
	if m.Answered() != 0 && m.Answered() != c.spec.Activation {
		return refusal(m, c.id, performatives.CodeConversationEnded, "the message answers an earlier run of the agent")
	}
	room := int32(0) // beyond the capacity, for a message of a conversation
	if m.InReplyTo() != "" {
		room = min(c.live.Load(), math.MaxInt32/2)
	}
	if reason := c.mailbox.post(m, room); reason != 0 {
		if reason == ReasonFull {
			c.noteBusy()
		}
		return refusal(m, c.id, codeForReason(reason), "")
	}
	return nil
}

// Announce is [Registration.Announce] for this agent. The change survives restarts.
func (s Self) Announce(capabilities performatives.Capabilities) { s.c.Announce(capabilities) }

// Visible reports whether discovery includes the agent.
func (s Self) Visible() bool { return s.c.Visible() }

// Describe returns the agent's capabilities: those of the last [Self.Announce], or else those of
// [Agent].Describe. The caller must not modify them.
func (s Self) Describe() performatives.Capabilities { return s.c.Describe() }

// watchRemoval has fn called after the removal of an agent of another process, at once if it was
// removed, unless cancel is called before.
func (r *Registration) watchRemoval(fn func()) (cancel func()) {
	if !r.removal.add(&fn) {
		fn()
	}
	return func() { r.removal.remove(&fn) }
}

// Find returns the entry of the directory with that id, also if discovery excludes the agent. It is
// nil if there is none.
func (s *System) Find(id performatives.AgentID) (r *Registration, ok bool) {
	if r = s.registrations.load(id); r == nil {
		r = s.registrations.load(id.Fold())
	}
	if r == nil || !r.current() {
		return nil, false
	}
	return r, true
}

// lookup returns the running agent of this process with that id.
func (s *System) lookup(id performatives.AgentID) (*cell, bool) {
	if r, ok := s.Find(id); ok && r.local != nil {
		return r.local, true
	}
	return nil, false
}
