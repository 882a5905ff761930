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
