package machine

import "slices"

// cause is an event that a trace does not show.
type cause struct {
	on      Symbol
	side    side // the receiver before its step
	message int  // the index of a message with a new id, negative for every other event
}

// steps calls do for every step that a role can take from a canonical position: with the message
// that the step sends, and the position after it, which is canonical. An event without a row
// changes nothing.
func (o *Monitor) steps(h hypothesis, r Role, from side, kinds []kind, do func(output, side)) {
	o.causes(h, r, from, kinds, func(c cause) {
		if t := o.machine.Find(r, o.states[from.state], c.on); t != nil {
			do(o.apply(r, t, c))
		}
	})
}

// apply returns the message that a transition sends, and the position after it.
func (o *Monitor) apply(r Role, t *Transition, c cause) (output, side) {
	to := c.side
	to.state = o.index[t.To]
	if c.message >= 0 && r == Responder && t.On.Kind == KindReceive {
		to.requests.Accept(c.on.Act, uint8(c.message+1), t.Do)
	}
	var out output
	for _, e := range t.Do {
		to.activity = o.machine.Apply(to.activity, r, e)
		out = o.output(r, e, &to, &c, out)
	}
	if o.machine.Terminal(t.To) {
		to.activity = to.activity.WithoutTimers()
	}
	to.activity.stopping = 0 // a job may give the same commands before and after it was asked to stop
	return out, to
}

// output returns the message that the step sends after one more effect. An effect that
// sends none leaves it as it was.
func (o *Monitor) output(r Role, e Effect, from *side, c *cause, before output) output {
	switch e.Kind {
	case EffectSend:
		return output{Utterance{From: r, Act: e.Act, Tag: e.Name}, from.requests.Answered(e.Act)}
	case EffectRefuse:
		out := output{Utterance: Utterance{From: r, Act: e.Answer(c.on.Act)}}
		if r == Responder {
			out.answers = uint8(c.message + 1)
		}
		return out
	case EffectResend:
		for _, m := range slices.Backward(o.trace[r]) {
			if m.Act == e.Act {
				return output{Utterance: Utterance{From: r, Act: e.Act, Tag: m.Tag, Again: true}}
			}
		}
	case EffectArm, EffectDisarm, EffectRun, EffectStop, EffectReport, EffectDrop:
	}
	return before
}

// causes emits the events that can come to a role: expiries of its timers, commands,
// refusals by the runtime, the loss of its peer, and the messages of the other side.
func (o *Monitor) causes(h hypothesis, r Role, from side, kinds []kind, emit func(cause)) {
	for on, activity := range o.machine.Timeouts(from.activity, r) {
		emit(from.caused(on, activity))
	}
	silent := len(o.trace[r.Other()]) == 0
	for on, activity := range o.machine.commands(from.activity, r, from.state) {
		if !silent || o.machine.CommandKind(r, o.states[from.state], on.Name) != CommandMisreads { // which needs a message
			emit(from.caused(on, activity))
		}
	}
	for _, on := range o.layout.failures[r] { // of messages of the role, if the table has rows for them
		if on.Kind == KindPeerLost || slices.ContainsFunc(o.trace[r], func(m traced) bool { return m.Act == on.Act }) {
			emit(cause{on, from, -1})
		}
	}
	for _, k := range kinds {
		o.arrivals(h, r, from, k, emit)
	}
}

// caused returns the cause of an event that is not a message.
func (s side) caused(on Symbol, activity Activity) cause {
	s.activity = activity
	return cause{on, s, -1}
}

// arrivals emits the receptions of messages of a kind.
func (o *Monitor) arrivals(h hypothesis, r Role, from side, k kind, emit func(cause)) {
	first := o.trace[r.Other()][k.first]
	if from.received&k.messages != 0 || first.many {
		emit(cause{Duplicate(first.Act), from, -1})
	}
	if from.received&k.messages == k.messages && !first.many {
		return
	}
	to, i := from, k.first
	if !first.many { // the first that has not arrived, so that the position stays canonical
		i = (k.messages &^ from.received).First()
		to.received = from.received.With(i)
	}
	stale := r == Responder && o.overtaken(from, first)
	fresh := !stale
	if r == Initiator {
		stale, fresh = o.freshness(h, i)
	}
	if stale {
		emit(cause{Symbol{Kind: KindStale, Act: first.Act, Name: first.Tag}, to, i})
	}
	if fresh {
		emit(cause{ReceiveTagged(first.Act, first.Tag), to, i})
	}
}

// overtaken reports whether the responder has received a later request of the same act.
func (o *Monitor) overtaken(from side, request traced) bool {
	for i := range from.received.All {
		if later := o.trace[Initiator][i]; later.Act == request.Act && later.n > request.n {
			return true
		}
	}
	return false
}

// freshness reports whether a message of the responder may answer an earlier request
// than the latest of its act, and whether it may answer none or the latest.
func (o *Monitor) freshness(h hypothesis, i int) (stale, fresh bool) {
	switch answers := h.answers[i]; answers {
	case 0:
		return false, true
	case answersUnknown:
		return true, true
	default:
		request := o.trace[Initiator][answers-1]
		stale = request.n < o.requests[request.Act]
		return stale, !stale
	}
}
