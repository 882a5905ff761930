package machine

import (
	"fmt"
	"slices"
	"strings"
)

// State names where one side of a conversation stands.
type State string

// Idle is the state of both roles before the opening act.
const Idle State = "idle"

// Table is a codon as it is written: plain data that [Table.Compile] checks and
// turns into a [Machine].
type Table struct {
	Name    string // as a message's Protocol names it, "task-delegation"
	Title   string // "Task delegation"
	Purpose string // a sentence or two for the documentation
	Source  string // the specification and its sections

	Live     []State // the states of a conversation that goes on, besides Idle
	Terminal []State // the states of one that has ended, for either role
	Rows     []Row
	Jobs     []Job
	Timers   []Timer
	Agree    []Pair // every way in which a conversation may end
}

// Row says what happens when one of the symbols On arrives while a side is in one
// of the states From: it goes to the state To and the shell carries out Do.
type Row struct {
	Role Role
	From []State
	On   []Symbol
	To   State // empty: each state stays as it is
	Do   []Effect
	Why  string // the reason, for the documentation
}

// Job is work that a side does outside of the table, in a context that [Stop]
// ends. What it has to say arrives as commands, in whatever state the side is by
// then, so each state in which it may run has a row for each.
type Job struct {
	Role Role
	Name string
	Says []string // commands after which it goes on
	Ends []string // commands that are its last word; it says exactly one of them
	Doc  string
}

// Timer is a clock of one side; the shell decides how long it runs.
type Timer struct {
	Role Role
	Name string
	Doc  string
}

// Pair is one way in which a conversation may end: the states of both sides.
// The responder's may be [Idle] where no message ever reached it.
type Pair struct {
	Initiator, Responder State
	Rough                bool   // only where messages are lost or late, or an agent stops
	Note                 string // why the two differ; empty where they agree
}

// has reports whether the table has rows of that role. One without a responder is
// about what a single agent does, and says nothing to anybody.
func (t Table) has(role Role) bool {
	return slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Role == role })
}

// For starts a row of that role in those states. It reads as a sentence:
//
//	For(Initiator, requested, working).When(Receive(reject)).Goto(rejected).Because("…")
func For(role Role, from ...State) Row { return Row{Role: role, From: from} }

// When sets the symbols that the row matches.
func (r Row) When(on ...Symbol) Row { r.On = on; return r }

// Goto sets the next state and the effects.
func (r Row) Goto(to State, do ...Effect) Row { r.To, r.Do = to, do; return r }

// Stay keeps each state as it is and sets the effects.
func (r Row) Stay(do ...Effect) Row { r.To, r.Do = "", do; return r }

// Because sets the reason.
func (r Row) Because(why string) Row { r.Why = why; return r }

// String returns words such as "initiator in requested, working on receive
// TASK_REJECT".
func (r Row) String() string {
	return fmt.Sprintf("%s in %s on %s", r.Role, join(r.From), join(r.On))
}

// join lists the values with commas.
func join[T any](values []T) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = fmt.Sprint(v)
	}
	return strings.Join(words, ", ")
}
