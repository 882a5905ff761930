package verify

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/internal/bitset"
	"github.com/ribosome-agents/ribosome/performatives"
)

// take takes one step and emits the joint state after it.
func (x *explorer) take(j joint, r machine.Role, on machine.Symbol, msg *message, emit func(joint, Move)) {
	state := x.state(j, r)
	move := Move{Role: r, On: on, From: state, To: state}
	if msg != nil {
		move.Message = msg.String()
	}
	t := x.Find(r, state, on)
	if t == nil {
		x.violate(Unhandled, "no row for "+on.String())
		emit(j, move)
		return
	}
	if on.Kind == machine.KindCommand && x.exhausted(j, r, t) {
		return
	}
	x.taken[t] = true
	if x.net.Strict {
		x.checkStrict(t, j[r], msg)
	}
	move.To = t.To
	emit(x.apply(j, t, msg, &move), move)
}

// exhausted reports whether a command would send more different messages of one act and tag
// than Network.Repeat.
func (x *explorer) exhausted(j joint, r machine.Role, t *machine.Transition) bool {
	if r == machine.Responder {
		j[r].sent &^= x.former
	}
	return slices.ContainsFunc(t.Do, func(e machine.Effect) bool {
		most := x.net.Repeat
		if e.Act.ExpectsReply() {
			most = x.rounds
		}
		return e.Kind == machine.EffectSend && x.count(j, r, e) >= most
	})
}

// apply performs a transition as the shell does, and returns the joint state after it.
func (x *explorer) apply(j joint, t *machine.Transition, msg *message, move *Move) joint {
	me := &j[t.Role]
	me.state = x.index[t.To]
	if msg != nil && t.On.Kind == machine.KindReceive && (t.Role == machine.Responder || x.verdicts && msg.act == performatives.ActPropose) {
		me.requests.Accept(msg.act, x.question(*msg), t.Do)
	}
	for _, e := range t.Do {
		x.perform(&j, t.Role, e, msg, move)
	}
	if x.Terminal(t.To) {
		me.activity, me.unheard = me.activity.WithoutTimers(), 0
		for job, stopping := range x.Jobs(me.activity, t.Role) {
			if !stopping {
				x.violate(LeftRunning, "job "+job+" runs on and was not asked to stop")
			}
		}
	}
	return j
}

// perform performs one effect.
func (x *explorer) perform(j *joint, r machine.Role, e machine.Effect, msg *message, move *Move) {
	me := &j[r]
	switch e.Kind {
	case machine.EffectSend:
		m := message{from: r, act: e.Act, tag: e.Name}
		if r == machine.Responder || e.Act == performatives.ActAcceptProposal || e.Act == performatives.ActRejectProposal {
			m.answers = me.requests.Answered(e.Act)
		}
		x.send(j, m, move)
	case machine.EffectRefuse:
		refusal := message{from: r, act: e.Answer(msg.act)}
		if r == machine.Responder || x.verdicts {
			refusal.answers = x.question(*msg)
		}
		x.send(j, refusal, move)
	case machine.EffectResend:
		x.resend(j, r, e, move)
	case machine.EffectRun:
		if among(x.Jobs(me.activity, r), e.Name) {
			x.violate(LeftRunning, "job "+e.Name+" is started while it runs")
		}
		me.activity = x.Apply(me.activity, r, e)
	case machine.EffectArm, machine.EffectDisarm, machine.EffectStop, machine.EffectReport, machine.EffectDrop:
		me.activity = x.Apply(me.activity, r, e)
	}
}

// among reports whether a key is one of a sequence, such as a job of those that run.
func among[K comparable, V any](all iter.Seq2[K, V], key K) bool {
	for k := range all {
		if k == key {
			return true
		}
	}
	return false
}

// send sends a new message. Its number is above those of all earlier messages of the act. It is
// that of the latest one if the two answer different requests of one act, so that the number of
// messages stays small: see after.
func (x *explorer) send(j *joint, m message, move *Move) {
	m.n = 1
	if latest := x.latest(j[m.from].sent, m.from, m.act); latest >= 0 {
		before := x.messages[m.from][latest]
		if m.n = before.n; !x.after(m, before) {
			m.n++
		}
	}
	x.sendNumbered(j, m, move)
}

// question returns the number by which an answer names the message m: 1 + the index of the first
// message that differs from m in its tag alone. A conversation has one of these at most.
func (x *explorer) question(m message) uint8 {
	return uint8(1 + slices.IndexFunc(x.messages[m.from], func(o message) bool {
		o.tag = m.tag
		return o == m
	}))
}

// after reports whether a side has sent m after o, a message of the same act.
func (x *explorer) after(m, o message) bool {
	if m.n != o.n || m.from == machine.Initiator || m.answers == 0 || o.answers == 0 {
		return m.n > o.n
	}
	asked, before := x.messages[machine.Initiator][m.answers-1], x.messages[machine.Initiator][o.answers-1]
	return asked.act == before.act && asked.n > before.n
}

// sendNumbered sends a new message that has its number.
func (x *explorer) sendNumbered(j *joint, m message, move *Move) {
	i, known := x.numbers[m]
	if !known {
		i = len(x.messages[m.from])
		if i == bitset.Size {
			x.violate(TooMany, fmt.Sprintf("the %s sends more than %d different messages, the last one %s by the row %s on %s: "+
				"messages differ by act, tag, number, and the number of the request that they answer, so that there may be as many as requests times answers. "+
				"Use one tag with a payload for several of them, fewer rounds, or machine.Resend in a row that sends anew each time that a message arrives", m.from, bitset.Size, m, move.From, move.On))
			return
		}
		x.messages[m.from] = append(x.messages[m.from], m)
		x.numbers[m] = i
	}
	x.dispatch(j, i, m, move)
}

// resend sends the latest message of an act again.
func (x *explorer) resend(j *joint, r machine.Role, e machine.Effect, move *Move) {
	latest := x.latestOf(j[r], r, e.Act)
	if latest < 0 {
		x.violate(NothingToResend, "no "+e.Act.String()+" was ever sent")
		return
	}
	x.dispatch(j, latest, x.messages[r][latest], move)
}

// dispatch hands message i to the network.
func (x *explorer) dispatch(j *joint, i int, m message, move *Move) {
	me := &j[m.from]
	x.handed = i
	move.Sent = m.String()
	move.Utterance = machine.Utterance{From: m.from, Act: m.act, Tag: m.tag, Again: me.sent.Has(i)}
	if !me.sent.Has(i) && x.refusable[m.from].tracked[m.act] {
		me.unheard = me.unheard.With(i)
	}
	me.sent, me.out = me.sent.With(i), me.out.With(i)
}

// violate records the first violation of a step.
func (x *explorer) violate(p Problem, detail string) {
	x.problem = cmp.Or(x.problem, &Counterexample{Problem: p, Detail: detail})
}
