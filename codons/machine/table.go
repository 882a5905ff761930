package machine

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// State is the name of a state of one side of a conversation.
type State string

// Idle is the state of both roles before the opening act.
const Idle State = "idle"

// Table is a codon as plain data. [Table.Compile] checks it and returns its
// [Machine].
type Table struct {
	Name    string // as in a message's Protocol field, "task-delegation"
	Title   string // "Task delegation"
	Purpose string // a sentence or two for the documentation
	Source  string // the specification and its sections

	Live     []State // the states of a conversation that has begun and not ended
	Terminal []State // the states of a conversation that has ended, for either role; the first is the one that the initiator wants
	Rows     []Row
	Jobs     []Job
	Timers   []Timer
	Agree    []Pair // every pair of terminal states that a conversation may end in

	Declarations // what the rows are for; may be empty
}

// Success returns the pair in which a conversation ends well: the first of Agree that is
// not rough and in which the initiator ends in the first of Terminal. ok is false for a
// table without one, such as that of a long-lived conversation.
func (t Table) Success() (p Pair, ok bool) {
	for _, p := range t.Agree {
		if !p.Rough() && len(t.Terminal) > 0 && p.Initiator == t.Terminal[0] {
			return p, true
		}
	}
	return Pair{}, false
}

// Row is a rule: when one of the symbols On occurs while a side is in one of the
// states From, the side goes to the state To and the shell performs the effects Do.
type Row struct {
	Role Role
	From []State
	On   []Symbol
	To   State // empty: the side keeps its state
	Do   []Effect
	Why  string // the reason, for the documentation
}

// Job is a piece of user code that a side runs outside of the table, in a context
// that [Stop] cancels. Its commands arrive in whatever state the side has reached by
// then. So each state in which it may run has a row for each of its commands.
type Job struct {
	Role Role
	Name string
	Says []string // commands that it may give while it runs, any number of times
	Ends []string // final commands: it gives exactly one of them, and has then ended
	Doc  string

	// Swift says that the job always ends soon, so no exploration has it run on until it
	// is stopped.
	Swift bool
	// ReceiptNeedNotWait says that the receipt for a CANCEL may be sent before the job returns: the
	// job does nothing that has to be stopped first.
	ReceiptNeedNotWait bool
}

// has reports whether a command is one of the job's.
func (j Job) has(command string) bool {
	return slices.Contains(j.Says, command) || slices.Contains(j.Ends, command)
}

// Timer is a timer of one side.
type Timer struct {
	Role Role
	Name string
	Doc  string

	// After is the time from Arm to the expiry. Zero means that the shell decides it, as it does
	// for the standard timers.
	After time.Duration

	// Ticks says that the timer sends something again, so that a conversation may rely on
	// it: it expires when no message is under way. Other timers are deadlines.
	Ticks bool
}

// Pair is the states of both sides at the end of a conversation. The responder's
// may be [Idle], for a conversation of which no message reached it.
type Pair struct {
	Initiator, Responder State
	After                []Cause // at least one of these events has occurred by then; empty: none need occur
	Note                 string  // why the two differ; empty where they agree
	Also                 bool    // in a definition: the standard pair of these states keeps its causes, and gets those of After
}

// Rough reports whether a conversation ends in the pair only after one of the events of After.
func (p Pair) Rough() bool { return len(p.After) > 0 }

// Has reports whether the table has rows of that role. A table without a responder
// is about one agent alone.
func (t Table) Has(role Role) bool {
	return slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Role == role })
}

// Takes reports whether a row of the role has the symbol.
func (t Table) Takes(role Role, on Symbol) bool {
	return slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Role == role && slices.Contains(r.On, on) })
}

// Does reports whether a row of the role has the effect.
func (t Table) Does(role Role, e Effect) bool {
	return slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Role == role && slices.Contains(r.Do, e) })
}

// For starts a row of that role in those states:
//
//	For(Initiator, requested, working).When(Receive(reject)).Goto(rejected).Because("…")
func For(role Role, from ...State) Row { return Row{Role: role, From: from} }

// When sets the symbols that the row matches.
func (r Row) When(on ...Symbol) Row { r.On = on; return r }

// Goto sets the next state and the effects.
func (r Row) Goto(to State, do ...Effect) Row { r.To, r.Do = to, do; return r }

// Stay keeps the state and sets the effects.
func (r Row) Stay(do ...Effect) Row { r.To, r.Do = "", do; return r }

// Because sets the reason.
func (r Row) Because(why string) Row { r.Why = why; return r }

// plain returns the symbols of the row that are no wildcards.
func (r Row) plain() []Symbol { return slices.DeleteFunc(slices.Clone(r.On), Symbol.wildcard) }

// String returns words such as "initiator in requested, working on receive
// TASK_REJECT".
func (r Row) String() string {
	return fmt.Sprintf("%s in %s on %s", r.Role, join(r.From), join(r.On))
}

// join formats the values and separates them with commas.
func join[T any](values []T) string { return joinWith(values, ", ") }

func joinWith[T any](values []T, separator string) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = fmt.Sprint(v)
	}
	return strings.Join(words, separator)
}

// Asks starts a row of the initiator in those states, for the table of a codon.
func Asks(in ...State) Row { return For(Initiator, in...) }

// Answers starts a row of the responder in those states, for the table of a codon.
func Answers(in ...State) Row { return For(Responder, in...) }

// CommandStart is the command of the initiator that opens the conversation. The table itself must
// have its row.
const CommandStart = "start"

// Timers of the standard rows. Options of the caller and times of the responder set their
// durations.
const (
	TimerDeadline = "deadline" // until the ReplyBy of the opening act
	TimerRetry    = "retry"    // until the latest request without an answer is sent again
	TimerGrace    = "grace"    // until a cancelled conversation must have ended
)

// Reasons for which rows drop a message or a command. Drops are counted under these labels.
const (
	DropDuplicate  = "duplicate"  // the message was received before and needs no answer
	DropStale      = "stale"      // the message belongs to an earlier round or conversation
	DropLate       = "late"       // the conversation, or this part of it, has ended
	DropUnexpected = "unexpected" // the state has no row for the message

	// DropUndeliverable is the reason for the refusal of a copy of a message by the runtime, where
	// the wait for the answer goes on.
	DropUndeliverable = "undeliverable"
)
