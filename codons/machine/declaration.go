package machine

import "slices"

// Declarations say apart from the rows what the rows are for. [Table.Compile] compares both. The
// explorations of package verify use the declarations, so that a forgotten row does not take its
// own test with it. A table needs none of them; the standard rows of package codons bring most.
type Declarations struct {
	Commands   []AgentCommand
	Rest       []Rest
	Reports    []Reported
	Renewals   []Renewal
	Garbled    []Garbled
	Ends       []Ending
	Exceptions []Exception

	// LongLived says that the conversations have no deadline, so no node remembers the opening act
	// after the end: the same message may open the conversation again.
	LongLived bool
}

// CommandKind says whether an agent has to give a command. The zero value is [CommandMay].
type CommandKind uint8

// The kinds of commands.
const (
	CommandMay      CommandKind = iota // the agent may give it at any moment, and need not
	CommandOwed                        // the agent gives this command or another one that it owes in the state
	CommandOpens                       // it opens the conversation
	CommandStops                       // the agent stops
	CommandMisreads                    // the runtime cannot read a message that the peer has sent
)

// AgentCommand declares a command of a side's agent, not of a job. Each of its states needs
// a row for it.
type AgentCommand struct {
	Role Role
	Name string
	In   []State
	Kind CommandKind
}

// Rest declares a pair of states in which both sides may wait for their agents or for a
// deadline.
type Rest struct {
	Initiator, Responder []State
	ToldOnce             bool // only after the loss of a message that is never sent again
	Why                  string
}

// Has reports whether a pair of states is a pair of rest. lost says that a message was lost.
func (r Rest) Has(initiator, responder State, lost bool) bool {
	return (lost || !r.ToldOnce) && slices.Contains(r.Initiator, initiator) && slices.Contains(r.Responder, responder)
}

// Reported declares that an event is reported to the agent whenever it is not dropped.
type Reported struct {
	Role Role
	On   Symbol
	In   []State // empty: in all states
	Name string
}

// Renewal declares events with which a timer begins anew: the row that takes one of them arms it,
// if it leads to a state with a row for the timer's expiry. In a state that In names, it must not
// drop the event.
type Renewal struct {
	Role  Role
	Timer string
	In    []State // empty: in all states
	On    []Symbol
}

// Covers reports whether a transition has to arm the timer.
func (r Renewal) Covers(t *Transition) bool {
	return r.Role == t.Role && slices.Contains(r.On, t.On) && (len(r.In) == 0 || slices.Contains(r.In, t.From))
}

// Garbled declares that a message of that act may reach the role under another tag because of its
// content, as an unreadable one.
type Garbled struct {
	Role Role
	On   Symbol // as it arrives
}

// Ending declares the terminal state to which an event leads, if it ends the conversation.
type Ending struct {
	Role Role
	In   []State // empty: in all live states without an End of their own for the event
	On   Symbol
	To   State
}

// Exception declares that a rule of package verify does not hold for some rows.
type Exception struct {
	Rule string // its name there
	Role Role
	In   []State
	On   []Symbol
	Why  string
}

// Covers reports whether the exception is about a transition.
func (e Exception) Covers(rule string, t *Transition) bool {
	return e.Rule == rule && e.Role == t.Role && slices.Contains(e.In, t.From) && slices.Contains(e.On, t.On)
}

// CommandKind returns the kind of a command of a role's agent in a state. A command without a
// declaration opens the conversation in [Idle], and is one that the agent may give elsewhere.
func (m *Machine) CommandKind(r Role, s State, name string) CommandKind {
	if i, known := m.layout().index[s]; known {
		if kind, declared := m.layout().kinds[r][i][name]; declared {
			return kind
		}
	}
	if s == Idle {
		return CommandOpens
	}
	return CommandMay
}

// End returns the terminal state that the table declares for an event in a live state.
func (t Table) End(r Role, s State, on Symbol) (to State, declared bool) {
	for _, e := range t.Ends {
		if e.Role != r || e.On != on {
			continue
		}
		if slices.Contains(e.In, s) {
			return e.To, true
		}
		if len(e.In) == 0 {
			to, declared = e.To, true
		}
	}
	return to, declared
}

// checkDeclarations compares the declarations with the rows.
func (c *compiler) checkDeclarations() {
	for i, command := range c.table.Commands {
		c.checkCommand(command, c.table.Commands[:i])
	}
	for _, r := range c.table.Rest {
		c.checkStates("a pair of rest", r.Initiator)
		c.checkStates("a pair of rest", r.Responder)
	}
	for _, r := range c.table.Reports {
		c.checkStates("a report", r.In)
		if !c.table.Takes(r.Role, r.On) {
			c.fault("%s is declared to be reported to the %s as %s and has no row", r.On, r.Role, r.Name)
		}
	}
	for _, r := range c.table.Renewals {
		c.checkStates("a renewal", r.In)
		if !slices.ContainsFunc(c.table.Timers, func(t Timer) bool { return t.Role == r.Role && t.Name == r.Timer }) {
			c.fault("the %s has no timer %s to renew", r.Role, r.Timer)
		}
	}
	for _, g := range c.table.Garbled {
		if g.On.Kind != KindReceive || !c.sends(g.Role.Other(), g.On.Act) {
			c.fault("%s of the %s is declared as garbled, and the peer sends no such act", g.On, g.Role)
		}
	}
	for _, e := range c.table.Ends {
		c.checkStates("an end", e.In)
		if !c.machine.terminal[e.To] {
			c.fault("%s is declared to end the %s in %s, which is not terminal", e.On, e.Role, e.To)
		}
	}
	for _, e := range c.table.Exceptions {
		c.checkStates("an exception", e.In)
		if e.Why == "" {
			c.fault("the exception from %s has no reason", e.Rule)
		}
	}
}

// checkCommand checks that each state of a declared command has a row for it, and that no earlier
// declaration names the state.
func (c *compiler) checkCommand(command AgentCommand, earlier []AgentCommand) {
	c.checkStates("command "+command.Name, command.In)
	for _, s := range command.In {
		if slices.ContainsFunc(earlier, func(o AgentCommand) bool {
			return o.Role == command.Role && o.Name == command.Name && slices.Contains(o.In, s)
		}) {
			c.fault("the %s's command %s is declared twice in %s", command.Role, command.Name, s)
		}
		if _, ok := c.machine.index[key{command.Role, s, Commanded(command.Name)}]; !ok {
			c.fault("the %s has no row for its declared command %s in %s", command.Role, command.Name, s)
		}
	}
}

func (c *compiler) checkStates(of string, states []State) {
	for _, s := range states {
		if !c.known(s) {
			c.fault("the declaration of %s names state %q, which does not exist", of, s)
		}
	}
}
