package actors

import (
	"errors"
	"reflect"
	"slices"

	"github.com/ribosome-agents/ribosome/performatives"
)

// protocol is a [Protocol] of a system, with what it says of itself for good.
type protocol struct {
	Protocol
	name      string
	unguarded bool // see UnguardedProtocol
}

func newProtocol(p Protocol) protocol {
	u, ok := p.(UnguardedProtocol)
	return protocol{Protocol: p, name: p.Name(), unguarded: ok && u.Unguarded()}
}

// RoleProtocol is a [Protocol] that knows which agents play its role, without binding them.
type RoleProtocol interface {
	Protocol
	// Plays reports whether an agent plays the role. The error says that its type would
	// only play it in another form, such as by its pointer: Spawn refuses such an agent. A
	// [*NearMissError] counts only if no role that the agent plays has its methods.
	Plays(agent Agent) (bool, error)
	// Methods returns the names of the methods that make an agent play the role.
	Methods() []string
	// Everyone reports whether every agent plays the role.
	Everyone() bool
}

// NearMissError says that a type has some methods of a role and does not play it.
type NearMissError struct {
	Methods []string // Methods are the names of the role's methods that the type has.
	Fault   string   // Fault is the whole text.
}

// Error returns the text.
func (e *NearMissError) Error() string { return e.Fault }

// roles holds the names of the roles that the agents of one Go type play. err is the fault for
// which Spawn refuses the type, nil for none.
type roles struct {
	names []string
	plays []bool // by index of the protocol, those of every agent included
	err   error
}

// rolesOf returns the roles of an agent that not every agent plays, in the order of the
// protocols.
func (s *System) rolesOf(agent Agent) *roles {
	t := reflect.TypeOf(agent)
	if known, ok := s.roles.Load(t); ok {
		return known.(*roles) //nolint:forcetypeassert // nothing else is stored
	}
	r := &roles{plays: make([]bool, len(s.protocols))}
	var errs []error
	var methods []string // of the roles that the agent plays
	for i, p := range s.protocols {
		played, ok := p.Protocol.(RoleProtocol)
		if !ok {
			continue
		}
		if played.Everyone() {
			r.plays[i] = true
			continue
		}
		plays, err := played.Plays(agent)
		r.plays[i] = plays
		if plays {
			r.names = append(r.names, p.name)
			methods = append(methods, played.Methods()...)
		}
		errs = append(errs, err)
	}
	errs = slices.DeleteFunc(errs, func(err error) bool {
		var near *NearMissError
		return errors.As(err, &near) && !slices.ContainsFunc(near.Methods, func(m string) bool { return !slices.Contains(methods, m) })
	})
	r.err = errors.Join(errs...)
	s.roles.Store(t, r)
	return r
}

// GuardProtocol is a [Protocol] that decides whether a message may open a conversation with an
// agent or reach its Receive. It decides for all codons, not only its own.
type GuardProtocol interface {
	Protocol
	// Guard returns the guard of one agent, or nil when it needs none. It is called on
	// the agent's actor, before the first message that a guard decides about, and again
	// after a restart.
	Guard(self Self, agent Agent) Guard
}

// Guard returns the refusal of m, or nil when the agent may handle m. It decides about
// messages that belong to no conversation of the agent, open or ended, before they open
// one or reach [Receiver].Receive. It is not called for a reply that opens nothing: the
// agent has asked for it. A guard runs on the agent's actor and must not block. A message
// that it refuses goes back to its sender with the code and text of the refusal, or is
// dead-lettered when it expects no reply.
type Guard func(m *performatives.Message) *performatives.Refusal

// UnguardedProtocol is a [Protocol] whose opening messages no guard sees: its responder decides
// itself about them.
type UnguardedProtocol interface {
	Protocol
	// Unguarded reports whether that is so. It never changes.
	Unguarded() bool
}

// checkGuards returns the first refusal of the agent's guards for m, or nil. p is the
// index of the protocol that m opens, or negative.
func (c *cell) checkGuards(m *performatives.Message, p int) *performatives.Refusal {
	if len(c.sys.guarding) == 0 {
		return nil
	}
	if p >= 0 && c.sys.protocols[p].unguarded {
		return nil
	}
	if c.guards == nil {
		var bound []Guard
		for _, g := range c.sys.guarding {
			if guard := g.Guard(Self{c}, c.agent); guard != nil {
				bound = append(bound, guard)
			}
		}
		c.guards = &bound
	}
	if p < 0 && m.InReplyTo() != "" && !m.Performative().ExpectsReply() {
		return nil
	}
	for _, guard := range *c.guards {
		if r := guard(m); r != nil {
			return r
		}
	}
	return nil
}
