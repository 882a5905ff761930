package machine

import (
	"slices"

	"github.com/ribosome-agents/ribosome/performatives"
)

// checkHeader checks the parts of the table other than its rows.
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

// checkKnown checks that the state of a row is declared. It names each state once.
func (c *compiler) checkKnown(i int, s State) {
	if c.known(s) || c.unknown[s] {
		return
	}
	if c.unknown == nil {
		c.unknown = map[State]bool{}
	}
	c.unknown[s] = true
	c.rowFault(i, "state %q is not declared: add it to Live or Terminal", s)
}

// checkRow checks one row by itself.
func (c *compiler) checkRow(i int, r Row) {
	if !r.Role.Valid() {
		c.rowFault(i, "%s is not a role", r.Role)
	}
	if len(r.From) == 0 || len(r.On) == 0 {
		c.rowFault(i, "it has no state or no symbol")
	}
	for _, s := range r.From {
		c.checkKnown(i, s)
	}
	if r.To != "" {
		c.checkKnown(i, r.To)
	}
	for _, on := range r.On {
		c.checkSymbol(i, r, on)
	}
	c.checkEffects(i, r)
	c.checkTerminal(i, r)
}

// checkSymbol checks one symbol of a row.
func (c *compiler) checkSymbol(i int, r Row, on Symbol) {
	switch on.Kind {
	case KindReceive, KindDuplicate, KindStale:
		if !on.Act.Valid() {
			c.rowFault(i, "%s is not an act", on.Act)
		}
		if on.Name != "" && on.Kind == KindDuplicate {
			c.rowFault(i, "%s has a tag, which duplicates do not have", on)
		}
	case KindCommand, KindTimeout:
		if on.Name == "" || on.Act != 0 {
			c.rowFault(i, "%s has an act or lacks a name", on)
		}
	case KindUndeliverable, KindUndelivered:
		c.checkUndeliverable(i, r, on)
	case KindPeerLost:
		if on != PeerLost() {
			c.rowFault(i, "%s has an act or a name, and a lost peer has neither", on)
		}
		c.checkBegun(i, r, on)
	case kindOtherRequest, kindOtherNotice, kindOtherRepeat:
	case kindOtherRefused:
		c.checkBegun(i, r, on)
	default:
		c.rowFault(i, "%s is not a kind of symbol", on.Kind)
	}
}

// checkUndeliverable checks that the symbol is about a message that the role sends.
func (c *compiler) checkUndeliverable(i int, r Row, on Symbol) {
	switch {
	case !on.Act.Valid():
		c.rowFault(i, "%s is not an act", on.Act)
	case on.Name != "":
		c.rowFault(i, "%s has a tag, which only fresh messages have", on)
	case !c.sends(r.Role, on.Act):
		c.rowFault(i, "the %s never sends %s, so it is never undeliverable", r.Role, on.Act)
	case !slices.Contains(c.machine.Refusable(r.Role), on.Act):
		c.rowFault(i, "%s neither expects a reply nor opens the conversation, so its refusal is not reported", on.Act)
	}
	c.checkBegun(i, r, on)
}

// checkBegun refuses an event that cannot occur before the conversation begins.
func (c *compiler) checkBegun(i int, r Row, on Symbol) {
	if slices.Contains(r.From, Idle) {
		c.rowFault(i, "%s cannot occur in %s, before the conversation begins", on, Idle)
	}
}

// checkEffects checks the effects of a row.
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
				c.rowFault(i, "%s has no name", e.Kind)
			}
		default:
			c.rowFault(i, "%s is not an effect", e.Kind)
		}
	}
	if messages > 1 {
		c.rowFault(i, "it sends more than one message, so a trace could not show which event caused each")
	}
}

// checkRefuse checks that only fresh messages are refused, which stale ones are, too. A refusal of
// a duplicate would answer one message twice, with two ids.
func (c *compiler) checkRefuse(i int, r Row, e Effect) {
	if !performatives.Code(e.Name).Known() {
		c.rowFault(i, "it refuses with %q, which is not a known code", e.Name)
	}
	for _, on := range r.On {
		fresh := (on.Kind == KindReceive || on.Kind == KindStale) && on.Act.ExpectsReply()
		if !fresh && on.Kind != kindOtherRequest {
			c.rowFault(i, "it refuses %s, which is not a fresh message that expects a reply", on)
		}
	}
}

// checkTerminal checks that a terminal state only answers and drops messages, and
// that a row into one starts no timer and no job.
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
		allowed := e.Kind == EffectResend || e.Kind == EffectRefuse || e.Kind == EffectDrop
		if !allowed && slices.ContainsFunc(r.From, c.machine.Terminal) {
			c.rowFault(i, "a terminal state can resend, refuse and drop, not %s", e)
		}
	}
}

