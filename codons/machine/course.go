package machine

import (
	"math/bits"
	"slices"
)

// course is one account of what the responder's messages on a trace answer, and
// where the sides may have stood when each spoke last. Courses share slices.
type course struct {
	about []uint8 // for each message: 1 + the index of the initiator's; 0 for none
	may   [2][]side
}

// aboutAny marks a message of which it is not known what it answers.
const aboutAny uint8 = 255

// after returns the course after a message.
func (c course) after(u Utterance, about uint8, sides []side) course {
	if u.From == Responder && !u.Again {
		c.about = append(slices.Clip(c.about), about)
	}
	c.may[u.From] = sides
	return c
}

// speech is what a step says, zero for nothing, and what that answers.
type speech struct {
	Utterance
	about uint8
}

// uttered returns where the sender may stand after saying u, by what u answers.
func (o *Monitor) uttered(c course, u Utterance) map[uint8][]side {
	stood, kinds := map[uint8]*antichain{}, o.kinds(c, u.From)
	for _, from := range o.reachable(c, u.From) {
		for says, to := range o.steps(c, u.From, from, kinds) {
			if says.Utterance != u {
				continue
			}
			if stood[says.about] == nil {
				stood[says.about] = newAntichain(o.idle(u.From))
			}
			stood[says.about].add(to)
		}
	}
	sides := make(map[uint8][]side, len(stood))
	for about, a := range stood {
		sides[about] = a.all()
	}
	return sides
}

// reachable returns where a role may stand now: after what it said last, and
// whatever happened to it since in silence.
func (o *Monitor) reachable(c course, r Role) []side {
	reached, kinds := newAntichain(o.idle(r)), o.kinds(c, r)
	var todo []side
	add := func(s side) {
		if reached.add(s) {
			todo = append(todo, s)
		}
	}
	for _, s := range c.may[r] {
		add(canonical(s, kinds))
	}
	for ; len(todo) > 0; todo = todo[1:] {
		for says, to := range o.steps(c, r, todo[0], kinds) {
			if says == (speech{}) {
				add(to)
			}
		}
	}
	return reached.all()
}

// idle returns the messages to a role of which a copy changes nothing.
func (o *Monitor) idle(r Role) set {
	var idle set
	for i, s := range o.said[r.Other()] {
		if o.inert[r][s.Act] {
			idle = idle.with(i)
		}
	}
	return idle
}

// kind is a set of messages that make no difference to the side that gets them.
type kind struct {
	set
	first int
}

// kinds sorts the messages to a role.
func (o *Monitor) kinds(c course, r Role) []kind {
	said := o.said[r.Other()]
	var kinds []kind
	for i, s := range said {
		k := slices.IndexFunc(kinds, func(k kind) bool {
			return said[k.first] == s && !s.many && (r == Responder || c.about[k.first] == c.about[i])
		})
		if k < 0 {
			k, kinds = len(kinds), append(kinds, kind{first: i})
		}
		kinds[k].set = kinds[k].with(i)
	}
	return kinds
}

// canonical returns s as if of each kind the first messages had arrived.
func canonical(s side, kinds []kind) side {
	for _, k := range kinds {
		n := bits.OnesCount64(uint64(s.seen & k.set))
		s.seen &^= k.set
		for i := range k.each {
			if n == 0 {
				break
			}
			s.seen, n = s.seen.with(i), n-1
		}
	}
	return s
}

// steps yields all that may happen to a role: what it says then, and where it
// stands after it.
func (o *Monitor) steps(c course, r Role, from side, kinds []kind) func(yield func(speech, side) bool) {
	return func(yield func(speech, side) bool) {
		for cause := range o.causes(c, r, from, kinds) {
			s := o.find(r, o.states[from.state], cause.on)
			if s == nil {
				continue // the shell is told that it is unexpected, and nothing changes
			}
			says, to := o.apply(r, s, cause)
			if !yield(says, canonical(to, kinds)) {
				return
			}
		}
	}
}

// apply carries out a step.
func (o *Monitor) apply(r Role, s *step, by cause) (speech, side) {
	to := by.side
	to.state = o.index[s.to]
	if by.message >= 0 && r == Responder && s.on.Kind == KindReceive {
		to.hear(by.on.Act, by.message, s.do)
	}
	var says speech
	for _, e := range s.do {
		_ = o.keep(&to, r, e) // a job that runs twice is for Explore to find
		says = o.utter(r, e, &to, by, says)
	}
	if o.terminal[s.to] {
		to.armed = 0
	}
	to.asked = 0 // makes no difference to what may happen
	return says, to
}

// utter returns what a step says, given what it said before an effect.
func (o *Monitor) utter(r Role, e Effect, me *side, by cause, before speech) speech {
	switch e.Kind {
	case EffectSend:
		return speech{Utterance{From: r, Act: e.Act, Tag: e.Name}, me.about(e.Act)}
	case EffectRefuse:
		says := speech{Utterance: Utterance{From: r, Act: e.Answer(by.on.Act)}}
		if r == Responder {
			says.about = uint8(by.message + 1)
		}
		return says
	case EffectResend:
		for _, s := range slices.Backward(o.said[r]) {
			if s.Act == e.Act {
				return speech{Utterance: Utterance{From: r, Act: e.Act, Tag: s.Tag, Again: true}}
			}
		}
	case EffectArm, EffectDisarm, EffectRun, EffectStop, EffectReport, EffectDrop:
	}
	return before
}

// cause is an event that a trace does not show.
type cause struct {
	on      Symbol
	side    side // before the step
	message int  // the index of what arrived as new, negative for anything else
}

// causes yields the events that may come to a side: expiries, commands, and what
// the other side has said so far.
func (o *Monitor) causes(c course, r Role, from side, kinds []kind) func(yield func(cause) bool) {
	return func(yield func(cause) bool) {
		for i := range from.armed.each {
			next := from
			next.armed = from.armed.without(i)
			if !yield(cause{Timeout(o.timers[r][i]), next, -1}) {
				return
			}
		}
		if !o.spoken(r, from, func(on Symbol, next side) bool { return yield(cause{on, next, -1}) }) {
			return
		}
		for _, k := range kinds {
			if !o.arrivals(c, r, from, k, yield) {
				return
			}
		}
	}
}

// arrivals yields the messages of a kind that may arrive now. It reports whether
// to go on.
func (o *Monitor) arrivals(c course, r Role, from side, k kind, yield func(cause) bool) bool {
	first := o.said[r.Other()][k.first]
	if (from.seen&k.set != 0 || first.many) && !yield(cause{Duplicate(first.Act), from, -1}) {
		return false
	}
	if from.seen&k.set == k.set && !first.many {
		return true
	}
	next, i := from, k.first
	if !first.many {
		i = bits.TrailingZeros64(uint64(k.set &^ from.seen))
		next.seen = from.seen.with(i)
	}
	stale, timely := false, true
	if r == Initiator {
		stale, timely = o.timing(c, i)
	}
	if stale && !yield(cause{Symbol{Kind: KindStale, Act: first.Act, Name: first.Tag}, next, i}) {
		return false
	}
	return !timely || yield(cause{ReceiveTagged(first.Act, first.Tag), next, i})
}

// timing reports whether a message of the responder may answer an earlier request
// than the latest of its act, and whether it may not.
func (o *Monitor) timing(c course, i int) (stale, timely bool) {
	switch about := c.about[i]; about {
	case 0:
		return false, true
	case aboutAny:
		return true, true
	default:
		asked := o.said[Initiator][about-1]
		stale = asked.n < o.count[asked.Act]
		return stale, !stale
	}
}
