package codons

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Service is a codon as the agents of a node answer it: an [actors.Protocol] for the agents that
// implement its Go interface, the role. [NewService] makes it. It never changes, so it is safe for
// concurrent use.
type Service struct {
	codon *Codon
	times Times
	iface reflect.Type // the interface that an agent implements
	bind  func(self actors.Self, agent actors.Agent, t Times) actors.Responder
	opens func(m *performatives.Message) bool
	guard func(self actors.Self, agent actors.Agent) actors.Guard

	unguarded bool
	usual     bool
}

// ServiceOptions configures a [Service]. The zero value is a service that accepts the opening acts
// which name its codon.
type ServiceOptions struct {
	// Usual makes the service accept opening acts that name no protocol too.
	Usual bool
	// Opens reports whether a message opens a conversation at the responder. It must be pure
	// and safe for concurrent use. Nil means [Codon.OpenedBy].
	Opens func(m *performatives.Message) bool
	// Guard makes the guard of an agent, see [actors.GuardProtocol]. Nil means no guard.
	Guard func(self actors.Self, agent actors.Agent) actors.Guard
	// Unguarded exempts the codon's opening acts from all guards of the agent: the service
	// decides by itself which peers it serves.
	Unguarded bool
}

// NewService returns the service of a codon for the agents that implement R, its role. With R =
// [actors.Agent], every agent plays it. bind returns the responder of one agent, such as a
// [Responder]. It is called on the agent's actor and must not block. Its times have the
// defaults filled in.
func NewService[R actors.Agent](c *Codon, o ServiceOptions, bind func(self actors.Self, role R, t Times) actors.Responder) *Service {
	r := &Service{
		codon: c, iface: reflect.TypeFor[R](), opens: o.Opens, guard: o.Guard, unguarded: o.Unguarded, usual: o.Usual && o.Opens == nil,
		bind: func(self actors.Self, agent actors.Agent, t Times) actors.Responder {
			role, ok := agent.(R)
			if !ok {
				return nil
			}
			return bind(self, role, t)
		},
	}
	if r.opens == nil {
		r.opens = func(m *performatives.Message) bool { return c.OpenedBy(m, o.Usual) }
	}
	return r
}

// With returns a copy of the service with other times. Zero times mean the defaults. The durations
// of [Service.WithTimer] stay.
func (r *Service) With(t Times) *Service {
	other := *r
	t.own = r.times.own
	other.times = t
	return &other
}

// WithTimer returns a copy of the service with another duration of a responder's timer than
// [machine.Timer.After]. It panics if the table has no such timer of its own, or d is not more
// than zero.
func (r *Service) WithTimer(name string, d time.Duration) *Service {
	if err := r.codon.checkTimer(machine.Responder, name, d); err != nil {
		panic(err)
	}
	other := *r
	other.times.own = maps.Clone(r.times.own)
	if other.times.own == nil {
		other.times.own = map[string]time.Duration{}
	}
	other.times.own[name] = d
	return &other
}

// Everyone reports whether every agent plays the role.
func (r *Service) Everyone() bool { return r.iface == reflect.TypeFor[actors.Agent]() }

// Claims returns what the service takes as its own, as text: the protocol's name, the
// message types that open its conversations, and the acts that do so without naming a
// protocol. No two services of a node may claim the same.
func (r *Service) Claims() []string {
	claims := []string{"protocol " + r.Name()}
	for _, name := range r.codon.openings() {
		claims = append(claims, "message type "+name)
	}
	if r.usual {
		for _, act := range r.codon.machine.Opening() {
			claims = append(claims, "act "+act.String())
		}
	}
	return claims
}

// Codon returns the codon that the service answers.
func (r *Service) Codon() *Codon { return r.codon }

// Name returns the name of the codon.
func (r *Service) Name() string { return r.codon.Name() }

// Opens reports whether m opens a conversation of the codon at the responder.
func (r *Service) Opens(m *performatives.Message) bool { return r.opens(m) }

// Bind returns the responder of an agent, or nil when the agent does not implement the
// interface of the role.
func (r *Service) Bind(self actors.Self, agent actors.Agent) actors.Responder {
	return r.bind(self, agent, r.times.withDefaults())
}

// Guard returns the guard of an agent, or nil when the service has none.
func (r *Service) Guard(self actors.Self, agent actors.Agent) actors.Guard {
	if r.guard == nil {
		return nil
	}
	return r.guard(self, agent)
}

// Unguarded reports whether the codon's opening acts are exempt from guards.
func (r *Service) Unguarded() bool { return r.unguarded }

// Plays reports whether an agent implements the interface of the role. The error names an
// agent whose pointer type implements the interface but whose own type does not, because its
// methods would never be called. An [*actors.NearMissError] names an agent that has methods of
// the interface by their names.
func (r *Service) Plays(agent actors.Agent) (bool, error) {
	t := reflect.TypeOf(agent)
	if t == nil || r.iface.Kind() != reflect.Interface {
		return t != nil && t == r.iface, nil
	}
	if t.Implements(r.iface) {
		return true, nil
	}
	if t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(r.iface) {
		return false, fmt.Errorf("codons: %s implements the role %s of %s by pointer receivers: spawn a *%s", t, r.iface, r.Name(), t)
	}
	return false, r.nearMiss(reflect.ValueOf(agent))
}

// Methods returns the names of the methods of the role's interface, without those of
// [actors.Agent].
func (r *Service) Methods() []string {
	var names []string
	if r.iface.Kind() != reflect.Interface {
		return nil
	}
	for m := range r.iface.Methods() {
		if _, every := reflect.TypeFor[actors.Agent]().MethodByName(m.Name); !every {
			names = append(names, m.Name)
		}
	}
	return names
}

// nearMiss returns an error for an agent that has some methods of the role's interface by name.
func (r *Service) nearMiss(agent reflect.Value) error {
	var has, faults []string
	for _, name := range r.Methods() {
		want, _ := r.iface.MethodByName(name)
		switch got := agent.MethodByName(name); {
		case !got.IsValid():
			faults = append(faults, "it lacks "+name)
		case got.Type() != want.Type:
			has = append(has, name)
			faults = append(faults, fmt.Sprintf("its %s is %s, want %s", name, got.Type(), want.Type))
		default:
			has = append(has, name)
		}
	}
	if has == nil {
		return nil
	}
	return &actors.NearMissError{Methods: has, Fault: fmt.Sprintf(
		"codons: %s has %s of the role %s of %s and does not play it: %s",
		agent.Type(), strings.Join(has, " and "), r.iface, r.Name(), strings.Join(faults, "; "))}
}
