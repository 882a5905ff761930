package machine

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Machine is a compiled [Table]. It stores no conversation and never changes, so
// all goroutines may share one.
type Machine struct {
	table     Table
	terminal  map[State]bool
	index     index                        // of the rows that name an event
	wildcards index                        // of those that name it by a wildcard
	opening   []performatives.Performative // see Opening

	refusable [2][]performatives.Performative // see Refusable

	// What the step of a conversation does not need is made when it is first used.
	transitions func() *transitions
	layout      func() *layout
}

// Status is the status of one side in its table: plain data, which a
// journal can record.
type Status struct {
	Role    Role      `json:"role"`
	State   State     `json:"state"`
	Steps   int       `json:"steps"`   // taken since the start
	Updated time.Time `json:"updated"` // of the latest step, or of the start
}

// Event is one occurrence at one side of a conversation.
type Event struct {
	On Symbol
	At time.Time
	ID performatives.MessageID // of the message; empty for other events. Step ignores it, a journal needs it
}

// Start returns a conversation in [Idle], before its first event.
func (m *Machine) Start(role Role, at time.Time) Status {
	return Status{Role: role, State: Idle, Updated: at}
}

// Step takes one event. It returns the conversation after the event, and the
// effects for the shell in order. It is pure, takes well under a microsecond and
// does not allocate. The effects belong to the table: do not modify them. An event
// without a row is an [*UnexpectedError] and changes nothing.
func (m *Machine) Step(c Status, e Event) (Status, []Effect, error) {
	_, row, ok := m.match(key{c.Role, c.State, e.On})
	if !ok {
		return c, nil, &UnexpectedError{Table: m.table.Name, Role: c.Role, State: c.State, On: e.On}
	}
	r := &m.table.Rows[row]
	to := cmp.Or(r.To, c.State)
	if to != c.State && m.terminal[c.State] {
		panic(fmt.Sprintf("machine: %s: %s would leave the terminal state %s for %s", m.table.Name, c.Role, c.State, to))
	}
	c.State, c.Updated = to, e.At
	c.Steps++
	return c, slices.Clip(r.Do), nil
}

// Name returns the table's name.
func (m *Machine) Name() string { return m.table.Name }

// Table returns the table that m was compiled from. It shares its slices with m:
// do not modify them.
func (m *Machine) Table() Table { return m.table }

// Terminal reports whether a conversation in that state has ended.
func (m *Machine) Terminal(s State) bool { return m.terminal[s] }

// Takes reports whether the table has a row for the symbol in the state of the
// conversation.
func (m *Machine) Takes(c Status, on Symbol) bool {
	_, _, ok := m.match(key{c.Role, c.State, on})
	return ok
}

// Expects returns the symbols that rows of the conversation's state name, in the
// order of the table and without those of wildcards. The slice is the caller's.
func (m *Machine) Expects(c Status) []Symbol {
	var symbols []Symbol
	for i := range m.table.Rows {
		if r := &m.table.Rows[i]; r.Role == c.Role && slices.Contains(r.From, c.State) {
			symbols = append(symbols, r.plain()...)
		}
	}
	return symbols
}

// Opening returns the acts that open a conversation: those that the initiator
// sends from [Idle]. The slice is the caller's.
func (m *Machine) Opening() []performatives.Performative { return slices.Clone(m.opening) }

// Opens reports whether act opens a conversation.
func (m *Machine) Opens(act performatives.Performative) bool { return slices.Contains(m.opening, act) }

// findOpening computes the acts of Opening.
func (m *Machine) findOpening() []performatives.Performative {
	var acts []performatives.Performative
	for _, r := range m.table.Rows {
		if r.Role != Initiator || !slices.Contains(r.From, Idle) {
			continue
		}
		for _, e := range r.Do {
			if e.Kind == EffectSend && !slices.Contains(acts, e.Act) {
				acts = append(acts, e.Act)
			}
		}
	}
	return acts
}

// Refusable returns the acts of a role of which the runtime reports that it could not
// deliver a copy: the role sends them, and they expect a reply or open the conversation. The
// slice belongs to the machine: do not modify it.
func (m *Machine) Refusable(r Role) []performatives.Performative {
	if !r.Valid() {
		return nil
	}
	return m.refusable[r]
}

// findRefusable computes the acts of Refusable.
func (m *Machine) findRefusable() (acts [2][]performatives.Performative) {
	for _, r := range m.table.Rows {
		if !r.Role.Valid() {
			continue // a fault that is reported elsewhere
		}
		for _, e := range r.Do {
			reported := e.Act.ExpectsReply() || r.Role == Initiator && m.Opens(e.Act)
			if e.Kind == EffectSend && reported && !slices.Contains(acts[r.Role], e.Act) {
				acts[r.Role] = append(acts[r.Role], e.Act)
			}
		}
	}
	return acts
}
