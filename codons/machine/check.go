package machine

import (
	"slices"

	"github.com/ribosome-agents/ribosome/performatives"
)

// checkHeader looks at what stands outside of the rows.
func (c *compiler) checkHeader() {
	if c.table.Name == "" {
		c.fault("the table has no name")
	}
	if len(c.table.Rows) == 0 {
		c.fault("the table has no rows")
	}
	seen := map[State]bool{Idle: true}
	for _, s := range slices.Concat(c.table.Live, c.table.Terminal) {
		if s == "" || seen[s] {
			c.fault("state %q is empty or declared twice", s)
		}
		seen[s] = true
	}
}

func (c *compiler) known(s State) bool {
	return s == Idle || slices.Contains(c.table.Live, s) || c.machine.terminal[s]
}

// checkRow looks at one row by itself.
func (c *compiler) checkRow(i int, r Row) {
	if !r.Role.Valid() {
		c.rowFault(i, "%s is no role", r.Role)
	}
	if len(r.From) == 0 || len(r.On) == 0 {
		c.rowFault(i, "it has no state or no symbol")
	}
	for _, s := range r.From {
		if !c.known(s) {
			c.rowFault(i, "state %q is not declared", s)
		}
	}
	if r.To != "" && !c.known(r.To) {
		c.rowFault(i, "state %q is not declared", r.To)
	}
	for _, on := range r.On {
		c.checkSymbol(i, on)
	}
	c.checkEffects(i, r)
	c.checkTerminal(i, r)
}

// checkSymbol looks at one symbol of a row.
func (c *compiler) checkSymbol(i int, on Symbol) {
	switch on.Kind {
	case KindReceive, KindDuplicate, KindStale:
		if !on.Act.Valid() {
			c.rowFault(i, "%s is no act", on.Act)
		}
		if on.Name != "" && on.Kind != KindReceive {
			c.rowFault(i, "%s has a tag, but only fresh messages are tagged", on)
		}
	case KindCommand, KindTimeout:
		if on.Name == "" || on.Act != 0 {
			c.rowFault(i, "%s has an act or lacks a name", on)
		}
	case kindOtherRequest, kindOtherNotice, kindOtherRepeat:
	default:
		c.rowFault(i, "%s is no kind of symbol", on.Kind)
	}
}

// checkEffects looks at the effects of a row.
func (c *compiler) checkEffects(i int, r Row) {
	messages := 0
	for _, e := range r.Do {
		switch e.Kind {
		case EffectSend:
			messages++
			if !e.Act.Valid() {
				c.rowFault(i, "it sends %s", e.Act)
			}
		case EffectResend:
			messages++
			if !c.sends(r.Role, e.Act) {
				c.rowFault(i, "it sends %s again, which the %s never sends", e.Act, r.Role)
			}
		case EffectRefuse:
			messages++
			c.checkRefuse(i, r, e)
		case EffectArm, EffectDisarm, EffectRun, EffectStop, EffectReport, EffectDrop:
			if e.Name == "" {
				c.rowFault(i, "%s of nothing", e.Kind)
			}
		default:
			c.rowFault(i, "%s is no effect", e.Kind)
		}
	}
	if messages > 1 {
		c.rowFault(i, "it sends more than one message, and a trace could not tell which came of it")
	}
}

// checkRefuse lets only fresh messages be refused: refusing a duplicate would
// answer one message twice, under two ids.
func (c *compiler) checkRefuse(i int, r Row, e Effect) {
	if !performatives.Code(e.Name).Known() {
		c.rowFault(i, "it refuses with %q, which is no code", e.Name)
	}
	for _, on := range r.On {
		fresh := on.Kind == KindReceive && on.Act.ExpectsReply()
		if !fresh && on.Kind != kindOtherRequest {
			c.rowFault(i, "it refuses %s, which is no fresh message that expects a reply", on)
		}
	}
}

// checkTerminal lets terminal states do nothing but answer, and nothing start
// on the way into one.
func (c *compiler) checkTerminal(i int, r Row) {
	for _, from := range r.From {
		if c.machine.terminal[from] && r.To != "" && r.To != from {
			c.rowFault(i, "it leaves the terminal state %s", from)
		}
	}
	enters := c.machine.terminal[r.To]
	for _, e := range r.Do {
		if enters && (e.Kind == EffectRun || e.Kind == EffectArm) {
			c.rowFault(i, "it would %s in the terminal state %s", e, r.To)
		}
		afterlife := e.Kind == EffectResend || e.Kind == EffectRefuse || e.Kind == EffectDrop
		if !afterlife && slices.ContainsFunc(r.From, c.machine.Terminal) {
			c.rowFault(i, "a terminal state can resend, refuse and drop, not %s", e)
		}
	}
}

// checkGraph finds states that a role cannot reach, and live ones that it cannot
// leave for an end.
func (c *compiler) checkGraph() {
	used := map[State]bool{}
	for _, role := range Roles() {
		if !c.table.has(role) {
			continue
		}
		next, back := c.edges(role)
		reached, ending := reach(next, Idle), reach(back, c.table.Terminal...)
		for i, r := range c.table.Rows {
			for _, from := range r.From {
				if r.Role == role && c.known(from) && !reached[from] {
					c.rowFault(i, "the %s never gets to %s", role, from)
				}
			}
		}
		for _, s := range slices.Concat([]State{Idle}, c.table.Live) {
			if reached[s] && !ending[s] {
				c.fault("the %s cannot get from %s to a terminal state", role, s)
			}
		}
		for s := range reached {
			used[s] = true
		}
	}
	for _, s := range slices.Concat(c.table.Live, c.table.Terminal) {
		if !used[s] {
			c.fault("no role gets to %s", s)
		}
	}
}

