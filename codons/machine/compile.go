package machine

import (
	"errors"
	"fmt"
	"slices"
	"sync" //nolint:depguard // what only checks use is made once; Step neither locks nor waits

	"github.com/ribosome-agents/ribosome/performatives"
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
		machine: &Machine{table: t, terminal: make(map[State]bool, len(t.Terminal)), index: newIndex(t)},
	}
	for _, s := range t.Terminal {
		c.machine.terminal[s] = true
	}
	c.checkHeader()
	c.addPlain()
	c.machine.index.plain = len(c.machine.index.rows)
	c.machine.opening = c.machine.findOpening()
	c.machine.refusable = c.machine.findRefusable()
	c.addWildcards() // after all others, since a wildcard yields to a row with the symbol itself
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

// keys calls add for each row, state and symbol.
func (c *compiler) keys(add func(row int, k key)) {
	for i, r := range c.table.Rows {
		for _, from := range r.From {
			for _, on := range r.On {
				add(i, key{r.Role, from, on})
			}
		}
	}
}

// addPlain indexes the transitions of the symbols that are no wildcards.
func (c *compiler) addPlain() {
	c.keys(func(row int, k key) {
		if k.on.wildcard() != nil {
			return
		}
		if before, ok := c.machine.index.find(k); ok {
			c.rowFault(row, "row %d has %s in %s too", c.machine.index.rows[before], k.on, k.state)
			return
		}
		c.machine.index.add(k, row)
	})
}

// addWildcards indexes the transitions of the wildcards, for the symbols without a row.
func (c *compiler) addWildcards() {
	c.keys(func(row int, k key) {
		stands := k.on.wildcard()
		if stands == nil {
			return
		}
		refused := k.on.Kind == kindOtherRefused
		for act := range performatives.Performatives() {
			if refused && !slices.Contains(c.machine.Refusable(k.role), act) {
				continue
			}
			for _, k.on = range stands(act) {
				switch before, ok := c.machine.index.find(k); {
				case !ok:
					c.machine.index.add(k, row)
				case int(before) >= c.machine.index.plain:
					c.rowFault(row, "row %d has a wildcard for %s in %s too", c.machine.index.rows[before], k.on, k.state)
					return
				}
			}
		}
	})
}
