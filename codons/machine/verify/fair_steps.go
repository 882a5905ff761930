package verify

import (
	"iter"
	"maps"
	"slices"

	"github.com/ribosome-agents/ribosome/codons/machine"
)

// steps yields every move from a joint state. It stops at the first violation.
func (x *fair) steps(j fairJoint) iter.Seq[step] {
	return func(yield func(step) bool) {
		more := true
		emit := func(s step) { more = more && yield(s) && x.problem == nil }
		x.former = j.former
		x.cuts(j, emit)
		for _, r := range machine.Roles() {
			x.expiries(j, r, emit)
			x.orders(j, r, emit)
			x.arrivals(j, r, emit)
			x.gone(j, r, emit)
			x.forgets(j, r, emit)
		}
	}
}

// expiries emits the expiry of the armed timers of a role.
func (x *fair) expiries(j fairJoint, r machine.Role, emit func(step)) {
	quiet := j.joint[machine.Initiator].out|j.joint[machine.Responder].out == 0
	for on, activity := range x.Timeouts(j.joint[r].activity, r) {
		ticks := x.ticks(r, on.Name)
		follows := !ticks && quiet && (x.run.Clocks[r.Other()] || j.undelivered) && x.Terminal(x.state(j.joint, r.Other())) // both keep the same deadline
		lapses := !ticks && quiet && x.leftToDeadlines(j)
		if ticks && !quiet || !ticks && !follows && !lapses && !x.run.Clocks[r] {
			continue
		}
		must := dueIf(ticks || follows)
		if lapses {
			must = late
		}
		next := j
		next.joint[r].activity = activity
		x.do(next, r, on, nil, must, emit)
	}
}

func (x *explorer) ticks(r machine.Role, timer string) bool {
	return slices.ContainsFunc(x.Table().Timers, func(t machine.Timer) bool { return t.Role == r && t.Name == timer && t.Ticks })
}

// orders emits the commands of a role's agent and of its running jobs.
func (x *fair) orders(j fairJoint, r machine.Role, emit func(step)) {
	state := x.state(j.joint, r)
	if j.memory[r] == amnesiac && state == machine.Idle {
		return
	}
	for on, activity := range x.Commands(j.joint[r].activity, r, state) {
		next := j
		next.joint[r].activity = activity
		must := free
		switch job, ends := x.issuer(j.joint[r].activity, activity, r, on.Name); {
		case ends:
			must = due
			if !job.Swift && !maps.Collect(x.Jobs(j.joint[r].activity, r))[job.Name] { // it was not asked to stop
				must = answer
			}
		case job.Name != "": // a command before the last one
			if t := x.Find(r, state, on); t != nil && t.To == t.From && x.sentBefore(j.joint, t) {
				continue // one report shows all that can happen to it
			}
		default:
			kind := x.CommandKind(r, state, on.Name)
			if kind == machine.CommandStops && !x.run.Stops || kind == machine.CommandMisreads && (!x.run.Misread || !x.mayMisread(j.joint, r)) {
				continue
			}
			must = dueIf(kind == machine.CommandOwed || kind == machine.CommandOpens)
		}
		x.do(next, r, on, nil, must, emit)
	}
}

// sentBefore reports whether a side has sent a message before with the act and the tag that a row
// sends.
func (x *fair) sentBefore(j joint, t *machine.Transition) bool {
	return slices.ContainsFunc(t.Do, func(e machine.Effect) bool {
		return (e.Kind == machine.EffectSend || e.Kind == machine.EffectResend) && x.count(j, t.Role, e) > 0
	})
}

// issuer returns the running job that gives a command, given the activities before and after
// it, and whether the job ends with it. It returns no job for a command of the agent.
func (x *fair) issuer(before, after machine.Activity, r machine.Role, command string) (job machine.Job, ends bool) {
	for name := range x.Jobs(before, r) {
		j := x.job(r, name)
		switch {
		case before != after && !among(x.Jobs(after, r), name):
			return j, true
		case before == after && slices.Contains(j.Says, command):
			return j, false
		}
	}
	return machine.Job{}, false
}

// arrivals yields, of each message on its way to a role, the delivery, the loss and the refusal
// of a copy.
func (x *fair) arrivals(j fairJoint, r machine.Role, emit func(step)) {
	from := r.Other()
	for i := range j.joint[from].out.All {
		msg, next := &x.messages[from][i], x.withoutCopy(j, from, i)
		if x.mayFail(j) {
			x.loses(next, from, i, emit)
		}
		on := x.classify(j.joint, r, i, msg)
		next.joint[r] = next.joint[r].receive(i)
		x.receives(j, next, r, i, on, emit)
		x.garbles(j, next, r, on, msg, emit)
	}
}

// garbles emits the delivery of a message whose content arrives as another one, where the table
// declares that. It counts as a loss.
func (x *fair) garbles(j, next fairJoint, r machine.Role, on machine.Symbol, msg *message, emit func(step)) {
	for _, g := range x.Table().Garbled {
		if g.Role != r || on.Kind != machine.KindReceive || on.Act != g.On.Act || !x.mayFail(j) {
			continue
		}
		next.wrong++
		x.do(next, r, g.On, msg, free, emit)
	}
}

// mayFail reports whether the network may lose or garble another message.
func (x *fair) mayFail(j fairJoint) bool { return int(j.lost+j.wrong) < x.run.Losses }

// withoutCopy returns the joint state without one copy of a message.
func (x *fair) withoutCopy(j fairJoint, from machine.Role, i int) fairJoint {
	if j.twice[from].Has(i) {
		j.twice[from] = j.twice[from].Without(i)
	} else {
		j.joint[from].out = j.joint[from].out.Without(i)
	}
	return j
}

// loses emits the loss of the copy of message i that next has no more, or its refusal by the
// runtime.
func (x *fair) loses(next fairJoint, from machine.Role, i int, emit func(step)) {
	next.lost++
	if x.run.Refusals {
		x.refuses(next, from, i, emit)
		return
	}
	at := x.state(next.joint, from)
	emit(step{Move: Move{Role: from, From: at, To: at, Message: "the network loses " + x.messages[from][i].String()}, to: next})
}

// cuts emits the loss of the connection between the two sides. The messages under way are lost,
// and so are all later ones.
func (x *fair) cuts(j fairJoint, emit func(step)) {
	if !x.run.Cut || j.cut || !x.losesPeers || x.state(j.joint, machine.Initiator) == machine.Idle {
		return
	}
	at := x.state(j.joint, machine.Initiator)
	next := j
	next.cut = true
	emit(step{Move: Move{From: at, To: at, Message: "the connection between them is lost"}, to: next.afterCut()})
}

// afterCut returns the joint state without the messages that the lost connection does not carry.
func (j fairJoint) afterCut() fairJoint {
	for r := range j.joint {
		if j.joint[r].out != 0 {
			j.lost = max(j.lost, 1)
		}
		j.joint[r].out, j.twice[r] = 0, 0
	}
	return j
}

// gone emits the loss of a role's peer after the connection was lost.
func (x *fair) gone(j fairJoint, r machine.Role, emit func(step)) {
	if s := x.state(j.joint, r); j.cut && s != machine.Idle && !x.Terminal(s) {
		x.do(j, r, machine.PeerLost(), nil, due, emit)
	}
}
