package actors

import (
	"errors"
	"reflect"
)

// Played is a [Protocol] that knows which agents play its role, without binding them.
type Played interface {
	Protocol
	// Plays reports whether an agent plays the role. The error says that its type would
	// only play it in another form, such as by its pointer: Spawn refuses such an agent.
	Plays(agent Agent) (bool, error)
	// Everyone reports whether every agent plays the role.
	Everyone() bool
}

// roles holds the names of the roles that the agents of one Go type play. err is the fault for
// which Spawn refuses the type, nil for none.
type roles struct {
	names []string
	plays []bool // by index of the protocol, those of every agent included
	err   error
}

// rolesOf returns the roles of an agent that not every agent plays, in the order of the
// protocols.
func (s *System) rolesOf(agent Agent) roles {
	t := reflect.TypeOf(agent)
	if known, ok := s.roles.Load(t); ok {
		return known.(roles) //nolint:forcetypeassert // nothing else is stored
	}
	r := roles{plays: make([]bool, len(s.opts.Protocols))}
	var errs []error
	for i, p := range s.opts.Protocols {
		played, ok := p.(Played)
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
		}
		errs = append(errs, err)
	}
	r.err = errors.Join(errs...)
	s.roles.Store(t, r)
	return r
}
