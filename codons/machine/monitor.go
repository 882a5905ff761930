package machine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Utterance is one message of a live trace, as a [Monitor] sees it.
type Utterance struct {
	From  Role
	Act   performatives.Performative
	Tag   string // as for [ReceiveTagged]; empty where the content does not matter
	Again bool   // a message with that id was on the trace before
}

// String returns words such as "responder: INFORM_RESULT (input)".
func (u Utterance) String() string {
	text := u.From.String() + ": " + u.Act.String()
	if u.Tag != "" {
		text += " (" + u.Tag + ")"
	}
	if u.Again {
		text += " again"
	}
	return text
}

// ViolationError is returned by [Monitor.Observe] for a message that its sender
// cannot have sent if it keeps to the table.
type ViolationError struct {
	Table    string
	Got      Utterance
	Expected []Utterance // what that sender might have sent instead, sorted
}

// Error names what was said and what was expected.
func (e *ViolationError) Error() string {
	words := make([]string, len(e.Expected))
	for i, u := range e.Expected {
		words[i] = strings.TrimPrefix(u.String(), u.From.String()+": ")
	}
	expected := "nothing"
	if len(words) > 0 {
		expected = strings.Join(words, ", ")
	}
	return fmt.Sprintf("machine: %s: %s is not legal here, expected %s", e.Table, e.Got, expected)
}

// Monitor watches the messages of one conversation, in the order in which they
// were sent, and says which of them the table does not allow. It sees neither
// timers, commands and jobs nor what was lost or when what was not arrived: it
// follows every course that these may have taken.
//
// A Monitor is not safe for concurrent use. Observe costs tens of microseconds,
// more as the conversation grows longer; it is for tests and for debugging.
type Monitor struct {
	x      *explorer
	may    [2]map[side]bool // where each role may have stood after it last spoke
	said   [2][]said
	opened int
}

// said is one message on the trace.
type said struct {
	Utterance
	opened int // how many opening acts the trace had when it was sent, it included
}

// NewMonitor returns a monitor of a conversation that has not begun.
func NewMonitor(m *Machine) *Monitor {
	return &Monitor{
		x:   newExplorer(m, Network{}.withDefaults()),
		may: [2]map[side]bool{{side{}: true}, {side{}: true}},
	}
}

// Observe takes the next message of the trace. An illegal one is a
// [*ViolationError]; it counts as sent, so that the other side is not blamed for
// answering it, and its sender as one who did not move.
func (o *Monitor) Observe(u Utterance) error {
	after, expected := o.speak(u)
	legal := len(after) > 0
	if u.Again && o.has(u) { // the network may have sent it again, too
		legal = true
		for s := range o.may[u.From] {
			after[s] = true
		}
	}
	if !u.Again && slices.Contains(o.x.Opening(), u.Act) && u.From == Initiator {
		o.opened++
	}
	if !u.Again && len(o.said[u.From]) < setSize {
		o.said[u.From] = append(o.said[u.From], said{u, o.opened})
	}
	if !legal {
		return &ViolationError{Table: o.x.Name(), Got: u, Expected: expected}
	}
	o.may[u.From] = after
	return nil
}

// States returns the states in which a role may be now, in the order of the table.
func (o *Monitor) States(r Role) []State {
	var in set
	for s := range o.reachable(r) {
		in = in.with(int(s.state))
	}
	var states []State
	for i := range in.each {
		states = append(states, o.x.states[i])
	}
	return states
}

// has reports whether a role has said the same before.
func (o *Monitor) has(u Utterance) bool {
	return slices.ContainsFunc(o.said[u.From], func(s said) bool { return s.Act == u.Act && s.Tag == u.Tag })
}

