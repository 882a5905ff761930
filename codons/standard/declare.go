package standard

import (
	"slices"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// addPairs adds the ways in which a conversation with the standard rows may end. Both sides end
// alike, unless one of them ends by its own clock or by the stop of its agent.
func (c *completion) addPairs() {
	initiator, responder := c.ended[machine.Initiator], c.ended[machine.Responder]
	own := slices.DeleteFunc(slices.Clone(c.table.Agree), func(p machine.Pair) bool { return p.Also })
	defer c.addCauses(c.table.Agree)
	leaves := func(s machine.State) bool {
		return slices.Contains(initiator, s) && !slices.ContainsFunc(own, func(p machine.Pair) bool { return p.Initiator == s })
	}
	c.table.Agree, c.ownPairs = own, len(own)
	for _, end := range responder {
		if slices.Contains(initiator, end) && end != StateTimedOut && end != StateAbandoned {
			c.pair(machine.Pair{Initiator: end, Responder: end, After: c.onlyCauses(end)})
		}
	}
	c.addFarewells()
	if slices.Contains(initiator, StateFailed) && slices.Contains(responder, StateTimedOut) {
		c.pair(machine.Pair{
			Initiator: StateFailed, Responder: StateTimedOut, After: c.causes(machine.Responder, StateTimedOut),
			Note: "its FAILURE says so",
		})
	}
	undelivered := len(c.table.Agree)
	if slices.Contains(initiator, StateFailed) {
		c.pairForgotten()
	}
	for _, r := range c.table.Rows {
		for _, on := range r.On {
			if on.Kind == machine.KindUndelivered && slices.Contains(initiator, r.To) {
				uncancelled := c.heard()
				switch {
				case leaves(r.To):
					uncancelled = responder
				case r.To != StateFailed:
					uncancelled = nil
				}
				c.addUndeliveredPairs(on.Act, r, uncancelled, undelivered)
			}
		}
	}
	c.addMisreadCauses()
	c.addLostPairs()
	if leaves(StateTimedOut) {
		c.pairAll(StateTimedOut, c.heard())
	}
	if leaves(StateAbandoned) {
		c.pairAll(StateAbandoned, responder)
	}
	if leaves(StateMisread) {
		for _, end := range c.heard() {
			c.pair(machine.Pair{Initiator: StateMisread, Responder: end, After: c.causes(machine.Initiator, StateMisread)})
		}
	}
}

// addCauses adds the causes of own pairs that are in addition to those of another pair.
func (c *completion) addCauses(own []machine.Pair) {
	for _, p := range own {
		if !p.Also {
			continue
		}
		p.Also = false
		c.pair(p)
		for _, cause := range p.After {
			c.pairAfter(p.Initiator, p.Responder, cause, 0)
		}
	}
}

// onlyCauses returns the timers and the commands of the runtime that bring the responder into a
// terminal state. It returns none if another event does so, too.
func (c *completion) onlyCauses(end machine.State) []machine.Cause {
	causes := c.causes(machine.Responder, end)
	for _, r := range c.table.Rows {
		for _, on := range r.On {
			if r.Role == machine.Responder && r.To == end && !slices.Contains(causes, machine.At(machine.Responder, on)) {
				return nil
			}
		}
	}
	return causes
}

// addFarewells adds the ends of a responder that has not got the last message of an initiator which
// ended with it: nothing sends that again, so a timer, a stop or the loss of the peer ends the
// responder. A responder that asks again is answered again. After a timer of its own the initiator
// may cross with a refusal or a failure, too.
func (c *completion) addFarewells() {
	for _, r := range c.own {
		if r.Role != machine.Initiator || !c.terminal(r.To) || IsEnd(r.To) {
			continue
		}
		for _, on := range r.On {
			for _, d := range denials() {
				if on.Kind == machine.KindTimeout && !IsTimer(on.Name) && slices.Contains(c.ended[machine.Responder], d.End) {
					c.pairAfter(r.To, d.End, machine.At(machine.Initiator, on), c.ownPairs)
				}
			}
		}
		for _, act := range actsOf(r) {
			waiting := c.waitingFor(act)
			for _, s := range waiting {
				c.addClockPairs(r.To, s)
			}
			known := func(o machine.Rest) bool { return slices.Contains(o.Initiator, r.To) }
			waiting = slices.DeleteFunc(waiting, func(s machine.State) bool { // it asks again, and is answered again
				_, asks := c.rows[rowKey{machine.Responder, s, machine.Timeout(machine.TimerRetry)}]
				return asks
			})
			if len(waiting) > 0 && !slices.ContainsFunc(c.table.Rest, known) {
				c.table.Rest = append(slices.Clip(c.table.Rest), machine.Rest{
					Initiator: []machine.State{r.To}, Responder: waiting, ToldOnce: true, Why: "the " + act.String() + " that ended the initiator was lost",
				})
			}
		}
	}
}

// waitingFor returns the live states in which own rows of the responder receive an act.
func (c *completion) waitingFor(act performatives.Performative) (states []machine.State) {
	for _, r := range c.own {
		if r.Role == machine.Responder && r.To != "" && receives(r, act) {
			for _, s := range r.From {
				if s != machine.Idle && !c.terminal(s) && !slices.Contains(states, s) {
					states = append(states, s)
				}
			}
		}
	}
	return states
}

// addClockPairs adds the rough pairs of an initiator's end with the ends to which the timers of the
// responder in a state, or the stop of its agent, lead.
func (c *completion) addClockPairs(initiator, s machine.State) {
	for _, on := range c.clocksOf(s) {
		if end := c.rows[rowKey{machine.Responder, s, on}].To; c.terminal(end) {
			c.pairAfter(initiator, end, machine.At(machine.Responder, on), c.ownPairs)
		}
	}
}

// clocksOf returns the timers with a row of the responder in a state, and the stop of its agent.
func (c *completion) clocksOf(s machine.State) []machine.Symbol {
	clocks := []machine.Symbol{machine.Timeout(machine.TimerDeadline), machine.Commanded(CommandStop)}
	for _, t := range c.table.Timers {
		if t.Role == machine.Responder && !IsTimer(t.Name) {
			clocks = append(clocks, machine.Timeout(t.Name))
		}
	}
	return clocks
}

// pairAfter adds a cause to the rough pair of two states, or adds the pair. A pair before the one
// with that index, and one that is not rough, stay as they are.
func (c *completion) pairAfter(initiator, responder machine.State, cause machine.Cause, from int) {
	switch i := c.indexOf(initiator, responder); {
	case i < 0:
		c.table.Agree = append(c.table.Agree, machine.Pair{Initiator: initiator, Responder: responder, After: []machine.Cause{cause}})
	case i >= from && c.table.Agree[i].Rough():
		addCause(&c.table.Agree[i], cause)
	}
}

// addCause adds a cause to a pair that does not have it.
func addCause(p *machine.Pair, cause machine.Cause) {
	if !slices.Contains(p.After, cause) {
		p.After = append(slices.Clip(p.After), cause)
	}
}

// indexOf returns the index of the pair of two states, or -1.
func (c *completion) indexOf(initiator, responder machine.State) int {
	return slices.IndexFunc(c.table.Agree, func(p machine.Pair) bool { return p.Initiator == initiator && p.Responder == responder })
}

// addMisreadCauses adds a cause to the rough pairs in which the responder ends as by a stop: it
// could not read a message of the initiator.
func (c *completion) addMisreadCauses() {
	stop, misread := machine.At(machine.Responder, machine.Commanded(CommandStop)), machine.At(machine.Responder, machine.Commanded(CommandMisread))
	if !c.table.Takes(machine.Responder, machine.Commanded(CommandMisread)) {
		return
	}
	for i := range c.table.Agree {
		if p := &c.table.Agree[i]; p.Responder == StateFailed && slices.Contains(p.After, stop) {
			addCause(p, misread)
		}
	}
}

// addUndeliveredPairs adds the rough pairs of an initiator that a row ends because its message of
// an act cannot have arrived. A responder that waits for the act then ends by its deadline or a
// stop, or does not begin. Without CANCEL it may end as uncancelled, or not begin. The pairs of
// other acts begin at from.
func (c *completion) addUndeliveredPairs(act performatives.Performative, r machine.Row, uncancelled []machine.State, from int) {
	cause := machine.At(machine.Initiator, machine.Undelivered(act))
	add := func(end machine.State) { c.pairAfter(r.To, end, cause, from) }
	if act == performatives.ActCancel {
		for _, end := range uncancelled {
			if end != StateCancelled {
				add(end)
			}
		}
		if uncancelled != nil {
			add(machine.Idle)
		}
		return
	}
	for _, o := range c.own {
		if o.Role != machine.Responder || o.To == "" || c.terminal(o.To) || !receives(o, act) {
			continue
		}
		for _, s := range o.From {
			if s == machine.Idle {
				if !slices.Contains(c.opening, act) || c.sendsInto(act, r.From[0], true) {
					add(machine.Idle)
				}
				continue
			}
			for _, on := range c.clocksOf(s) {
				if end := c.rows[rowKey{machine.Responder, s, on}].To; c.terminal(end) && c.sendsInto(act, r.From[0], false) {
					add(end)
				}
			}
		}
	}
}

// receives reports whether a row is for the reception of an act, with whatever tag.
func receives(r machine.Row, act performatives.Performative) bool {
	return slices.ContainsFunc(r.On, func(on machine.Symbol) bool { return on.Kind == machine.KindReceive && on.Act == act })
}

// addLostPairs adds the rough pairs of a side that ends because the destination of its peer has
// gone. The initiator knows nothing of the end of the responder then. The responder ends as by the
// stop of its agent.
func (c *completion) addLostPairs() {
	stop, lost := machine.At(machine.Responder, machine.Commanded(CommandStop)), machine.At(machine.Responder, machine.PeerLost())
	for i := range c.table.Agree {
		if p := &c.table.Agree[i]; slices.Contains(p.After, stop) {
			addCause(p, lost)
		}
	}
	for _, r := range c.table.Rows {
		if r.Role == machine.Initiator && slices.Contains(r.On, machine.PeerLost()) {
			for _, end := range append(c.heard(), machine.Idle) {
				c.pairLost(r.To, end)
			}
		}
	}
}

// pairLost adds a pair of an initiator that has lost its peer. A rough pair of the same states gets
// the cause, unless the responder ends so by an event of its own.
func (c *completion) pairLost(initiator, responder machine.State) {
	byResponder := func(o machine.Cause) bool { return o.Role == machine.Responder && o.Kind == machine.CauseEvent }
	if i := c.indexOf(initiator, responder); i < 0 || !slices.ContainsFunc(c.table.Agree[i].After, byResponder) {
		c.pairAfter(initiator, responder, machine.At(machine.Initiator, machine.PeerLost()), 0)
	}
}

// heard returns the ends of the responder that an initiator which does not wait for them need not
// have caused by its own end: without those that only a message of an initiator that ends brings
// about.
func (c *completion) heard() []machine.State {
	return slices.DeleteFunc(slices.Clone(c.ended[machine.Responder]), func(end machine.State) bool {
		return !slices.ContainsFunc(c.table.Rows, func(r machine.Row) bool {
			return r.Role == machine.Responder && r.To == end && slices.ContainsFunc(r.On, func(on machine.Symbol) bool {
				return on.Kind != machine.KindReceive || c.sentByLiving(on)
			})
		})
	})
}

// sentByLiving reports whether a row that does not end the initiator sends a message, or refuses
// one by it.
func (c *completion) sentByLiving(on machine.Symbol) bool {
	return slices.ContainsFunc(c.table.Rows, func(r machine.Row) bool {
		return r.Role == machine.Initiator && !c.terminal(r.To) && slices.ContainsFunc(r.Do, func(e machine.Effect) bool {
			return e.Kind == machine.EffectSend && e.Act == on.Act && (on.Name == "" || e.Name == on.Name) ||
				e.Kind == machine.EffectRefuse && c.refusedBy(e) == on.Act
		})
	})
}

// refusedBy returns the act by which the initiator refuses a request of the responder, such as a
// proposal, zero where it sends none.
func (c *completion) refusedBy(e machine.Effect) performatives.Performative {
	if c.proposal == 0 {
		return 0
	}
	return e.Answer(c.proposal)
}

// proposalIn returns the first request of the responder, zero where it sends none.
func proposalIn(rows []machine.Row) performatives.Performative {
	for _, r := range rows {
		for _, act := range actsOf(r) {
			if r.Role == machine.Responder && act.ExpectsReply() {
				return act
			}
		}
	}
	return 0
}

// sendsInto reports whether a row brings the initiator into a state with an act: a row from Idle,
// or one from another state.
func (c *completion) sendsInto(act performatives.Performative, s machine.State, opens bool) bool {
	return slices.ContainsFunc(c.own, func(r machine.Row) bool {
		return r.Role == machine.Initiator && r.To == s && slices.Contains(r.From, machine.Idle) == opens && slices.Contains(actsOf(r), act)
	})
}

// pairAll adds the rough pairs of an initiator that does not wait for the end.
func (c *completion) pairAll(initiator machine.State, responder []machine.State) {
	after := c.causes(machine.Initiator, initiator)
	for _, end := range responder {
		c.pair(machine.Pair{Initiator: initiator, Responder: end, After: after})
	}
	if len(responder) > 0 {
		c.pair(machine.Pair{Initiator: initiator, Responder: machine.Idle, After: []machine.Cause{machine.Lost()}, Note: NoteUnknown})
	}
}

// causes returns the timers and the commands of the runtime that bring a role into a terminal
// state.
func (c *completion) causes(role machine.Role, end machine.State) []machine.Cause {
	var all []machine.Cause
	for _, r := range c.table.Rows {
		for _, on := range r.On {
			own := on.Kind == machine.KindTimeout || on == machine.Commanded(CommandStop) || on == machine.Commanded(CommandMisread)
			if cause := machine.At(role, on); own && r.Role == role && r.To == end && !slices.Contains(all, cause) {
				all = append(all, cause)
			}
		}
	}
	return all
}

// pairForgotten adds the pairs of an initiator that repeats a request or CANCEL after the responder
// has ended and has forgotten its reply.
func (c *completion) pairForgotten() {
	heard := c.heard()
	for _, r := range c.table.Rows {
		repeats := slices.ContainsFunc(r.Do, func(e machine.Effect) bool { return e.Kind == machine.EffectResend })
		for _, end := range r.From {
			if repeats && r.Role == machine.Responder && slices.Contains(heard, end) {
				c.pair(machine.Pair{Initiator: StateFailed, Responder: end, After: []machine.Cause{machine.Forgotten(machine.Responder)}})
			}
		}
	}
}

// pair adds a pair unless the table has one of the same states.
func (c *completion) pair(p machine.Pair) {
	if c.indexOf(p.Initiator, p.Responder) < 0 {
		c.table.Agree = append(c.table.Agree, p)
	}
}

// declare declares the states and the timers that the rows name, and joins standard rows that do
// the same in several states.
func (c *completion) declare() {
	c.table.Live, c.table.Terminal = slices.Clone(c.table.Live), slices.Clone(c.table.Terminal)
	for _, r := range c.table.Rows {
		for _, s := range append(slices.Clone(r.From), r.To) {
			c.declareState(s)
		}
		for _, e := range r.Do {
			if e.Kind == machine.EffectArm {
				c.declareTimer(r.Role, e.Name)
			}
		}
	}
	c.joinStates()
	c.declareTicks()
	c.declareCommands()
	c.declareReports()
	c.declareEnds()
}

// declareTicks declares the retry timers of own, too, as timers that send something again.
func (c *completion) declareTicks() {
	c.table.Timers = slices.Clone(c.table.Timers)
	for i, t := range c.table.Timers {
		c.table.Timers[i].Ticks = t.Ticks || t.Name == machine.TimerRetry
	}
}

// declareCommands declares the commands of the agents that own has not declared, in the states
// that take them.
func (c *completion) declareCommands() {
	own := slices.Clone(c.table.Commands)
	all := slices.Clone(own)
	for _, r := range c.table.Rows {
		for _, on := range r.On {
			if on.Kind != machine.KindCommand || len(c.issuersFor(r.Role, on)) > 0 {
				continue
			}
			for _, s := range r.From {
				declared := func(d machine.AgentCommand) bool {
					return d.Role == r.Role && d.Name == on.Name && slices.Contains(d.In, s)
				}
				if !slices.ContainsFunc(own, declared) {
					all = declareCommand(all, len(own), r.Role, on.Name, s)
				}
			}
		}
	}
	c.table.Commands = all
}

// declareCommand adds a command in a state to the declarations from the given index on.
func declareCommand(all []machine.AgentCommand, from int, role machine.Role, name string, in machine.State) []machine.AgentCommand {
	kind := machine.CommandMay
	switch {
	case name == CommandStop:
		kind = machine.CommandStops
	case name == CommandMisread:
		kind = machine.CommandMisreads
	case in == machine.Idle:
		kind = machine.CommandOpens
	}
	for i := from; i < len(all); i++ {
		if d := &all[i]; d.Role == role && d.Name == name && d.Kind == kind {
			d.In = append(d.In, in)
			return all
		}
	}
	return append(all, machine.AgentCommand{Role: role, Name: name, In: []machine.State{in}, Kind: kind})
}

// declareReports declares what own rows report to the agent, unless own declares reports.
func (c *completion) declareReports() {
	if c.table.Reports != nil {
		return
	}
	for _, r := range c.own {
		for _, e := range r.Do {
			for _, on := range r.On {
				same := func(o machine.Reported) bool { return o.Role == r.Role && o.On == on && o.Name == e.Name }
				switch i := slices.IndexFunc(c.table.Reports, same); {
				case e.Kind != machine.EffectReport:
				case i >= 0:
					c.table.Reports[i].In = append(c.table.Reports[i].In, r.From...)
				default:
					c.table.Reports = append(c.table.Reports, machine.Reported{Role: r.Role, On: on, In: slices.Clone(r.From), Name: e.Name})
				}
			}
		}
	}
}

// declareEnds declares the terminal states to which the events of the standard rows lead, where
// own declares no other.
func (c *completion) declareEnds() {
	all := slices.Clone(c.table.Ends)
	add := func(role machine.Role, on machine.Symbol, to machine.State, in ...machine.State) {
		same := func(e machine.Ending) bool {
			return e.Role == role && e.On == on && slices.Equal(e.In, in)
		}
		if slices.Contains(c.table.Terminal, to) && !slices.ContainsFunc(all, same) {
			all = append(all, machine.Ending{Role: role, On: on, To: to, In: in})
		}
	}
	for _, d := range denials() {
		add(machine.Initiator, machine.Receive(d.Act), d.End)
		add(machine.Responder, machine.Commanded(d.Command), d.End)
	}
	for _, command := range []string{CommandRefuse, CommandNotUnderstood} { // of a request that was agreed to
		if slices.Contains(c.table.Live, StateAgreed) {
			add(machine.Responder, machine.Commanded(command), StateFailed, StateAgreed)
		}
	}
	add(machine.Initiator, machine.ReceiveTagged(performatives.ActInform, TagReceipt), StateCancelled)
	add(machine.Initiator, machine.Timeout(machine.TimerDeadline), StateTimedOut)
	add(machine.Initiator, machine.Timeout(machine.TimerGrace), StateTimedOut)
	add(machine.Initiator, machine.Commanded(CommandStop), StateAbandoned)
	add(machine.Initiator, machine.Commanded(CommandMisread), StateMisread)
	add(machine.Responder, machine.Receive(performatives.ActCancel), StateCancelled)
	add(machine.Responder, machine.Receive(performatives.ActNotUnderstood), StateFailed)
	add(machine.Responder, machine.Timeout(machine.TimerDeadline), StateTimedOut)
	add(machine.Responder, machine.Timeout(machine.TimerGrace), StateFailed)
	add(machine.Responder, machine.Commanded(CommandStop), StateFailed)
	if slices.Contains(c.table.Live, StateCancelling) && len(c.before(machine.Responder)) > 0 {
		add(machine.Responder, machine.Timeout(machine.TimerDeadline), StateFailed, StateCancelling)
		for _, j := range c.table.Jobs {
			for _, name := range j.Ends {
				if j.Role == machine.Responder {
					add(machine.Responder, machine.Commanded(name), StateCancelled, StateCancelling)
				}
			}
		}
	}
	for _, r := range c.table.Rows {
		for _, on := range r.On {
			if (on.Kind == machine.KindUndelivered || on.Kind == machine.KindPeerLost) && r.To != "" {
				add(r.Role, on, r.To, r.From...)
			}
		}
	}
	c.table.Ends = all
}

func (c *completion) declareState(s machine.State) {
	switch {
	case s == "" || s == machine.Idle || slices.Contains(c.table.Live, s) || slices.Contains(c.table.Terminal, s):
	case IsEnd(s):
		c.table.Terminal = append(c.table.Terminal, s)
	default:
		c.table.Live = append(c.table.Live, s)
	}
}

// standardTimers are the declarations of the timers that standard rows arm.
func standardTimers() []machine.Timer {
	return []machine.Timer{
		{Role: machine.Initiator, Name: machine.TimerDeadline, Doc: "until the opening act's ReplyBy"},
		{Role: machine.Initiator, Name: machine.TimerRetry, Doc: "until a request or CANCEL without a final answer is sent again"},
		{Role: machine.Initiator, Name: machine.TimerGrace, Doc: "how long to wait for the end after a CANCEL"},
		{Role: machine.Responder, Name: machine.TimerDeadline, Doc: "until the opening act's ReplyBy, or the agent's own limit when it has none"},
		{Role: machine.Responder, Name: machine.TimerRetry, Doc: "until a message without an answer is sent again"},
		{Role: machine.Responder, Name: machine.TimerGrace, Doc: "how long a cancelled handler may take to return"},
	}
}

func (c *completion) declareTimer(role machine.Role, name string) {
	of := func(t machine.Timer) bool { return t.Role == role && t.Name == name }
	if slices.ContainsFunc(c.table.Timers, of) {
		return
	}
	for _, t := range standardTimers() {
		if of(t) {
			c.table.Timers = append(slices.Clip(c.table.Timers), t)
		}
	}
}

// joinStates joins each standard row with the one before that does the same on the same symbols.
func (c *completion) joinStates() {
	rows := slices.Clone(c.own)
	for _, r := range c.table.Rows[len(c.own):] {
		same := func(o machine.Row) bool { return sameDoing(o, r) && slices.Equal(o.On, r.On) }
		if i := slices.IndexFunc(rows[len(c.own):], same); i >= 0 {
			at := &rows[len(c.own)+i]
			at.From = append(slices.Clip(at.From), r.From...)
			continue
		}
		rows = append(rows, r)
	}
	c.table.Rows = rows
}
