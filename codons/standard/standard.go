package standard

import (
	"errors"
	"slices"
	"sync"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Rows is a set of groups of rows that [Rows.Complete] adds to a table. The zero value has none of
// the groups below. Complete then adds only the rows that every table gets: the stop of an agent,
// the loss of the peer, the refusal of a request, the answer to a duplicate, and the wildcards for
// all other receptions.
type Rows uint8

// The groups of rows.
const (
	// Cancel allows the initiator to withdraw its request. CANCEL stops the job of the
	// responder, and the receipt says that the job has returned.
	Cancel Rows = 1 << iota
	// Retry sends a request again while it has no answer.
	Retry
	// Deadline ends either side when its deadline passes.
	Deadline
	// Misread ends a conversation in which a side has not understood the other. The
	// initiator sends NOT_UNDERSTOOD and does not wait any longer, and the responder stops its job.
	// A responder that cannot read a further message which it awaits sends FAILURE.
	Misread

	// All is all of them.
	All = Cancel | Retry | Deadline | Misread
)

// Complete returns own with the rows, timers, states, last commands of jobs and pairs that all
// codons share. It is pure. The result shares no slice that Complete has changed with own.
//
// Own rows win: a standard row is added only for a role, a state and a symbol without an own row.
// An own row for an act without a tag is one for all tags but [TagReceipt]. The wildcards come
// last. A pair of own wins over the pair of the same states, unless it says Also. Own pairs of an
// initiator that is timed out, abandoned or misread replace all of that state. So do own pairs of
// an initiator whose CANCEL could not reach the responder, unless it failed.
//
// A row of own needs no Arm for a request. With [Deadline] each row from Idle into a
// live state arms the deadline. With [Retry] each row of the initiator that sends an act
// which expects a reply arms the retry timer. Each reception that starts a job of the initiator, or
// brings it into a state without a reception of its own, disarms the timer, because it is the
// initiator's turn there.
// A row that names the timer keeps its effects as they are.
//
// Own needs to declare neither live states nor the states of the standard rows: a state that is
// not in Terminal is live. A job of the responder whose Ends have none of [CommandRefuse],
// [CommandNotUnderstood] and [CommandFail] gets all three, unless it is [JobChildren].
//
// The standard rows are derived from own rows. For each role and state Complete follows all rows
// from Idle and collects
//
//   - the jobs that run there: from Run until one of the job's Ends, or until Stop;
//   - the jobs that were stopped, or left behind at an end, and have not given their last command;
//   - the request that arrived last, and the act with which this side answered it;
//   - the act that this side sent last with a retry timer, and whose answer it awaits;
//   - whether the deadline and the grace timer may run.
//
// Where two ways into a state differ so that no one row is right, Complete returns an
// [*AmbiguityError]. The error joins all faults. [machine.Table.Compile] checks the result, and so
// does the exploration of package codons/machine/verify.
func (s Rows) Complete(own machine.Table) (machine.Table, error) {
	c := newCompletion(s, own)
	for _, role := range []machine.Role{machine.Responder, machine.Initiator} { // what the responder sends decides what the initiator receives
		c.addLive(role)
	}
	for _, role := range machine.Roles() {
		c.addCancelling(role)
	}
	for _, role := range machine.Roles() {
		c.addEnded(role)
	}
	c.addPairs()
	c.declare()
	return c.table, errors.Join(c.faults...)
}

// MustComplete is Complete for tables that are part of the program. It panics on a fault, which is
// a programmer's mistake.
func (s Rows) MustComplete(own machine.Table) machine.Table {
	t, err := s.Complete(own)
	if err != nil {
		panic(err)
	}
	return t
}

// AmbiguityError is a fault that [Rows.Complete] has found: the own rows of a table do not
// decide which standard row is right.
type AmbiguityError struct {
	Table string        // Table is the name of the table.
	Role  machine.Role  // Role is the role that needs the row.
	State machine.State // State is the state that needs the row.
	Fault string        // Fault describes the ambiguity.
	Write string        // Write names the row that the table must have itself.
}

// Error returns the table, the role, the state, the fault and the row to write.
func (e *AmbiguityError) Error() string {
	return "standard: " + e.Table + ": " + e.Text()
}

// Text returns the error without the name of the table.
func (e *AmbiguityError) Text() string {
	return e.Role.String() + " in " + string(e.State) + ": " + e.Fault + "; write " + e.Write
}

// completion is a table while standard rows are added to it.
type completion struct {
	standard Rows
	own      []machine.Row          // as [Rows.Complete] got them, with their timers
	table    machine.Table          // own rows and those added so far
	rows     map[rowKey]machine.Row // the row of each rowKey
	ownRows  map[rowKey]bool        // the keys of own rows
	opening  []performatives.Performative
	issuers  map[machine.Role]map[string][]machine.Job // the jobs that may give a command
	ended    [2][]machine.State                        // the terminal states of each role
	ownPairs int                                       // the number of own pairs, which come first in table.Agree
	faults   []error

	retried    map[asked]bool             // the acts of own rows that are sent with a retry timer
	proposal   performatives.Performative // the first request of the responder; zero for none
	overtaking func() []machine.Symbol    // see requestsOvertaking
}

// rowKey is the key under which the machine finds a row.
type rowKey struct {
	role  machine.Role
	state machine.State
	on    machine.Symbol
}

func newCompletion(s Rows, own machine.Table) *completion {
	c := &completion{standard: s, table: own, rows: map[rowKey]machine.Row{}, ownRows: map[rowKey]bool{}}
	c.table.Jobs = slices.Clone(own.Jobs)
	for i, j := range c.table.Jobs {
		c.table.Jobs[i].Ends = finalCommandsOf(j)
	}
	c.issuers = issuersOf(c.table.Jobs)
	for _, r := range own.Rows {
		if r.Role == machine.Initiator && slices.Contains(r.From, machine.Idle) {
			c.opening = append(c.opening, actsOf(r)...)
		}
	}
	c.own, c.table.Rows = own.Rows, nil
	for _, r := range own.Rows {
		c.table.Rows = append(c.table.Rows, c.withTimers(r))
	}
	c.own = slices.Clone(c.table.Rows)
	c.retried, c.proposal = c.retriedActs(), proposalIn(c.own)
	c.overtaking = sync.OnceValue(c.requestsOvertaking)
	for _, r := range c.own {
		for _, from := range r.From {
			for _, on := range r.On {
				c.rows[rowKey{r.Role, from, on}], c.ownRows[rowKey{r.Role, from, on}] = r, true
			}
		}
	}
	return c
}

// finalCommandsOf returns the Ends of a job. A job of the responder whose Ends have no refusal gets
// the three standard ones, but for [JobChildren].
func finalCommandsOf(j machine.Job) []string {
	turnsDown := func(command string) bool {
		return command == CommandRefuse || command == CommandNotUnderstood || command == CommandFail
	}
	if j.Role != machine.Responder || j.Name == JobChildren || slices.ContainsFunc(j.Ends, turnsDown) {
		return j.Ends
	}
	return append(slices.Clone(j.Ends), CommandRefuse, CommandNotUnderstood, CommandFail)
}

// terminal reports whether a conversation in that state has ended.
func (c *completion) terminal(s machine.State) bool {
	return slices.Contains(c.table.Terminal, s) || IsEnd(s) && !slices.Contains(c.table.Live, s)
}

// actsOf returns the acts that a row sends, without those of a refusal.
func actsOf(r machine.Row) []performatives.Performative {
	var acts []performatives.Performative
	for _, e := range r.Do {
		if e.Kind == machine.EffectSend {
			acts = append(acts, e.Act)
		}
	}
	return acts
}

// withTimers returns a row of own with the effects that arm and disarm its timers.
func (c *completion) withTimers(r machine.Row) machine.Row {
	var timers []machine.Effect
	live := r.To != "" && !c.terminal(r.To)
	if c.standard&Deadline != 0 && live && slices.Contains(r.From, machine.Idle) && !names(r, machine.TimerDeadline) {
		timers = append(timers, machine.Arm(machine.TimerDeadline))
	}
	if c.standard&Retry != 0 && !names(r, machine.TimerRetry) {
		switch arm, disarm := c.retries(r); {
		case arm:
			timers = append(timers, machine.Arm(machine.TimerRetry))
		case disarm:
			timers = append(timers, machine.Disarm(machine.TimerRetry))
		}
	}
	at := slices.IndexFunc(r.Do, func(e machine.Effect) bool { return e.Kind != machine.EffectSend })
	if at < 0 {
		at = len(r.Do)
	}
	r.Do = slices.Insert(slices.Clone(r.Do), at, timers...)
	return r
}

// sendsRequest reports whether a row sends an act that expects a reply, other than CANCEL.
func sendsRequest(r machine.Row) bool {
	return slices.ContainsFunc(actsOf(r), func(act performatives.Performative) bool {
		return act.ExpectsReply() && act != performatives.ActCancel
	})
}

// runs reports whether a row starts a job.
func runs(r machine.Row) bool {
	return slices.ContainsFunc(r.Do, func(e machine.Effect) bool { return e.Kind == machine.EffectRun })
}

// names reports whether a row arms or disarms a timer.
func names(r machine.Row, timer string) bool {
	return slices.Contains(r.Do, machine.Arm(timer)) || slices.Contains(r.Do, machine.Disarm(timer))
}

// receivesIn reports whether a role has a reception among the rows of a state.
func receivesIn(rows []machine.Row, role machine.Role, in machine.State) bool {
	return slices.ContainsFunc(rows, func(r machine.Row) bool {
		return r.Role == role && slices.Contains(r.From, in) &&
			slices.ContainsFunc(r.On, func(on machine.Symbol) bool { return on.Kind == machine.KindReceive })
	})
}

// ambiguous records a fault.
func (c *completion) ambiguous(role machine.Role, in machine.State, fault, write string) {
	c.faults = append(c.faults, &AmbiguityError{Table: c.table.Name, Role: role, State: in, Fault: fault, Write: write})
}

// free reports whether a standard row is needed: the key has no row, and no own row of the same act
// without the tag stands for it. Such a row stands for every tag. For the receipt it does so only
// if it does the same as the standard row.
func (c *completion) free(at rowKey, r machine.Row) bool {
	if _, ok := c.rows[at]; ok {
		return false
	}
	tag := at.on.Name
	if at.on.Act == 0 || tag == "" {
		return true
	}
	at.on.Name = ""
	bare := c.rows[at]
	return !c.ownRows[at] || tag == TagReceipt && (bare.To != r.To || !slices.Equal(bare.Do, r.Do))
}

// add adds a row for each of its states and symbols that has none. To is empty for a row that
// stays in its state.
func (c *completion) add(r machine.Row) {
	for _, from := range r.From {
		for _, on := range r.On {
			at := rowKey{r.Role, from, on}
			if !c.free(at, r) {
				continue
			}
			one := r
			one.From, one.On = []machine.State{from}, []machine.Symbol{on}
			c.rows[at] = one
			c.merge(one)
		}
	}
}

// merge appends a row for one state and one symbol. If the standard row before it does the same, it
// adds the symbol to that row instead.
func (c *completion) merge(one machine.Row) {
	if last := len(c.table.Rows) - 1; last >= len(c.own) && sameDoing(c.table.Rows[last], one) && slices.Equal(c.table.Rows[last].From, one.From) {
		c.table.Rows[last].On = append(c.table.Rows[last].On, one.On...)
		return
	}
	c.table.Rows = append(c.table.Rows, one)
}

// sameDoing reports whether two rows of a role do the same for the same reason.
func sameDoing(a, b machine.Row) bool {
	return a.Role == b.Role && a.To == b.To && a.Why == b.Why && slices.Equal(a.Do, b.Do)
}
