package machine

import (
	"errors"
	"fmt"
	"sync" //nolint:depguard // what only checks use is made once; Step neither locks nor waits
)

// Compile checks the table and returns its [Machine]. It finds every fault that
// shows without an exploration: two rows for one event; states that are unknown,
// unreachable or without a way to an end; acts that the peer has no row for; timers
// that are never armed or whose expiry has no row; terminal states with more effects
// than [Resend], [Refuse] and [Drop]; declarations without their rows. The faults come
// joined, without those that are consequences of others; each is a [*RowError] or a
// [*TableError].
func (t Table) Compile() (*Machine, error) {
	c := &compiler{
		table:   t,
		machine: &Machine{table: t, terminal: make(map[State]bool, len(t.Terminal)), index: index{}, wildcards: index{}},
	}
	for _, s := range t.Terminal {
		c.machine.terminal[s] = true
	}
	c.checkHeader()
	c.addRows()
	c.machine.opening = c.machine.findOpening()
	c.machine.refusable = c.machine.findRefusable()
	for i, r := range t.Rows {
		c.checkRow(i, r)
	}
	c.checkActs()
	for _, checks := range [][]func(){{c.checkGraph}, {c.checkTimers, c.checkJobs}, {c.checkPairs, c.checkDeclarations}} {
		if len(c.faults) > 0 {
			break // most faults of later checks would be consequences
		}
		for _, check := range checks {
			check()
		}
	}
	if err := errors.Join(c.faults...); err != nil {
		return nil, err
	}
	c.machine.transitions = sync.OnceValue(c.machine.expand)
	c.machine.layout = sync.OnceValue(func() *layout { return newLayout(c.machine) })
	return c.machine, nil
}

// MustCompile is [Table.Compile] for tables that are part of the program. It panics
// on a fault, which is a programmer's mistake.
func (t Table) MustCompile() *Machine {
	m, err := t.Compile()
	if err != nil {
		panic(err)
	}
	return m
}

// compiler collects the faults of one table.
type compiler struct {
	table   Table
	machine *Machine
	faults  []error
	unknown map[State]bool // the undeclared states that a fault has named
}

func (c *compiler) fault(format string, args ...any) {
	c.faults = append(c.faults, &TableError{Table: c.table.Name, Fault: fmt.Sprintf(format, args...)})
}

func (c *compiler) rowFault(i int, format string, args ...any) {
	c.faults = append(c.faults, &RowError{
		Table: c.table.Name, Index: i, Row: c.table.Rows[i], Fault: fmt.Sprintf(format, args...),
	})
}

// addRows indexes the rows.
func (c *compiler) addRows() {
	c.table.keys(func(row int, k key) {
		rows := c.machine.index
		if k.on.wildcard() {
			rows = c.machine.wildcards
		}
		if before, ok := rows[k]; ok {
			c.rowFault(row, "row %d has %s in %s too", before, k.on, k.state)
			return
		}
		rows[k] = row
	})
}
