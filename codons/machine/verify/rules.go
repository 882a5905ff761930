package verify

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// The rules of [CheckRules] and of [Network.Strict], as a [machine.Exception] names them.
const (
	RuleSilence  = "silence"  // an event that changes nothing is at least dropped; a side that cannot read a message, and a responder that ends by its clock or a stop, say so
	RuleComplete = "complete" // each state has a row for every message, and a request is answered
	RuleReports  = "reports"  // an event is reported as declared
	RuleEnds     = "ends"     // an event that ends the conversation leads to the declared state, and the stop of the agent ends it
	RuleTimers   = "timers"   // a timer is armed by what renews it, and by what it sends again
	RuleWildcard = "wildcard" // a fresh message of a correct peer has a row of its own in a live state
	RuleArmed    = "armed"    // a timer with a row in a live state is armed there
	RuleRunning  = "running"  // a job whose last command a live state awaits runs there
	RuleRepeat   = "repeat"   // a repeated request that has an answer is answered again in a live state
	RuleReceipt  = "receipt"  // no job runs when the receipt is sent
)

// RuleError is a transition that breaks a rule of [CheckRules].
type RuleError struct {
	Table      string
	Rule       string
	Transition machine.Transition
	Fault      string
}

// Error names the transition and the rule.
func (e *RuleError) Error() string {
	t := e.Transition
	return fmt.Sprintf("verify: %s: rule %s: the %s in %s on %s %s", e.Table, e.Rule, t.Role, t.From, t.On, e.Fault)
}

// CheckRules checks each transition of a complete table by itself against the rules of this
// package and the declarations of the table. All faults come joined; each is a [*RuleError]. An
// exception of the table that is about no transition is a fault, too.
func CheckRules(m *machine.Machine) error {
	c := &ruleChecker{Machine: m, table: m.Table()}
	for t := range m.Transitions() {
		c.checkSilence(t)
		c.checkReports(t)
		c.checkEnd(t)
		c.checkTimers(t)
		if t.Wildcard && t.On.Kind == machine.KindReceive && t.On.Act.ExpectsReply() && !has(t, machine.EffectRefuse) {
			c.fault(RuleComplete, t, "leaves a request without an answer")
		}
		c.checkAnswer(t)
	}
	c.checkComplete()
	for _, e := range c.table.Exceptions {
		about := false
		for t := range m.Transitions() {
			about = about || e.Covers(e.Rule, t)
		}
		if !about {
			c.faults = append(c.faults, fmt.Errorf("verify: %s: the exception from %s of the %s in %v is about no transition", m.Name(), e.Rule, e.Role, e.In))
		}
	}
	return errors.Join(c.faults...)
}

// ruleChecker collects the faults of one table.
type ruleChecker struct {
	*machine.Machine
	table  machine.Table
	faults []error
}

func (c *ruleChecker) fault(rule string, t *machine.Transition, format string, args ...any) {
	if !excepted(c.table, rule, t) {
		c.faults = append(c.faults, &RuleError{Table: c.table.Name, Rule: rule, Transition: *t, Fault: fmt.Sprintf(format, args...)})
	}
}

// excepted reports whether a table declares an exception for a transition.
func excepted(table machine.Table, rule string, t *machine.Transition) bool {
	return slices.ContainsFunc(table.Exceptions, func(e machine.Exception) bool { return e.Covers(rule, t) })
}

// has reports whether a transition has an effect of that kind.
func has(t *machine.Transition, kind machine.EffectKind) bool {
	return slices.ContainsFunc(t.Do, func(e machine.Effect) bool { return e.Kind == kind })
}

func (c *ruleChecker) live(s machine.State) bool { return s != machine.Idle && !c.Terminal(s) }

// checkSilence finds events that change nothing and are not dropped, and a responder that ends
// without a word.
func (c *ruleChecker) checkSilence(t *machine.Transition) {
	if t.To == t.From && len(t.Do) == 0 {
		c.fault(RuleSilence, t, "does nothing, and does not count it as dropped")
	}
	own := t.On.Kind == machine.KindTimeout || c.CommandKind(t.Role, t.From, t.On.Name) == machine.CommandStops && t.On.Kind == machine.KindCommand
	if c.CommandKind(t.Role, t.From, t.On.Name) == machine.CommandMisreads && t.On.Kind == machine.KindCommand && c.live(t.From) && !has(t, machine.EffectSend) {
		c.fault(RuleSilence, t, "does not say that a message was not understood")
	}
	if t.Role == machine.Responder && own && c.live(t.From) && c.Terminal(t.To) && !has(t, machine.EffectSend) {
		c.fault(RuleSilence, t, "ends without a message to the initiator")
	}
}

