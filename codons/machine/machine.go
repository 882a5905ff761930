package machine

import (
	"fmt"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Machine runs the conversations of one compiled [Table]. It holds none of them
// and never changes, so every goroutine may use it.
type Machine struct {
	table    Table
	terminal map[State]bool
	steps    map[key]*step
	order    []*step // as written, wildcards last per row
	layout   *layout
	opening  []performatives.Performative // what the initiator sends from Idle
}

// key is what a step is looked up by.
type key struct {
	role  Role
	state State
	on    Symbol
}

// step is a row for one state and one symbol.
type step struct {
	key
	to    State
	do    []Effect
	row   int  // index in Table.Rows
	other bool // it comes from a wildcard
}

// Conversation is where one side of a conversation stands: plain data, which a
// journal may keep.
type Conversation struct {
	Role    Role      `json:"role"`
	State   State     `json:"state"`
	Steps   int       `json:"steps"`   // taken since the start
	Updated time.Time `json:"updated"` // of the latest step, or of the start
}

// Event is something that happened to one side of a conversation.
type Event struct {
	On Symbol
	At time.Time
	ID performatives.MessageID // of the message; empty for commands and timeouts. Step ignores it, a journal needs it
}

// Start returns a conversation before its first event.
func (m *Machine) Start(role Role, at time.Time) Conversation {
	return Conversation{Role: role, State: Idle, Updated: at}
}

// Step takes one event. It returns the conversation after it and what the shell
// has to do, in order. It is pure, takes well under a microsecond and does not
// allocate. The effects belong to the table: do not modify them. An event that
// the table does not expect is an [*UnexpectedError] and changes nothing.
func (m *Machine) Step(c Conversation, e Event) (Conversation, []Effect, error) {
	s := m.find(c.Role, c.State, e.On)
	if s == nil {
		return c, nil, &UnexpectedError{Table: m.table.Name, Role: c.Role, State: c.State, On: e.On}
	}
	if s.to != c.State && m.terminal[c.State] {
		panic(fmt.Sprintf("machine: %s: %s would leave the terminal state %s for %s", m.table.Name, c.Role, c.State, s.to))
	}
	c.State, c.Updated = s.to, e.At
	c.Steps++
	return c, s.do, nil
}

// find returns the step for a symbol, nil when there is none.
func (m *Machine) find(role Role, state State, on Symbol) *step {
	if s := m.steps[key{role, state, on}]; s != nil || on.Act == 0 {
		return s
	}
	if on.Name != "" { // a tag that no row names means nothing
		bare := on
		bare.Name = ""
		if s := m.steps[key{role, state, bare}]; s != nil {
			return s
		}
	}
	if on.Kind == KindStale { // nor does coming late
		on.Kind = KindReceive
		return m.find(role, state, on)
	}
	return nil
}

// Name returns the table's name.
func (m *Machine) Name() string { return m.table.Name }

// Table returns the table that m was compiled from. It shares its slices with m:
// do not modify them.
func (m *Machine) Table() Table { return m.table }

// Terminal reports whether a conversation in that state has ended.
func (m *Machine) Terminal(s State) bool { return m.terminal[s] }

// Takes reports whether Step would take the symbol.
func (m *Machine) Takes(c Conversation, on Symbol) bool { return m.find(c.Role, c.State, on) != nil }

// Expects returns the symbols that rows of the conversation's state name, in the
// order of the table and without those of wildcards. The slice is the caller's.
func (m *Machine) Expects(c Conversation) []Symbol {
	var symbols []Symbol
	for _, s := range m.order {
		if s.role == c.Role && s.state == c.State && !s.other {
			symbols = append(symbols, s.on)
		}
	}
	return symbols
}

// Opening returns the acts that open a conversation: what the initiator sends
// from Idle.
func (m *Machine) Opening() []performatives.Performative { return slices.Clone(m.opening) }

// Opens reports whether act opens a conversation.
func (m *Machine) Opens(act performatives.Performative) bool { return slices.Contains(m.opening, act) }

// findOpening finds the acts of Opening.
func (m *Machine) findOpening() []performatives.Performative {
	var acts []performatives.Performative
	for _, s := range m.order {
		if s.role != Initiator || s.state != Idle {
			continue
		}
		for _, e := range s.do {
			if e.Kind == EffectSend && !slices.Contains(acts, e.Act) {
				acts = append(acts, e.Act)
			}
		}
	}
	return acts
}