// checkGraph finds states that a role cannot reach, and live states from which it
// cannot reach a terminal one. Of the states that a role cannot reach it names only those to
// which no row leads, unless there is none such.
func (c *compiler) checkGraph() {
	used := map[State]bool{}
	for _, role := range Roles() {
		if !c.table.Has(role) {
			continue
		}
		next, back := c.edges(role)
		reached, ending := reach(next, Idle), reach(back, c.table.Terminal...)
		for _, s := range c.unreached(role, reached, back) {
			i := slices.IndexFunc(c.table.Rows, func(r Row) bool { return r.Role == role && slices.Contains(r.From, s) })
			c.rowFault(i, "the %s never gets to %s", role, s)
			used[s] = true
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
	if len(c.faults) > 0 {
		return
	}
	for _, s := range slices.Concat(c.table.Live, c.table.Terminal) {
		if !used[s] {
			c.fault("no role gets to %s", s)
		}
	}
}

// unreached returns the states with rows of a role that it cannot reach: those to which none of its
// rows leads, else the first one.
func (c *compiler) unreached(role Role, reached map[State]bool, back map[State][]State) []State {
	var all, roots []State
	for _, r := range c.table.Rows {
		for _, s := range r.From {
			if r.Role != role || !c.known(s) || reached[s] || slices.Contains(all, s) {
				continue
			}
			all = append(all, s)
			if len(back[s]) == 0 {
				roots = append(roots, s)
			}
		}
	}
	if roots == nil {
		return all[:min(len(all), 1)]
	}
	return roots
}

// edges returns, for each state, the states to which a role can get in one step, and the states
// from which it can come.
func (c *compiler) edges(role Role) (next, back map[State][]State) {
	next, back = map[State][]State{}, map[State][]State{}
	for _, r := range c.table.Rows {
		for _, from := range r.From {
			if r.Role == role && r.To != "" && from != r.To {
				next[from], back[r.To] = append(next[from], r.To), append(back[r.To], from)
			}
		}
	}
	return next, back
}

// reach returns the given states and all states that the edges lead to from them.
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

// sends reports whether a row of the role sends the act, also as a refusal.
func (c *compiler) sends(role Role, act performatives.Performative) bool {
	return slices.ContainsFunc(c.table.Rows, func(r Row) bool {
		return r.Role == role && slices.ContainsFunc(r.Do, func(e Effect) bool {
			return e.Kind == EffectSend && e.Act == act ||
				e.Kind == EffectRefuse && slices.ContainsFunc(r.plain(), func(on Symbol) bool { return e.Answer(on.Act) == act })
		})
	})
}

// checkActs finds acts that one role sends and the other role has no row for.
func (c *compiler) checkActs() {
	received := func(role Role, e Effect) bool {
		return c.table.Takes(role, Receive(e.Act)) || c.table.Takes(role, ReceiveTagged(e.Act, e.Name))
	}
	for i, r := range c.table.Rows {
		for _, e := range r.Do {
			if e.Kind == EffectSend && r.Role.Valid() && !received(r.Role.Other(), e) {
				c.rowFault(i, "it would %s, which no row of the %s receives", e, r.Role.Other())
			}
		}
	}
}

// checkTimers finds timers that are not declared, are never armed or whose expiry
// has no row.
func (c *compiler) checkTimers() {
	for _, t := range c.table.Timers {
		armed := c.table.Does(t.Role, Arm(t.Name))
		if !armed || !c.table.Takes(t.Role, Timeout(t.Name)) {
			c.fault("the %s's timer %s is never armed or its timeout has no row", t.Role, t.Name)
		}
	}
	var named []Timer
	for i, r := range c.table.Rows {
		for _, name := range r.timers() {
			same := func(t Timer) bool { return t.Role == r.Role && t.Name == name }
			if !slices.ContainsFunc(c.table.Timers, same) && !slices.ContainsFunc(named, same) {
				c.rowFault(i, "timer %s is not declared: add it to Timers", name)
				named = append(named, Timer{Role: r.Role, Name: name})
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

// checkJobs finds jobs that are not declared, are never run, or give a command that
// has no row.
func (c *compiler) checkJobs() {
	for i, j := range c.table.Jobs {
		if slices.ContainsFunc(c.table.Jobs[:i], func(o Job) bool { return o.Role == j.Role && o.Name == j.Name }) {
			c.fault("the %s's job %s is declared twice", j.Role, j.Name)
		}
		if !c.table.Does(j.Role, Run(j.Name)) {
			c.fault("the %s's job %s is never run", j.Role, j.Name)
		}
		if len(j.Ends) == 0 {
			c.fault("the %s's job %s has no final command", j.Role, j.Name)
		}
		for _, name := range slices.Concat(j.Says, j.Ends) {
			if !c.table.Takes(j.Role, Commanded(name)) {
				c.fault("the %s's job %s gives command %s, which has no row", j.Role, j.Name, name)
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

// checkPairs finds pairs of states that are not terminal, pairs that are declared
// twice, and causes without a row.
func (c *compiler) checkPairs() {
	seen := map[[2]State]bool{}
	for _, p := range c.table.Agree {
		switch at := [2]State{p.Initiator, p.Responder}; {
		case !c.machine.terminal[p.Initiator]:
			c.fault("the pair %s, %s: %s is no terminal state", p.Initiator, p.Responder, p.Initiator)
		case !c.machine.terminal[p.Responder] && p.Responder != Idle:
			c.fault("the pair %s, %s: %s is no terminal state", p.Initiator, p.Responder, p.Responder)
		case seen[at]:
			c.fault("the pair %s, %s is declared twice", p.Initiator, p.Responder)
		default:
			seen[at] = true
		}
		c.checkCauses(p)
	}
}