// checkAnswer finds a request of the initiator that starts no job and is not answered.
func (c *ruleChecker) checkAnswer(t *machine.Transition) {
	if t.Role == machine.Initiator || t.On.Kind != machine.KindReceive || !t.On.Act.ExpectsReply() || !c.Opens(t.On.Act) || c.Terminal(t.To) {
		return
	}
	for _, kind := range []machine.EffectKind{machine.EffectRun, machine.EffectSend, machine.EffectResend, machine.EffectRefuse, machine.EffectDrop} {
		if has(t, kind) {
			return
		}
	}
	if !c.stopAnswers(t) {
		c.fault(RuleComplete, t, "neither starts a job nor answers the request: "+
			"send an answer, run a job, or stop one whose Ends all have rows in %s that do more than drop them", t.To)
	}
}

// stopAnswers reports whether a row stops a job whose last command is the answer: the next state
// has a row for each.
func (c *ruleChecker) stopAnswers(t *machine.Transition) bool {
	return slices.ContainsFunc(c.table.Jobs, func(j machine.Job) bool {
		return j.Role == t.Role && slices.Contains(t.Do, machine.Stop(j.Name)) && !slices.ContainsFunc(j.Ends, func(end string) bool {
			row := c.Find(t.Role, t.To, machine.Commanded(end))
			return row == nil || has(row, machine.EffectDrop)
		})
	})
}

// checkReports finds events that are not reported.
func (c *ruleChecker) checkReports(t *machine.Transition) {
	if t.Wildcard || has(t, machine.EffectDrop) || c.Terminal(t.From) {
		return
	}
	for _, r := range c.table.Reports {
		about := r.Role == t.Role && r.On == t.On && (len(r.In) == 0 || slices.Contains(r.In, t.From))
		if about && !slices.Contains(t.Do, machine.Report(r.Name)) {
			c.fault(RuleReports, t, "does not report %s", r.Name)
		}
	}
}

// checkEnd finds an event that ends the conversation in another state than declared, and a stop of
// the agent that does not end it.
func (c *ruleChecker) checkEnd(t *machine.Transition) {
	if t.On.Kind == machine.KindCommand && c.CommandKind(t.Role, t.From, t.On.Name) == machine.CommandStops && !c.Terminal(t.To) {
		c.fault(RuleEnds, t, "does not end the conversation, although the agent stops")
	}
	if to, declared := c.table.End(t.Role, t.From, t.On); declared && !t.Wildcard && !c.Terminal(t.From) && c.Terminal(t.To) && t.To != to {
		c.fault(RuleEnds, t, "ends in %s, not in %s: go there, or declare the end in Table.Ends, with In", t.To, to)
	}
}

// checkTimers finds transitions that do not arm a timer which they renew, or which sends their
// message again.
func (c *ruleChecker) checkTimers(t *machine.Transition) {
	if c.Terminal(t.To) {
		return
	}
	for _, timer := range c.table.Timers {
		expiry := c.Find(t.Role, t.To, machine.Timeout(timer.Name))
		if timer.Role != t.Role || expiry == nil || slices.Contains(t.Do, machine.Arm(timer.Name)) {
			continue
		}
		renews := func(r machine.Renewal) bool {
			ignored := t.Wildcard || has(t, machine.EffectDrop)
			return r.Timer == timer.Name && r.Covers(t) && (len(r.In) > 0 || !ignored)
		}
		if slices.ContainsFunc(c.table.Renewals, renews) {
			c.fault(RuleTimers, t, "does not renew %s", timer.Name)
		}
		for _, e := range t.Do {
			if e.Kind == machine.EffectSend && timer.Ticks && slices.Contains(expiry.Do, machine.Resend(e.Act)) {
				c.fault(RuleTimers, t, "sends %s and does not arm %s, which sends it again", e.Act, timer.Name)
			}
		}
	}
}

// checkComplete finds messages without a row.
func (c *ruleChecker) checkComplete() {
	seen := map[machine.Symbol]bool{}
	for t := range c.Transitions() {
		if key := (machine.Symbol{Kind: machine.Kind(t.Role) + 1, Name: string(t.To)}); t.To != machine.Idle && !seen[key] {
			seen[key] = true
			c.checkState(t.Role, t.To)
		}
	}
}

func (c *ruleChecker) checkState(r machine.Role, s machine.State) {
	for act := range performatives.Performatives() {
		for _, on := range []machine.Symbol{machine.Receive(act), machine.Duplicate(act)} {
			if c.Find(r, s, on) == nil {
				c.fault(RuleComplete, &machine.Transition{Role: r, From: s, On: on, To: s}, "has no row")
			}
		}
	}
}