// edges returns to which states a role can get from one by one step, and from which.
func (c *compiler) edges(role Role) (next, back map[State][]State) {
	next, back = map[State][]State{}, map[State][]State{}
	for _, s := range c.machine.order {
		if s.role == role && s.state != s.to {
			next[s.state], back[s.to] = append(next[s.state], s.to), append(back[s.to], s.state)
		}
	}
	return next, back
}

// reach returns the states that the edges lead to from some, and those.
func reach(edges map[State][]State, from ...State) map[State]bool {
	reached := map[State]bool{}
	for todo := slices.Clip(from); len(todo) > 0; todo = todo[1:] {
		if s := todo[0]; !reached[s] {
			reached[s] = true
			todo = append(todo, edges[s]...)
		}
	}
	return reached
}

// sends reports whether a role ever sends an act, be it as a refusal.
func (c *compiler) sends(role Role, act performatives.Performative) bool {
	return slices.ContainsFunc(c.machine.order, func(s *step) bool {
		return s.role == role && slices.ContainsFunc(s.do, func(e Effect) bool {
			return e.Kind == EffectSend && e.Act == act ||
				e.Kind == EffectRefuse && !s.other && e.Answer(s.on.Act) == act
		})
	})
}

// checkActs finds acts that one role sends and the other has no row for.
func (c *compiler) checkActs() {
	heard := func(role Role, act performatives.Performative, tag string) bool {
		return slices.ContainsFunc(c.machine.order, func(s *step) bool {
			return s.role == role && !s.other && s.on.Kind == KindReceive && s.on.Act == act &&
				(s.on.Name == tag || s.on.Name == "")
		})
	}
	for i, r := range c.table.Rows {
		for _, e := range r.Do {
			if e.Kind == EffectSend && r.Role.Valid() && !heard(r.Role.Other(), e.Act, e.Name) {
				c.rowFault(i, "it would %s, which no row of the %s receives", e, r.Role.Other())
			}
		}
	}
}

// checkTimers finds timers that are not declared, not armed or not heard.
func (c *compiler) checkTimers() {
	for _, t := range c.table.Timers {
		armed := c.does(t.Role, Arm(t.Name))
		heard := slices.ContainsFunc(c.machine.order, func(s *step) bool {
			return s.role == t.Role && s.on == Timeout(t.Name)
		})
		if !armed || !heard {
			c.fault("the %s's timer %s is never armed or its timeout has no row", t.Role, t.Name)
		}
	}
	for i, r := range c.table.Rows {
		for _, name := range r.timers() {
			if !slices.ContainsFunc(c.table.Timers, func(t Timer) bool { return t.Role == r.Role && t.Name == name }) {
				c.rowFault(i, "timer %s is not declared", name)
			}
		}
	}
}

// timers returns the names of the timers that a row mentions.
func (r Row) timers() []string {
	var names []string
	for _, on := range r.On {
		if on.Kind == KindTimeout {
			names = append(names, on.Name)
		}
	}
	for _, e := range r.Do {
		if e.Kind == EffectArm || e.Kind == EffectDisarm {
			names = append(names, e.Name)
		}
	}
	return names
}

// does reports whether some row of the role has the effect.
func (c *compiler) does(role Role, e Effect) bool {
	return slices.ContainsFunc(c.table.Rows, func(r Row) bool { return r.Role == role && slices.Contains(r.Do, e) })
}

// checkJobs finds jobs that are not declared, not run or not listened to.
func (c *compiler) checkJobs() {
	for _, j := range c.table.Jobs {
		if !c.does(j.Role, Run(j.Name)) {
			c.fault("the %s's job %s is never run", j.Role, j.Name)
		}
		if len(j.Ends) == 0 {
			c.fault("the %s's job %s has no last word", j.Role, j.Name)
		}
		for _, word := range slices.Concat(j.Says, j.Ends) {
			if !slices.ContainsFunc(c.machine.order, func(s *step) bool { return s.role == j.Role && s.on == Command(word) }) {
				c.fault("the %s's job %s says %s, for which there is no row", j.Role, j.Name, word)
			}
		}
	}
	for i, r := range c.table.Rows {
		for _, e := range r.Do {
			isJob := func(j Job) bool { return j.Role == r.Role && j.Name == e.Name }
			if (e.Kind == EffectRun || e.Kind == EffectStop) && !slices.ContainsFunc(c.table.Jobs, isJob) {
				c.rowFault(i, "job %s is not declared", e.Name)
			}
		}
	}
}

// checkPairs finds pairs that name no end, or that are there twice.
func (c *compiler) checkPairs() {
	seen := map[[2]State]bool{}
	for _, p := range c.table.Agree {
		ends := c.machine.terminal[p.Initiator] && (c.machine.terminal[p.Responder] || p.Responder == Idle)
		if at := [2]State{p.Initiator, p.Responder}; !ends || seen[at] {
			c.fault("the pair %s, %s names no end or is there twice", p.Initiator, p.Responder)
		} else {
			seen[at] = true
		}
	}
}
