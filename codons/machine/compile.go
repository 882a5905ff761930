package machine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Compile checks the table and returns its [Machine]. It finds every fault that
// shows without an exploration: two rows for one event; states that are unknown,
// unreachable or without a way to an end; acts that the peer has no row for; timers
// that are never armed or whose expiry has no row; terminal states with more effects
// than [Resend], [Refuse] and [Drop]. All faults come joined; each is a [*RowError]
// or a [*TableError].
func (t Table) Compile() (*Machine, error) {
	c := &compiler{
		table: t,
		machine: &Machine{
			table: t, terminal: make(map[State]bool, len(t.Terminal)), transitions: make(map[key]*Transition),
		},
	}
	for _, s := range t.Terminal {
		c.machine.terminal[s] = true
	}
	c.checkHeader()
	c.expand(false)
	c.expand(true) // after all others, since a wildcard yields to a row with the symbol itself
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
}

func (c *compiler) fault(format string, args ...any) {
	c.faults = append(c.faults, &TableError{Table: c.table.Name, Fault: fmt.Sprintf(format, args...)})
}

func (c *compiler) rowFault(i int, format string, args ...any) {
	c.faults = append(c.faults, &RowError{
		Table: c.table.Name, Index: i, Row: c.table.Rows[i], Fault: fmt.Sprintf(format, args...),
	})
}

// expand adds the transitions of every row, for its wildcards or for its other
// symbols.
func (c *compiler) expand(wildcards bool) {
	for i, r := range c.table.Rows {
		for _, from := range r.From {
			for _, on := range r.On {
				symbols := on.expand()
				switch {
				case wildcards:
					c.addWildcard(i, from, symbols)
				case symbols == nil:
					c.addPlain(i, from, on)
				}
			}
		}
	}
}

// addPlain adds the transition of a symbol that is not a wildcard.
func (c *compiler) addPlain(i int, from State, on Symbol) {
	t := c.transition(i, from, on)
	if before := c.machine.transitions[t.key()]; before != nil {
		c.rowFault(i, "row %d has %s in %s too", before.Row, on, from)
		return
	}
	c.add(t)
}

// addWildcard adds the transitions of a wildcard, for the symbols without a row.
func (c *compiler) addWildcard(i int, from State, symbols []Symbol) {
	for _, on := range symbols {
		t := c.transition(i, from, on)
		t.Wildcard = true
		switch before := c.machine.transitions[t.key()]; {
		case before == nil:
			c.add(t)
		case before.Wildcard:
			c.rowFault(i, "row %d has a wildcard for %s in %s too", before.Row, on, from)
			return
		}
	}
}

func (c *compiler) add(t *Transition) {
	c.machine.transitions[t.key()] = t
	c.machine.order = append(c.machine.order, t)
}

func (c *compiler) transition(i int, from State, on Symbol) *Transition {
	r := c.table.Rows[i]
	to := cmp.Or(r.To, from)
	return &Transition{Role: r.Role, From: from, On: on, To: to, Do: slices.Clip(r.Do), Row: i}
}
