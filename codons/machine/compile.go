package machine

import (
	"errors"
	"fmt"
	"slices"
)

// Compile checks the table and makes it runnable. It refuses, naming the row,
// whatever can be seen without exploring: two rows for one event, states that
// are unknown, unreachable or dead, acts that nobody receives, timers that are
// never armed or never heard, terminal states that do more than answer. All
// faults come joined; each is a [*RowError] or a [*TableError].
func (t Table) Compile() (*Machine, error) {
	c := &compiler{
		table: t,
		machine: &Machine{
			table: t, terminal: make(map[State]bool, len(t.Terminal)), steps: make(map[key]*step),
		},
	}
	for _, s := range t.Terminal {
		c.machine.terminal[s] = true
	}
	c.checkHeader()
	c.expand(false)
	c.expand(true) // wildcards take what is left
	c.machine.opening = c.machine.findOpening()
	for i, r := range t.Rows {
		c.checkRow(i, r)
	}
	c.checkGraph()
	c.checkActs()
	c.checkTimers()
	c.checkJobs()
	c.checkPairs()
	if err := errors.Join(c.faults...); err != nil {
		return nil, err
	}
	c.machine.layout = newLayout(c.machine)
	return c.machine, nil
}

// MustCompile is Compile for tables of the program itself. It panics on a fault,
// which is a programmer's mistake.
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
}

func (c *compiler) fault(format string, args ...any) {
	c.faults = append(c.faults, &TableError{Table: c.table.Name, Fault: fmt.Sprintf(format, args...)})
}

func (c *compiler) rowFault(i int, format string, args ...any) {
	c.faults = append(c.faults, &RowError{
		Table: c.table.Name, Index: i, Row: c.table.Rows[i], Fault: fmt.Sprintf(format, args...),
	})
}

// expand makes the steps of every row: of its plain symbols, or of its wildcards.
func (c *compiler) expand(wildcards bool) {
	for i, r := range c.table.Rows {
		for _, from := range r.From {
			for _, on := range r.On {
				symbols := on.expand()
				switch {
				case wildcards:
					c.addRest(i, from, symbols)
				case symbols == nil:
					c.addOne(i, from, on)
				}
			}
		}
	}
}

// addOne adds the step of a plain symbol.
func (c *compiler) addOne(i int, from State, on Symbol) {
	s := c.step(i, from, on)
	if before := c.machine.steps[s.key]; before != nil {
		c.rowFault(i, "row %d has %s in %s too", before.row, on, from)
		return
	}
	c.add(s)
}

// addRest adds the steps of a wildcard, for what has no row yet.
func (c *compiler) addRest(i int, from State, symbols []Symbol) {
	for _, on := range symbols {
		s := c.step(i, from, on)
		s.other = true
		switch before := c.machine.steps[s.key]; {
		case before == nil:
			c.add(s)
		case before.other:
			c.rowFault(i, "row %d has a wildcard for %s in %s too", before.row, on, from)
			return
		}
	}
}

func (c *compiler) add(s *step) {
	c.machine.steps[s.key] = s
	c.machine.order = append(c.machine.order, s)
}

func (c *compiler) step(i int, from State, on Symbol) *step {
	r := c.table.Rows[i]
	to := r.To
	if to == "" {
		to = from
	}
	return &step{key: key{r.Role, from, on}, to: to, do: slices.Clip(r.Do), row: i}
}
