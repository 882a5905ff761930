package standard

import (
	"slices"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// has reports whether the table completes with a group of rows.
func (c *completion) has(group Rows) bool { return c.standard&group != 0 }

// SendReceipt is the effect that sends the receipt, the INFORM that answers a CANCEL, for tables
// that have rows of their own for it.
var SendReceipt = machine.SendTagged(performatives.ActInform, TagReceipt)

// addLive adds the rows of a role in its live states, but for [StateCancelling].
func (c *completion) addLive(role machine.Role) {
	all := c.follow(role)
	if c.has(Cancel) && role == machine.Responder && c.table.Has(role) {
		c.add(machine.Answers(machine.Idle).When(machine.Receive(performatives.ActCancel)).
			Goto(StateCancelled, SendReceipt).
			Because("CANCEL has a higher priority and overtook the opening act, or that was lost"))
	}
	for _, s := range c.states(role, all, func(s machine.State) bool { return !c.terminal(s) && s != StateCancelling }) {
		if role == machine.Responder {
			c.addTurningDown(s, all[s])
			c.addRepeats(s, all[s])
		} else {
			c.addTurnedDown(s, all[s])
			c.addUndelivered(s, all[s])
		}
		c.addWithdrawal(role, s, all[s])
		c.addPeerLost(role, s)
		c.addMisread(role, s, all[s])
		if role == machine.Responder {
			c.addMisreading(s, all[s])
		}
		c.addClocks(role, s, all[s])
		c.addLateCommands(role, s, all[s])
		if role == machine.Initiator && len(c.overtaking()) > 0 {
			c.addStale(s)
		}
	}
}

// addStale drops the answers to a request before the latest, where the state has no row for such an
// answer.
func (c *completion) addStale(s machine.State) {
	for _, r := range c.own {
		for _, e := range r.Do {
			_, own := c.rows[rowKey{machine.Initiator, s, machine.ReceiveTagged(e.Act, e.Name)}]
			_, bare := c.rows[rowKey{machine.Initiator, s, machine.Receive(e.Act)}]
			if r.Role == machine.Responder && e.Kind == machine.EffectSend && !own && !bare {
				c.add(machine.Asks(s).When(machine.StaleTagged(e.Act, e.Name)).Stay(machine.Drop(machine.DropStale)).Because("a later request has taken its place"))
			}
		}
	}
}

// stopped returns the effects that stop the jobs which run in a state. It is false where the ways
// into it differ.
func (c *completion) stopped(role machine.Role, s machine.State, f *facts) ([]machine.Effect, bool) {
	running := values(f, func(w way) string { return w.running })
	if len(running) > 1 {
		c.ambiguous(role, s, "a job runs there on one way and not on another", "the rows for receive CANCEL, timeout deadline and command stop")
		return nil, false
	}
	var stop []machine.Effect
	for _, job := range jobsOf(running[0]) {
		stop = append(stop, machine.Stop(job))
	}
	return stop, true
}

// addWithdrawal adds the ways in which either side ends the conversation: CANCEL, the deadline,
// and the stop of an agent.
func (c *completion) addWithdrawal(role machine.Role, s machine.State, f *facts) {
	row := machine.For(role, s)
	events := c.withdrawals(role, f)
	if !slices.ContainsFunc(events, func(on machine.Symbol) bool { _, own := c.rows[rowKey{role, s, on}]; return !own }) {
		return
	}
	stop, ok := c.stopped(role, s, f)
	if !ok {
		return
	}
	disarm := f.disarms()
	for _, on := range events {
		if role == machine.Initiator {
			c.add(c.leave(row.When(on), stop, disarm))
		} else {
			c.add(giveUp(row.When(on), stop, disarm, f.any(func(w way) bool { return len(w.active()) > 0 })))
		}
	}
}

// disarms returns the effects that disarm the own timers which may run in a state.
func (f *facts) disarms() (effects []machine.Effect) {
	for _, w := range f.ways {
		for _, name := range jobsOf(w.timers) {
			if e := machine.Disarm(name); !slices.Contains(effects, e) {
				effects = append(effects, e)
			}
		}
	}
	return effects
}

// withdrawals returns the symbols of addWithdrawal.
func (c *completion) withdrawals(role machine.Role, f *facts) []machine.Symbol {
	var events []machine.Symbol
	switch {
	case !c.has(Cancel):
	case role == machine.Initiator:
		events = append(events, machine.Commanded(CommandCancel))
	default:
		events = append(events, machine.Receive(performatives.ActCancel))
	}
	if c.has(Deadline) && f.any(func(w way) bool { return w.deadline }) {
		events = append(events, machine.Timeout(machine.TimerDeadline))
	}
	return append(events, machine.Commanded(CommandStop))
}

// leave completes a row of the initiator for CANCEL, the deadline or a stop.
func (c *completion) leave(row machine.Row, stop, disarm []machine.Effect) machine.Row {
	var cancel []machine.Effect
	if c.has(Cancel) && c.table.Has(machine.Responder) {
		cancel = append(cancel, machine.Send(performatives.ActCancel))
	}
	switch row.On[0] {
	case machine.Timeout(machine.TimerDeadline):
		return row.Goto(StateTimedOut, stop...).
			Because("the responder keeps the same deadline and stops by itself")
	case machine.Commanded(CommandStop):
		return row.Goto(StateAbandoned, slices.Concat(stop, cancel)...).
			Because("the agent stops and does not wait any longer; the responder need not go on")
	}
	timers := []machine.Effect{machine.Arm(machine.TimerGrace)}
	if c.has(Retry) {
		timers = append(timers, machine.Arm(machine.TimerRetry))
	}
	return row.Goto(StateCancelling, slices.Concat(stop, cancel, disarm, timers)...).
		Because("the answer may be on its way, so the next reception decides how it ends")
}

// addPeerLost adds what either side does when the destination of its peer has gone. The responder
// ends as when its own agent stops. The initiator ends, too, and sends nothing.
func (c *completion) addPeerLost(role machine.Role, s machine.State) {
	stop, ok := c.rows[rowKey{role, s, machine.Commanded(CommandStop)}]
	if !ok || !c.table.Has(role.Other()) {
		return
	}
	row := machine.For(role, s).When(machine.PeerLost())
	if role == machine.Responder {
		stop.Role, stop.From, stop.On = row.Role, row.From, row.On
		c.add(stop.Because("an initiator that comes back gets the FAILURE"))
		return
	}
	jobs := slices.DeleteFunc(slices.Clone(stop.Do), func(e machine.Effect) bool { return e.Kind != machine.EffectStop })
	c.add(row.Goto(StateFailed, jobs...).
		Because("the responder cannot be reached, and all that it delivered before has been read"))
}

// giveUp completes a row of the responder for CANCEL, the deadline or a stop.
func giveUp(row machine.Row, stop, disarm []machine.Effect, busy bool) machine.Row {
	switch row.On[0] {
	case machine.Timeout(machine.TimerDeadline):
		return row.Goto(StateTimedOut, append(slices.Clone(stop), machine.Send(performatives.ActFailure))...).
			Because("the initiator has the same deadline and waits no longer")
	case machine.Commanded(CommandStop):
		return row.Goto(StateFailed, append(slices.Clone(stop), machine.Send(performatives.ActFailure))...).
			Because("the agent stops: the initiator need not wait for its deadline")
	}
	if busy {
		return row.Goto(StateCancelling, slices.Concat(stop, disarm, []machine.Effect{machine.Arm(machine.TimerGrace)})...).
			Because("the receipt goes out when the handler has returned")
	}
	return row.Goto(StateCancelled, SendReceipt).
		Because("no handler runs that would have to stop first")
}

// addMisread adds NOT_UNDERSTOOD about a message that came after the request: the initiator sends
// it and ends, and the responder stops. A responder that has sent nothing cannot be misunderstood.
func (c *completion) addMisread(role machine.Role, s machine.State, f *facts) {
	on := machine.Commanded(CommandMisread)
	if role == machine.Responder {
		on = machine.Receive(performatives.ActNotUnderstood)
	}
	spoke := role == machine.Initiator || f.any(func(w way) bool { return w.spoke })
	if _, own := c.rows[rowKey{role, s, on}]; own || !spoke || !c.has(Misread) || !c.table.Has(machine.Responder) {
		return
	}
	stop, ok := c.stopped(role, s, f)
	if !ok {
		return
	}
	if role == machine.Initiator {
		c.add(machine.Asks(s).When(on).Goto(StateMisread, append(stop, machine.Send(performatives.ActNotUnderstood))...).
			Because("what the responder has sent cannot be read, so its answer is not known; it need not go on"))
		return
	}
	c.add(machine.Answers(s).When(on).Goto(StateFailed, append(stop, machine.Send(performatives.ActFailure))...).
		Because("the initiator has not understood a message and waits no longer"))
}

// addMisreading adds the rows of a responder that awaits a further message of the initiator, such
// as ACCEPT_PROPOSAL, and cannot read it: the responder says so and ends. No job runs there.
func (c *completion) addMisreading(s machine.State, f *facts) {
	if !c.has(Misread) || !c.awaits(s) || f.any(func(w way) bool { return len(w.active()) > 0 }) {
		return
	}
	c.add(machine.Answers(s).When(machine.Commanded(CommandMisread)).
		Goto(StateFailed, machine.Send(performatives.ActFailure)).
		Because("what the initiator has sent cannot be read, so it is not known what it wants; nothing binds this side any longer"))
}

// awaits reports whether own rows of the responder receive a further message of the initiator in a
// state, and do not only drop it.
func (c *completion) awaits(s machine.State) bool {
	return slices.ContainsFunc(c.own, func(r machine.Row) bool {
		return r.Role == machine.Responder && slices.Contains(r.From, s) && !drops(r) && slices.ContainsFunc(r.On, func(on machine.Symbol) bool {
			return on.Kind == machine.KindReceive && on.Act != performatives.ActCancel && on.Act != performatives.ActNotUnderstood
		})
	})
}

// drops reports whether a row only drops a message.
func drops(r machine.Row) bool {
	return r.To == "" && slices.ContainsFunc(r.Do, func(e machine.Effect) bool { return e.Kind == machine.EffectDrop })
}

// addTurningDown adds the rows for the commands with which a job of the responder refuses a request
// or fails. A request that was already answered, as by AGREE, can only fail.
func (c *completion) addTurningDown(s machine.State, f *facts) {
	for _, d := range denials() {
		on := machine.Commanded(d.Command)
		busy := slices.DeleteFunc(slices.Clone(f.ways), func(w way) bool {
			return !slices.ContainsFunc(c.issuersFor(machine.Responder, on), func(j machine.Job) bool { return slices.Contains(jobsOf(w.running), j.Name) })
		})
		if _, own := c.rows[rowKey{machine.Responder, s, on}]; own || len(busy) == 0 {
			continue
		}
		answered := values(&facts{ways: busy}, func(w way) bool { return w.answer != 0 })
		switch {
		case len(answered) > 1 && d.Command != CommandFail:
			c.ambiguous(machine.Responder, s, "the request was answered on one way and not on another", "the row for "+on.String())
		case answered[0] && d.Command != CommandFail:
			c.add(machine.Answers(s).When(on).Goto(StateFailed, machine.Send(performatives.ActFailure)).
				Because("a request that was agreed to can only be done or fail"))
		default:
			c.add(machine.Answers(s).When(on).Goto(d.End, machine.Send(d.Act)).Because(d.Why))
		}
	}
}

// denials returns the answers that refuse a request or report its failure, in all codons.
func denials() []AnswerAct {
	return []AnswerAct{
		{CommandRefuse, performatives.ActRefuse, StateRefused, "not for this initiator, or not now (addenda §6)"},
		{CommandNotUnderstood, performatives.ActNotUnderstood, StateNotUnderstood, "it answers any act and ends the conversation (addenda §6)"},
		{CommandFail, performatives.ActFailure, StateFailed, "it was tried and could not be carried out"},
	}
}

// addTurnedDown adds the receptions of what the responder sends by addTurningDown or when it gives
// up. FAILURE may come at any time, the others only while a request has no answer.
func (c *completion) addTurnedDown(s machine.State, f *facts) {
	waits := f.any(func(w way) bool { return w.pending != 0 })
	for _, d := range denials() {
		on := machine.Receive(d.Act)
		if _, own := c.rows[rowKey{machine.Initiator, s, on}]; own || !c.responderSends(d.Act) || !waits && d.Act != performatives.ActFailure {
			continue
		}
		stop, ok := c.stopped(machine.Initiator, s, f)
		if !ok {
			return
		}
		c.add(machine.Asks(s).When(on).Goto(d.End, stop...).Because(d.Why))
	}
}

// addUndelivered adds what the initiator does when no copy of the message whose answer it awaits
// can have arrived: the same as when the responder turns that message down.
func (c *completion) addUndelivered(s machine.State, f *facts) {
	for _, act := range values(f, func(w way) performatives.Performative { return w.awaited }) {
		for _, answer := range refusalsOf(act) {
			if r, ok := c.rows[rowKey{machine.Initiator, s, machine.Receive(answer)}]; ok && r.To != "" {
				c.add(machine.Asks(s).When(machine.Undelivered(act)).Goto(r.To, r.Do...).
					Because("the runtime has refused every copy, so the responder has none"))
				break
			}
		}
	}
}

// refusalsOf returns the acts that turn an act down, the usual one first, none for no act.
func refusalsOf(act performatives.Performative) []performatives.Performative {
	switch {
	case act == 0:
		return nil
	case !act.ExpectsReply(): // it informs, and the responder does not take it (SC00037J)
		return []performatives.Performative{performatives.ActDisconfirm, performatives.ActFailure}
	}
	return []performatives.Performative{machine.Refuse(performatives.CodeBusy).Answer(act), performatives.ActFailure}
}

// responderSends reports whether a row of the responder sends an act.
func (c *completion) responderSends(act performatives.Performative) bool {
	return slices.ContainsFunc(c.table.Rows, func(r machine.Row) bool {
		return r.Role == machine.Responder && slices.Contains(actsOf(r), act)
	})
}

// addRepeats adds what the responder does with a duplicate of the request that it has answered. A
// duplicate of one without an answer is dropped by a wildcard.
func (c *completion) addRepeats(s machine.State, f *facts) {
	for _, request := range values(f, func(w way) performatives.Performative { return w.request }) {
		on := machine.Duplicate(request)
		if _, own := c.rows[rowKey{machine.Responder, s, on}]; own || request == 0 {
			continue
		}
		same := &facts{ways: slices.DeleteFunc(slices.Clone(f.ways), func(w way) bool { return w.request != request })}
		switch given := values(same, func(w way) performatives.Performative { return w.answer }); {
		case len(given) > 1:
			c.ambiguous(machine.Responder, s, "its latest answer depends on the way", "the row for "+on.String())
		case given[0] != 0:
			c.add(machine.Answers(s).When(on).Stay(machine.Resend(given[0])).
				Because("the initiator has perhaps not heard the latest answer"))
		}
	}
}

// addClocks adds the retries of a request.
func (c *completion) addClocks(role machine.Role, s machine.State, f *facts) {
	if !c.has(Retry) {
		return
	}
	pending := values(f, func(w way) performatives.Performative { return w.pending })
	pending = slices.DeleteFunc(pending, func(act performatives.Performative) bool { return act == 0 })
	on := machine.Timeout(machine.TimerRetry)
	if _, own := c.rows[rowKey{role, s, on}]; own || len(pending) == 0 {
		return
	}
	if len(pending) > 1 {
		c.ambiguous(role, s, "the request without an answer depends on the way", "the row for "+on.String())
		return
	}
	c.add(machine.For(role, s).When(on).Stay(machine.Resend(pending[0]), machine.Arm(machine.TimerRetry)).
		Because("the message or its answer was lost: the same id lets the peer tell a retry from a second one"))
}

// addLateCommands adds rows that drop the commands of jobs that were left behind, and of those of
// the initiator that were stopped. CANCEL waits for a stopped job of the responder, so that its row
// is the author's.
func (c *completion) addLateCommands(role machine.Role, s machine.State, f *facts) {
	late := slices.Clone(f.left)
	for _, w := range f.ways {
		if role == machine.Initiator {
			late = append(late, jobsOf(w.stopping)...)
		}
	}
	says, ends := c.commandsOfJobs(role, late)
	c.add(machine.For(role, s).When(append(says, ends...)...).Stay(machine.Drop(machine.DropLate)).
		Because("the handler outlived its part of the conversation"))
}
