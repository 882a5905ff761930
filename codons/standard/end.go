package standard

import (
	"slices"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// addCancelling adds the rows of a role between CANCEL and the end, if it reaches
// [StateCancelling].
func (c *completion) addCancelling(role machine.Role) {
	if len(c.before(role)) == 0 {
		return
	}
	f := c.follow(role)[StateCancelling]
	if f == nil {
		return
	}
	row := machine.For(role, StateCancelling)
	timeouts := []machine.Symbol{}
	if f.any(func(w way) bool { return w.grace }) {
		timeouts = append(timeouts, machine.Timeout(machine.TimerGrace))
	}
	if f.any(func(w way) bool { return w.deadline }) {
		timeouts = append(timeouts, machine.Timeout(machine.TimerDeadline))
	}
	stop := row.When(machine.Commanded(CommandStop))
	if role == machine.Initiator {
		c.addRaces()
		c.add(row.When(timeouts...).Goto(StateTimedOut).Because("no end was heard in time"))
		c.add(stop.Goto(StateAbandoned).Because("CANCEL is on its way"))
		c.add(row.When(machine.Commanded(CommandCancel)).Stay(machine.Drop(machine.DropDuplicate)).Because("it is cancelled already"))
		c.addMisread(role, StateCancelling, f)
		c.addClocks(role, StateCancelling, f)
		c.addStoppedWords(f)
		c.addUndelivered(StateCancelling, f)
	} else {
		c.addReturns(f)
		c.add(row.When(c.overtaking()...).Stay(machine.Drop(machine.DropLate)).Because("CANCEL has overtaken it"))
		failure := machine.Send(performatives.ActFailure)
		c.add(row.When(timeouts...).Goto(StateFailed, failure).Because("the handler has not returned: the work must not count as cancelled"))
		c.add(stop.Goto(StateFailed, failure).Because("the agent stops before its handler has returned"))
		if c.has(Misread) && f.any(func(w way) bool { return w.spoke }) {
			c.add(row.When(machine.Receive(performatives.ActNotUnderstood)).Stay(machine.Drop(machine.DropLate)).
				Because("it is cancelled already"))
		}
	}
	c.addPeerLost(role, StateCancelling)
	c.add(row.When(c.agentCommands(role, c.before(role))...).Stay(machine.Drop(machine.DropLate)).Because("it is cancelled already"))
	c.addLateCommands(role, StateCancelling, f)
}

// before returns the states from which a role reaches [StateCancelling].
func (c *completion) before(role machine.Role) []machine.State {
	var states []machine.State
	for _, r := range c.table.Rows {
		if r.Role == role && r.To == StateCancelling {
			states = append(states, r.From...)
		}
	}
	return states
}

// addRaces adds the rows of the initiator after CANCEL for the receptions of the states before it.
// A reception that ends the conversation there wins the race with CANCEL. Any other is dropped.
func (c *completion) addRaces() {
	wins, late := c.races()
	row := machine.Asks(StateCancelling)
	for _, r := range wins {
		c.add(row.When(r.On...).Goto(r.To, r.Do...).
			Because("it won the race with CANCEL, or is the answer to that"))
	}
	for _, on := range late {
		c.add(row.When(on).Stay(machine.Drop(machine.DropLate)).Because("it says nothing about the end"))
	}
	c.add(row.When(machine.ReceiveTagged(performatives.ActInform, TagReceipt)).Goto(StateCancelled).
		Because("the receipt: nothing runs any more (addenda §6)"))
}

// races returns the receptions that win, a row for each symbol, and the others.
func (c *completion) races() (wins []machine.Row, late []machine.Symbol) {
	before := c.before(machine.Initiator)
	for _, r := range c.table.Rows {
		if r.Role != machine.Initiator || !slices.ContainsFunc(r.From, func(s machine.State) bool { return slices.Contains(before, s) }) {
			continue
		}
		for _, on := range r.On {
			switch {
			case on.Kind != machine.KindReceive:
			case c.terminal(r.To) && len(actsOf(r)) == 0: // one that sends an answer does not win: a withdrawn request needs none
				wins = c.addWin(wins, machine.Row{On: []machine.Symbol{on}, To: r.To, Do: reported(r)})
			case r.To == "" || !c.terminal(r.To):
				late = append(late, on)
			}
		}
	}
	return wins, late
}

// addWin adds a reception that wins, unless another row of it ends in another state.
func (c *completion) addWin(wins []machine.Row, win machine.Row) []machine.Row {
	for _, w := range wins {
		if w.On[0] != win.On[0] {
			continue
		}
		if c.free(rowKey{machine.Initiator, StateCancelling, win.On[0]}, win) && w.To != win.To {
			write := "the row for " + win.On[0].String()
			if win.On[0].Name == "" {
				write = "two message types, which machine.SendTagged and machine.ReceiveTagged name, or " + write
			}
			c.ambiguous(machine.Initiator, StateCancelling, win.On[0].String()+" ends in "+string(w.To)+" or in "+string(win.To), write)
		}
		return wins
	}
	return append(wins, win)
}

// reported returns the effects by which a row reports to the agent.
func reported(r machine.Row) []machine.Effect {
	return slices.DeleteFunc(slices.Clone(r.Do), func(e machine.Effect) bool { return e.Kind != machine.EffectReport })
}

// addReturns adds the rows of the responder for the commands of the jobs that CANCEL has stopped.
func (c *completion) addReturns(f *facts) {
	says, ends := c.commandsOfJobs(machine.Responder, f.active())
	row := machine.Answers(StateCancelling)
	c.add(row.When(ends...).Goto(StateCancelled, SendReceipt).Because("the handler has returned; what it made was withdrawn"))
	c.add(row.When(says...).Stay(machine.Drop(machine.DropLate)).Because("the initiator has withdrawn the request and does not need it"))
}

// addStoppedWords drops the words of the initiator's jobs that its cancellation has stopped.
func (c *completion) addStoppedWords(f *facts) {
	says, ends := c.commandsOfJobs(machine.Initiator, f.active())
	c.add(machine.Asks(StateCancelling).When(append(says, ends...)...).Stay(machine.Drop(machine.DropLate)).
		Because("the job was stopped with the conversation"))
}

// addEnded adds the rows of a role after the end, and the wildcards of all its states.
func (c *completion) addEnded(role machine.Role) {
	all := c.follow(role)
	live := c.states(role, all, func(s machine.State) bool { return !c.terminal(s) })
	ended := c.states(role, all, c.terminal)
	c.ended[role] = ended
	for _, s := range ended {
		if role == machine.Responder {
			c.addReplays(s, all[s])
			c.addRepeatedReplays(s)
		}
		c.addLateCommands(role, s, all[s])
	}
	if c.has(Misread) && role == machine.Responder {
		c.add(machine.Answers(c.heard()...).When(machine.Receive(performatives.ActNotUnderstood)).Stay(machine.Drop(machine.DropLate)).
			Because("it is about the end, which stands"))
	}
	c.addLateRequests(role, ended)
	c.add(machine.For(role, ended...).When(c.agentCommands(role, live)...).Stay(machine.Drop(machine.DropLate)).
		Because("the end came first"))
	for _, r := range others(role, live, ended) {
		if len(r.From) > 0 && (r.On[0] != machine.OtherRefusedCopies() || c.sendsRefusable(role)) {
			c.add(r)
		}
	}
}

// addLateRequests takes what the responder asks of an initiator that has ended, such as a PROPOSE:
// it is refused where the responder waits for that answer, so that a proposal does not bind it
// (addenda §6), and dropped elsewhere.
func (c *completion) addLateRequests(role machine.Role, ended []machine.State) {
	if role != machine.Initiator {
		return
	}
	for _, r := range c.own {
		for _, e := range r.Do {
			if r.Role != machine.Responder || r.To == "" || c.terminal(r.To) || e.Kind != machine.EffectSend || !e.Act.ExpectsReply() {
				continue
			}
			late := machine.Refuse(performatives.CodeExpired)
			if !slices.Contains(c.waitingFor(late.Answer(e.Act)), r.To) {
				late = machine.Drop(machine.DropLate)
			}
			c.add(machine.Asks(ended...).When(machine.ReceiveTagged(e.Act, e.Name)).Stay(late).
				Because("the end came first: a late proposal must not bind the responder"))
		}
	}
}

// sendsRefusable reports whether a row of a role sends an act of which the runtime reports a
// refusal.
func (c *completion) sendsRefusable(role machine.Role) bool {
	return slices.ContainsFunc(c.table.Rows, func(r machine.Row) bool {
		return r.Role == role && slices.ContainsFunc(actsOf(r), func(act performatives.Performative) bool {
			return act.ExpectsReply() || role == machine.Initiator && slices.Contains(c.opening, act)
		})
	})
}

// addRepeatedReplays answers a duplicate of a request that an own row of a terminal state answers
// by its message type. A duplicate of the only request of its act has a row before, where it needs
// one.
func (c *completion) addRepeatedReplays(s machine.State) {
	for _, r := range c.own {
		for _, on := range r.On {
			if r.Role == machine.Responder && slices.Contains(r.From, s) && on.Kind == machine.KindReceive && on.Name != "" && r.Do[0].Kind == machine.EffectResend && c.asksFor(machine.Initiator, on.Act) {
				c.add(machine.Answers(s).When(machine.Duplicate(on.Act)).Stay(r.Do...).Because("the initiator has not heard the answer to the first copy"))
			}
		}
	}
}

// addReplays adds the answers of the responder that has ended to an initiator that has not heard
// the end: a duplicate of its request, a further request and a CANCEL that come too late.
func (c *completion) addReplays(s machine.State, f *facts) {
	if s == StateCancelled {
		c.addReceipts()
		return
	}
	var on []machine.Symbol
	for _, request := range values(f, func(w way) performatives.Performative { return w.request }) {
		if request != 0 {
			on = append(on, machine.Duplicate(request))
		}
	}
	if c.has(Cancel) {
		on = append(on, machine.Receive(performatives.ActCancel), machine.Duplicate(performatives.ActCancel))
	}
	on = append(on, c.crossing(s)...)
	for _, of := range c.overtaking() {
		on = append(on, of, machine.Duplicate(of.Act))
	}
	on = slices.DeleteFunc(on, func(on machine.Symbol) bool { _, own := c.rows[rowKey{machine.Responder, s, on}]; return own })
	given := values(f, func(w way) performatives.Performative { return w.answer })
	switch {
	case len(on) == 0:
	case len(given) > 1:
		c.ambiguous(machine.Responder, s, "the act that ended the conversation depends on the way", "the rows for a duplicate of the request and for CANCEL")
	case given[0] != 0:
		c.add(machine.Answers(s).When(on...).Stay(machine.Resend(given[0])).
			Because("the initiator has not heard the end; to CANCEL too the true end is the answer"))
	}
}

// crossing returns the requests of the initiator that may cross with an end of the responder's own,
// such as that by a timer: those which the states before it take.
func (c *completion) crossing(end machine.State) (requests []machine.Symbol) {
	if IsEnd(end) {
		return nil
	}
	for _, r := range c.own {
		if r.Role != machine.Responder || r.To != end || r.On[0].Kind == machine.KindReceive {
			continue
		}
		for _, taking := range c.own {
			if taking.Role != machine.Responder || !slices.ContainsFunc(taking.From, func(s machine.State) bool { return slices.Contains(r.From, s) }) {
				continue
			}
			for _, on := range taking.On {
				if on.Kind == machine.KindReceive && c.asksFor(machine.Initiator, on.Act) && !slices.Contains(requests, on) {
					requests = append(requests, on)
				}
			}
		}
	}
	return requests
}

// requestsOvertaking returns the requests that the initiator sends while the one before has no
// answer, such as a withdrawal, and those before them: each may cross with any end, or overtake the
// other.
func (c *completion) requestsOvertaking() (requests []machine.Symbol) {
	add := func(r machine.Row) {
		for _, e := range r.Do {
			on := machine.ReceiveTagged(e.Act, e.Name)
			if e.Kind == machine.EffectSend && c.asksFor(machine.Initiator, e.Act) && !slices.Contains(requests, on) {
				requests = append(requests, on)
			}
		}
	}
	all := c.follow(machine.Initiator)
	for _, r := range c.own {
		for _, from := range r.From {
			f := all[from]
			if r.Role != machine.Initiator || r.On[0].Kind != machine.KindCommand && r.On[0].Kind != machine.KindTimeout || !sendsRequest(r) ||
				f == nil || !f.any(func(w way) bool { return w.pending != 0 }) {
				continue
			}
			add(r)
			for _, before := range c.own {
				if before.Role == machine.Initiator && before.To == from {
					add(before)
				}
			}
		}
	}
	return requests
}

// addReceipts adds the answers of the responder that was cancelled.
func (c *completion) addReceipts() {
	if !c.has(Cancel) {
		return
	}
	on := []machine.Symbol{machine.Duplicate(performatives.ActCancel)}
	for _, r := range c.own {
		for _, of := range r.On {
			if r.Role == machine.Responder && of.Kind == machine.KindReceive && c.asksFor(machine.Initiator, of.Act) {
				on = append(on, machine.Receive(of.Act), machine.Duplicate(of.Act))
			}
		}
	}
	c.add(machine.Answers(StateCancelled).When(on...).Stay(machine.Resend(performatives.ActInform)).
		Because("the initiator has not heard the receipt, or its CANCEL overtook the act"))
}
