package machine

import (
	"slices"

	"github.com/ribosome-agents/ribosome/performatives"
)

// layout numbers what a table has, so that a side of a conversation fits into a
// few words. It never changes.
type layout struct {
	*Machine
	states []State
	index  map[State]uint8
	timers [2][]string
	jobs   [2][]Job
	free   [2][][]Symbol                          // commands that the agent may say, by state
	inert  [2]map[performatives.Performative]bool // acts of which a copy changes nothing for that role
}

func newLayout(m *Machine) *layout {
	l := &layout{Machine: m, index: map[State]uint8{}}
	for i, s := range slices.Concat([]State{Idle}, m.table.Live, m.table.Terminal) {
		l.states, l.index[s] = append(l.states, s), uint8(i)
	}
	for _, t := range m.table.Timers {
		l.timers[t.Role] = append(l.timers[t.Role], t.Name)
	}
	for _, j := range m.table.Jobs {
		l.jobs[j.Role] = append(l.jobs[j.Role], j)
	}
	l.listCommands()
	l.listInert()
	return l
}

// listCommands notes what the agents may say in which state, besides the words of
// jobs.
func (l *layout) listCommands() {
	for _, r := range Roles() {
		l.free[r] = make([][]Symbol, len(l.states))
	}
	for _, s := range l.order {
		word := func(j Job) bool { return slices.Contains(j.Says, s.on.Name) || slices.Contains(j.Ends, s.on.Name) }
		if s.on.Kind == KindCommand && !slices.ContainsFunc(l.jobs[s.role], word) {
			i := l.index[s.state]
			l.free[s.role][i] = append(l.free[s.role][i], s.on)
		}
	}
}

// listInert notes of which acts a copy is only counted, in every state.
func (l *layout) listInert() {
	for _, r := range Roles() {
		l.inert[r] = map[performatives.Performative]bool{}
		for act := range performatives.Performatives() {
			l.inert[r][act] = !slices.ContainsFunc(l.states, func(s State) bool { return l.stirs(r, s, Duplicate(act)) })
		}
	}
}

// stirs reports whether a symbol does more in a state than to be noted.
func (l *layout) stirs(r Role, state State, on Symbol) bool {
	s := l.find(r, state, on)
	return s != nil && (s.to != state || slices.ContainsFunc(s.do, func(e Effect) bool {
		return e.Kind != EffectReport && e.Kind != EffectDrop
	}))
}

// spoken calls yield with every command that may come to a side, and the side
// before its step, until yield says no.
func (l *layout) spoken(r Role, from side, yield func(Symbol, side) bool) bool {
	for i := range from.runs.each {
		for _, word := range l.jobs[r][i].Says {
			if !yield(Command(word), from) {
				return false
			}
		}
		next := from
		next.runs, next.asked = from.runs.without(i), from.asked.without(i)
		for _, word := range l.jobs[r][i].Ends {
			if !yield(Command(word), next) {
				return false
			}
		}
	}
	for _, on := range l.free[r][from.state] {
		if !yield(on, from) {
			return false
		}
	}
	return true
}

// keep carries out an effect on a side's timers and jobs. It reports false for a
// job that is started while it runs.
func (l *layout) keep(me *side, r Role, e Effect) bool {
	switch e.Kind {
	case EffectArm:
		me.armed = me.armed.with(slices.Index(l.timers[r], e.Name))
	case EffectDisarm:
		me.armed = me.armed.without(slices.Index(l.timers[r], e.Name))
	case EffectRun:
		i := l.job(r, e.Name)
		fresh := !me.runs.has(i)
		me.runs = me.runs.with(i)
		return fresh
	case EffectStop:
		me.asked |= me.runs & (1 << l.job(r, e.Name))
	case EffectSend, EffectResend, EffectRefuse, EffectReport, EffectDrop:
	}
	return true
}

func (l *layout) job(r Role, name string) int {
	return slices.IndexFunc(l.jobs[r], func(j Job) bool { return j.Name == name })
}
