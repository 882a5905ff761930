package machine

import (
	"slices"

	"github.com/ribosome-agents/ribosome/performatives"
)

// layout numbers the states, timers and jobs of a table, so that a side of a
// conversation fits into a few words. It never changes.
type layout struct {
	states   []State
	index    map[State]uint8
	timers   [2][]string
	jobs     [2][]Job
	commands [2][][]Symbol                          // by state: the commands of the agent, without those of jobs
	kinds    [2][]map[string]CommandKind            // by state: the kinds of the commands that the table declares
	failures [2][]Symbol                            // Undeliverable, Undelivered and PeerLost, where they have an effect
	inert    [2]map[performatives.Performative]bool // acts of which a duplicate is inert in every state
}

func newLayout(m *Machine) *layout {
	l := &layout{index: map[State]uint8{}}
	for i, s := range slices.Concat([]State{Idle}, m.table.Live, m.table.Terminal) {
		l.states, l.index[s] = append(l.states, s), uint8(i)
	}
	for _, t := range m.table.Timers {
		l.timers[t.Role] = append(l.timers[t.Role], t.Name)
	}
	for _, j := range m.table.Jobs {
		l.jobs[j.Role] = append(l.jobs[j.Role], j)
	}
	for _, r := range Roles() {
		l.commands[r] = l.agentCommands(m, r)
		l.kinds[r] = l.commandKinds(m, r)
		l.failures[r] = failures(m, r)
		l.inert[r] = l.inertDuplicates(m, r)
	}
	return l
}

// agentCommands returns the commands of a role's agent in each state.
func (l *layout) agentCommands(m *Machine, r Role) [][]Symbol {
	commands := make([][]Symbol, len(l.states))
	for t := range m.Transitions() {
		ofJob := slices.ContainsFunc(l.jobs[r], func(j Job) bool { return j.has(t.On.Name) })
		if t.Role == r && t.On.Kind == KindCommand && !ofJob {
			i := l.index[t.From]
			commands[i] = append(commands[i], t.On)
		}
	}
	return commands
}

// commandKinds returns the kinds of the commands that the table declares for a role, in each state.
func (l *layout) commandKinds(m *Machine, r Role) []map[string]CommandKind {
	kinds := make([]map[string]CommandKind, len(l.states))
	for _, c := range m.table.Commands {
		if c.Role != r {
			continue
		}
		for _, s := range c.In {
			if i := l.index[s]; kinds[i] == nil {
				kinds[i] = map[string]CommandKind{c.Name: c.Kind}
			} else {
				kinds[i][c.Name] = c.Kind
			}
		}
	}
	return kinds
}

// failures returns the symbols [Undeliverable], [Undelivered] and [PeerLost] of which a role has a
// row that is not inert.
func failures(m *Machine, r Role) []Symbol {
	var symbols []Symbol
	for t := range m.Transitions() {
		failure := t.On.Kind == KindUndeliverable || t.On.Kind == KindUndelivered || t.On.Kind == KindPeerLost
		if t.Role == r && failure && !t.Inert() && !slices.Contains(symbols, t.On) {
			symbols = append(symbols, t.On)
		}
	}
	return symbols
}

// inertDuplicates returns the acts of which a duplicate is inert for a role, in
// every state.
func (l *layout) inertDuplicates(m *Machine, r Role) map[performatives.Performative]bool {
	inert := map[performatives.Performative]bool{}
	for act := range performatives.Performatives() {
		inert[act] = !slices.ContainsFunc(l.states, func(s State) bool {
			t := m.Find(r, s, Duplicate(act))
			return t != nil && !t.Inert()
		})
	}
	return inert
}

func (l *layout) timer(r Role, name string) int { return slices.Index(l.timers[r], name) }

func (l *layout) job(r Role, name string) int {
	return slices.IndexFunc(l.jobs[r], func(j Job) bool { return j.Name == name })
}
