package machine

import "fmt"

// UnexpectedError is returned by [Machine.Step] for an event that has no row in the
// state of the conversation.
type UnexpectedError struct {
	Table string
	Role  Role
	State State
	On    Symbol
}

// Error names the table, the role, the state and the event.
func (e *UnexpectedError) Error() string {
	return fmt.Sprintf("machine: %s: %s in %s does not expect %s", e.Table, e.Role, e.State, e.On)
}

// RowError is one fault that [Table.Compile] found in a row.
type RowError struct {
	Table string
	Index int // of the row in Table.Rows
	Row   Row
	Fault string
}

// Error names the row and its fault.
func (e *RowError) Error() string {
	return fmt.Sprintf("machine: %s: row %d (%s): %s", e.Table, e.Index, e.Row, e.Fault)
}

// TableError is one fault that [Table.Compile] found outside of the rows.
type TableError struct {
	Table string
	Fault string
}

// Error names the table and its fault.
func (e *TableError) Error() string { return fmt.Sprintf("machine: %s: %s", e.Table, e.Fault) }

// DecisionError is the fault that [Rule.Check] found in a decision.
type DecisionError struct {
	Rule    string
	Member  int    // the index of the member with the wrong command; negative where a number of members is wrong
	Command string // empty where it is missing
	Fault   string
}

// Error names the rule, the member, the command and the fault.
func (e *DecisionError) Error() string {
	text := "machine: rule " + e.Rule
	if e.Member >= 0 {
		text += fmt.Sprintf(": member %d", e.Member)
	}
	if e.Command != "" {
		text += ": " + e.Command
	}
	return text + ": " + e.Fault
}