// speak returns where the sender may stand after saying u, and what else it might
// have said.
func (o *Monitor) speak(u Utterance) (map[side]bool, []Utterance) {
	after := map[side]bool{}
	var could []Utterance
	for from := range o.reachable(u.From) {
		for to, says := range o.steps(u.From, from) {
			switch {
			case says == u:
				after[to] = true
			case says != Utterance{} && !slices.Contains(could, says):
				could = append(could, says)
			}
		}
	}
	slices.SortFunc(could, func(a, b Utterance) int {
		return cmp.Or(cmp.Compare(a.Act, b.Act), cmp.Compare(a.Tag, b.Tag), cmp.Compare(a.String(), b.String()))
	})
	return after, could
}

// reachable returns where a role may stand now: after what it said last, and
// whatever happened to it since in silence.
func (o *Monitor) reachable(r Role) map[side]bool {
	reached := map[side]bool{}
	var todo []side
	add := func(s side) {
		if !reached[s] {
			reached[s], todo = true, append(todo, s)
		}
	}
	for s := range o.may[r] {
		add(s)
	}
	for ; len(todo) > 0; todo = todo[1:] {
		for to, says := range o.steps(r, todo[0]) {
			if says == (Utterance{}) {
				add(to)
			}
		}
	}
	return reached
}

// steps yields all that may happen to a role, and what it says then.
func (o *Monitor) steps(r Role, from side) func(yield func(side, Utterance) bool) {
	return func(yield func(side, Utterance) bool) {
		for cause := range o.causes(r, from) {
			s := o.x.find(r, o.x.states[from.state], cause.on)
			if s == nil {
				continue // the shell is told that it is unexpected, and nothing changes
			}
			to := cause.side
			to.state = o.x.index[s.to]
			for _, e := range s.do {
				o.x.keep(&to, r, e)
			}
			if o.x.terminal[s.to] {
				to.armed = 0
			}
			if !yield(to, o.utters(r, s, cause.on)) {
				return
			}
		}
	}
}

// utters returns what a step says, zero for a step that says nothing.
func (o *Monitor) utters(r Role, s *step, on Symbol) Utterance {
	for _, e := range s.do {
		switch e.Kind {
		case EffectSend:
			return Utterance{From: r, Act: e.Act, Tag: e.Name}
		case EffectRefuse:
			return Utterance{From: r, Act: e.Answer(on.Act)}
		case EffectResend:
			for _, before := range slices.Backward(o.said[r]) {
				if before.Act == e.Act {
					return Utterance{From: r, Act: e.Act, Tag: before.Tag, Again: true}
				}
			}
		case EffectArm, EffectDisarm, EffectRun, EffectStop, EffectReport, EffectDrop:
		}
	}
	return Utterance{}
}

// cause is an event that a trace does not show.
type cause struct {
	on   Symbol
	side side // before the step
}

// causes yields the events that may come to a side: expiries, commands, and what
// the other side has said so far.
func (o *Monitor) causes(r Role, from side) func(yield func(cause) bool) {
	return func(yield func(cause) bool) {
		for i := range from.armed.each {
			next := from
			next.armed = from.armed.without(i)
			if !yield(cause{Timeout(o.x.timers[r][i]), next}) {
				return
			}
		}
		_ = o.x.spoken(r, from, func(on Symbol, next side) bool { return yield(cause{on, next}) }) && o.arrivals(r, from, yield)
	}
}

// arrivals yields the messages that may arrive now. A message that was sent
// before this side's latest opening act answers an earlier one; one that was
// sent after it may, too.
func (o *Monitor) arrivals(r Role, from side, yield func(cause) bool) bool {
	for i, said := range o.said[r.Other()] {
		next := from
		next.seen = from.seen.with(i)
		if from.seen.has(i) {
			if !yield(cause{Duplicate(said.Act), next}) {
				return false
			}
			continue
		}
		if r == Initiator && o.opened > 1 && !yield(cause{Symbol{Kind: KindStale, Act: said.Act, Name: said.Tag}, next}) {
			return false
		}
		if r == Initiator && said.opened < o.opened {
			// It may have arrived before that act was sent: then it is in said
			// already, and seen; now it can only be stale.
			continue
		}
		if !yield(cause{ReceiveTagged(said.Act, said.Tag), next}) {
			return false
		}
	}
	return true
}
