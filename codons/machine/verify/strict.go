package verify

import (
	"slices"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// needs is what a state of a role requires of the timers and jobs of that side.
type needs struct {
	timers []string
	jobs   []string // one of them has to run
}

// strictNeeds returns the needs of the live states of a role.
func (x *explorer) strictNeeds() [2]map[machine.State]*needs {
	var all [2]map[machine.State]*needs
	for _, r := range machine.Roles() {
		all[r] = map[machine.State]*needs{}
	}
	table := x.Table()
	for t := range x.Transitions() {
		if t.From == machine.Idle || x.Terminal(t.From) {
			continue
		}
		n := all[t.Role][t.From]
		if n == nil {
			n = &needs{}
			all[t.Role][t.From] = n
		}
		switch {
		case t.On.Kind == machine.KindTimeout && !excepted(table, RuleArmed, t):
			n.timers = append(n.timers, t.On.Name)
		case t.On.Kind == machine.KindCommand && !t.Inert() && !excepted(table, RuleRunning, t):
			for _, j := range table.Jobs {
				if j.Role == t.Role && slices.Contains(j.Ends, t.On.Name) {
					n.jobs = append(n.jobs, j.Name)
				}
			}
		}
	}
	return all
}

// checkNeeds checks that the timers and jobs on which a joint state relies are there.
func (x *explorer) checkNeeds(at int32) error {
	j := x.nodes[at].at
	for _, r := range machine.Roles() {
		n := x.needs[r][x.state(j, r)]
		if n == nil {
			continue
		}
		for _, timer := range n.timers {
			if !among(x.Timeouts(j[r].activity, r), machine.Timeout(timer)) {
				return x.counterexample(Unarmed, at, "the "+r.String()+"'s timer "+timer+" does not run in "+string(x.state(j, r))+", which has a row for its expiry")
			}
		}
		runs := func(job string) bool { return among(x.Jobs(j[r].activity, r), job) }
		if len(n.jobs) > 0 && !slices.ContainsFunc(n.jobs, runs) {
			return x.counterexample(NotRunning, at, "the "+r.String()+" awaits the job "+n.jobs[0]+" in "+string(x.state(j, r))+", and it does not run")
		}
	}
	return nil
}

// checkStrict checks one step of a side. msg is the message that it receives, if any.
func (x *explorer) checkStrict(t *machine.Transition, me side, msg *message) {
	x.checkRepeat(t, me, msg)
	refused := x.Terminal(t.From) && t.Role == machine.Initiator && has(t, machine.EffectRefuse)
	if t.Wildcard && t.On.Kind == machine.KindReceive && (refused || !x.Terminal(t.From)) && !excepted(x.Table(), RuleWildcard, t) {
		x.violate(Unforeseen, "only a wildcard of the "+t.Role.String()+" in "+string(t.From)+" takes "+t.On.String()+" of a correct peer")
	}
	receipt := func(e machine.Effect) bool { return e.Kind == machine.EffectSend && e.Name == tagReceipt }
	if !slices.ContainsFunc(t.Do, receipt) || excepted(x.Table(), RuleReceipt, t) {
		return
	}
	for name := range x.Jobs(me.activity, t.Role) {
		if !x.job(t.Role, name).ReceiptNeedNotWait {
			x.violate(EarlyReceipt, "the receipt is sent while the job "+name+" runs")
		}
	}
}

// checkRepeat checks that a repeated request which has an answer is answered again in a live state,
// unless it is withdrawn.
func (x *explorer) checkRepeat(t *machine.Transition, me side, msg *message) {
	if t.Role == machine.Initiator || t.On.Kind != machine.KindDuplicate || x.Terminal(t.From) || !msg.act.ExpectsReply() {
		return
	}
	number := x.question(*msg)
	latest, receipt := me.requests.Answered(performatives.ActAgree), me.requests.Answered(performatives.ActInform)
	if number != latest || receipt != latest || has(t, machine.EffectResend) || excepted(x.Table(), RuleRepeat, t) {
		return
	}
	for i := range me.sent.All {
		if x.messages[machine.Responder][i].answers == number {
			x.violate(Unanswered, "the repeated "+msg.String()+" has an answer, which is not sent again")
		}
	}
}
