package actors

import (
	"errors"
	"reflect"
	"slices"
)

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
	r := &roles{plays: make([]bool, len(s.opts.Protocols))}
	var errs []error
	var methods []string // of the roles that the agent plays
	for i, p := range s.opts.Protocols {
		played, ok := p.(RoleProtocol)
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
			r.names = append(r.names, p.Name())
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
