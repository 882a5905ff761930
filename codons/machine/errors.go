package machine

import "fmt"

// UnexpectedError is returned by [Machine.Step] for an event that the table has
// no row for in the conversation's state.
type UnexpectedError struct {
	Table string
	Role  Role
	State State
	On    Symbol
}

// Error names all four.
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

// TableError is one fault that [Table.Compile] found outside of any row.
type TableError struct {
	Table string
	Fault string
}

// Error names the table and its fault.
func (e *TableError) Error() string { return fmt.Sprintf("machine: %s: %s", e.Table, e.Fault) }

// CoordinationError is one fault that [Coordination.Validate] found.
type CoordinationError struct {
	Coordination string
	Rule         string // empty where the fault is outside of any rule
	Fault        string
}

// Error names the rule and its fault.
func (e *CoordinationError) Error() string {
	if e.Rule == "" {
		return fmt.Sprintf("machine: %s: %s", e.Coordination, e.Fault)
	}
	return fmt.Sprintf("machine: %s: rule %s: %s", e.Coordination, e.Rule, e.Fault)
}

// DecisionError is what [Rule.Check] finds wrong with a decision.
type DecisionError struct {
	Rule    string
	Member  int    // whose command is wrong; negative where it is the number of members
	Command string // empty where it is missing
	Fault   string
}

// Error names all of it.
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
