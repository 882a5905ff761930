package machine

import (
	"iter"
	"slices"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Move is one transition of an exploration, as a counterexample shows it.
type Move struct {
	Role    Role
	On      Symbol
	Message string // what arrived, empty for commands and timeouts
	From    State
	To      State
	Sent    string    // what it sent, mostly nothing
	Says    Utterance // the same for a [Monitor]; zero for nothing
}

// moves yields everything that can happen in a joint state. It sets x.problem
// and ends at the first thing that has no row, or whose row cannot be obeyed.
func (x *explorer) moves(j joint) iter.Seq2[joint, Move] {
	return func(yield func(joint, Move) bool) {
		for _, r := range Roles() {
			if !x.expiries(j, r, yield) || !x.commands(j, r, yield) || !x.deliveries(j, r, yield) {
				return
			}
		}
	}
}

// yields receives a transition and says whether to go on.
type yields func(joint, Move) bool

// expiries lets every armed timer of a role expire.
func (x *explorer) expiries(j joint, r Role, yield yields) bool {
	if x.net.NoTimeouts {
		return true
	}
	for i := range j[r].armed.each {
		next := j
		next[r].armed = next[r].armed.without(i)
		if !x.take(next, r, Timeout(x.timers[r][i]), nil, yield) {
			return false
		}
	}
	return true
}

// commands lets the agent and the running jobs of a role speak.
func (x *explorer) commands(j joint, r Role, yield yields) bool {
	return x.spoken(r, j[r], func(on Symbol, me side) bool {
		if x.net.NoStops && on == Command(x.net.Stop) {
			return true
		}
		next := j
		next[r] = me
		return x.take(next, r, on, nil, yield)
	})
}

// deliveries lets every message on the way to a role arrive.
func (x *explorer) deliveries(j joint, r Role, yield yields) bool {
	for i := range j[r.Other()].out.each {
		msg, next := &x.messages[r.Other()][i], j
		next[r].seen = next[r].seen.with(i)
		if x.net.Once {
			next[r.Other()].out = next[r.Other()].out.without(i)
		}
		if !x.take(next, r, x.classify(j, r, i, msg), msg, yield) {
			return false
		}
	}
	return true
}

// classify does what the shell does with a message before it becomes an event.
func (x *explorer) classify(j joint, r Role, i int, msg *message) Symbol {
	switch {
	case j[r].seen.has(i):
		return Duplicate(msg.act)
	case r == Initiator && x.stale(j, msg):
		return Symbol{Kind: KindStale, Act: msg.act, Name: msg.tag}
	}
	return ReceiveTagged(msg.act, msg.tag)
}

// stale reports whether the initiator has sent another message of the act that
// msg answers since.
func (x *explorer) stale(j joint, msg *message) bool {
	if msg.about == 0 {
		return false
	}
	asked := x.messages[Initiator][msg.about-1]
	return int(asked.n) < x.count(j, Initiator, asked.act)
}

// take takes one step and yields where it leads. It reports whether to go on.
func (x *explorer) take(j joint, r Role, on Symbol, msg *message, yield yields) bool {
	state := x.states[j[r].state]
	move := Move{Role: r, On: on, From: state, To: state}
	if msg != nil {
		move.Message = msg.String()
	}
	s := x.find(r, state, on)
	if s == nil {
		x.problem = &Counterexample{Problem: Unhandled, Detail: "no row for " + on.String()}
		yield(j, move)
		return false
	}
	if on.Kind == KindCommand && x.exhausted(j, r, s) {
		return true
	}
	x.taken[s] = true
	move.To = s.to
	return yield(x.apply(j, r, s, msg, &move), move) && x.problem == nil
}

// exhausted reports whether a command would send more different messages of an
// act than the environment may.
func (x *explorer) exhausted(j joint, r Role, s *step) bool {
	return slices.ContainsFunc(s.do, func(e Effect) bool {
		return e.Kind == EffectSend && x.count(j, r, e.Act) >= x.net.Repeat
	})
}

// count returns how many different messages of an act a role has sent.
func (x *explorer) count(j joint, r Role, act performatives.Performative) int {
	n := 0
	for i := range j[r].sent.each {
		if x.messages[r][i].act == act {
			n++
		}
	}
	return n
}

// apply carries out a step the way a shell does.
func (x *explorer) apply(j joint, r Role, s *step, msg *message, move *Move) joint {
	me := &j[r]
	me.state = x.index[s.to]
	if msg != nil && r == Responder && s.on.Kind == KindReceive {
		me.hear(msg.act, x.places[*msg], s.do)
	}
	for _, e := range s.do {
		x.effect(&j, r, e, msg, move)
	}
	if x.terminal[s.to] {
		me.armed = 0
		if left := me.runs &^ me.asked; left != 0 {
			x.violate(LeftRunning, "job "+x.jobs[r][slices.Collect(left.each)[0]].Name+" runs on and was not asked to stop")
		}
	}
	return j
}

// effect carries out one effect.
func (x *explorer) effect(j *joint, r Role, e Effect, msg *message, move *Move) {
	me := &j[r]
	switch e.Kind {
	case EffectSend:
		x.send(j, message{from: r, act: e.Act, tag: e.Name, about: me.about(e.Act)}, move)
	case EffectRefuse:
		refusal := message{from: r, act: e.Answer(msg.act)}
		if r == Responder {
			refusal.about = uint8(x.places[*msg] + 1)
		}
		x.send(j, refusal, move)
	case EffectResend:
		x.resend(j, r, e, move)
	case EffectArm, EffectDisarm, EffectRun, EffectStop, EffectReport, EffectDrop:
		if !x.keep(me, r, e) {
			x.violate(LeftRunning, "job "+e.Name+" is started while it runs")
		}
	}
}

// send puts a new message on its way.
func (x *explorer) send(j *joint, m message, move *Move) {
	m.n = uint8(x.count(*j, m.from, m.act) + 1)
	i, known := x.places[m]
	if !known {
		i = len(x.messages[m.from])
		if i == setSize {
			x.violate(TooMany, "a role sends more than 64 different messages")
			return
		}
		x.messages[m.from] = append(x.messages[m.from], m)
		x.places[m] = i
	}
	x.dispatch(j, i, m, move)
}

// resend puts the latest message of an act on its way again.
func (x *explorer) resend(j *joint, r Role, e Effect, move *Move) {
	latest, n := -1, uint8(0)
	for i := range j[r].sent.each {
		if m := x.messages[r][i]; m.act == e.Act && m.n > n {
			latest, n = i, m.n
		}
	}
	if latest < 0 {
		x.violate(NothingToResend, "no "+e.Act.String()+" was ever sent")
		return
	}
	x.dispatch(j, latest, x.messages[r][latest], move)
}

func (x *explorer) dispatch(j *joint, i int, m message, move *Move) {
	me := &j[m.from]
	move.Sent = m.String()
	move.Says = Utterance{From: m.from, Act: m.act, Tag: m.tag, Again: me.sent.has(i)}
	me.sent, me.out = me.sent.with(i), me.out.with(i)
}

func (x *explorer) violate(p Problem, detail string) {
	if x.problem == nil {
		x.problem = &Counterexample{Problem: p, Detail: detail}
	}
}
