package machine

import (
	"cmp"
	"fmt"
	"maps"
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
// follows every course that these may have taken, and no other. [CheckMonitor]
// shows that for a table.
//
// Of messages of one side that are alike, such as progress reports, it tells 16
// apart, and of all messages of one side 64. With more it may miss violations; it
// never sees one where there is none.
//
// A Monitor is not safe for concurrent use. Observe takes some tens of
// microseconds, in a long conversation some hundreds.
type Monitor struct {
	*layout
	said    [2][]said
	count   map[performatives.Performative]int // of the initiator's different messages of an act that the responder answers
	courses []course
	blind   bool // too much was said to go on
}

// said is one message on the trace.
type said struct {
	Utterance
	n    int  // of an act that the responder answers: counts those of it, from 1
	many bool // it stands for any number of messages
}

// maxAlike is how many messages that are alike a monitor tells apart.
const maxAlike = 16

// NewMonitor returns a monitor of a conversation that has not begun.
func NewMonitor(m *Machine) *Monitor {
	return &Monitor{
		layout: m.layout, count: map[performatives.Performative]int{},
		courses: []course{{may: [2][]side{{{}}, {{}}}}},
	}
}

// Observe takes the next message of the trace. An illegal one is a
// [*ViolationError]; it counts as sent, so that the other side is not blamed for
// answering it, and its sender as one who did not move.
func (o *Monitor) Observe(u Utterance) error {
	if o.blind {
		return nil
	}
	after := o.speak(u)
	var err error
	if len(after) == 0 {
		err = &ViolationError{Table: o.Name(), Got: u, Expected: o.expected(u.From)}
		after = o.unmoved(u)
	}
	o.courses = after
	if !u.Again {
		o.record(u)
	}
	return err
}

// States returns the states in which a role may be now, in the order of the table.
func (o *Monitor) States(r Role) []State {
	var in set
	for _, c := range o.courses {
		for _, s := range o.reachable(c, r) {
			in = in.with(int(s.state))
		}
	}
	var states []State
	for i := range in.each {
		states = append(states, o.states[i])
	}
	return states
}

// speak returns the courses in which u can be said, after it.
func (o *Monitor) speak(u Utterance) []course {
	repeated := u.Again && o.has(u)
	var after []course
	for _, c := range o.courses {
		stood := o.uttered(c, u)
		if repeated { // the network may have sent it again, too
			stood[0] = append(stood[0], c.may[u.From]...)
		}
		for about := range uint8(len(o.said[Initiator]) + 1) {
			if len(stood[about]) > 0 {
				after = append(after, c.after(u, about, stood[about]))
			}
		}
	}
	return after
}

// unmoved returns the courses after an illegal message.
func (o *Monitor) unmoved(u Utterance) []course {
	after := slices.Clone(o.courses)
	for i, c := range after {
		after[i] = c.after(u, aboutAny, c.may[u.From])
	}
	return after
}

// record notes a message that was not on the trace before.
func (o *Monitor) record(u Utterance) {
	said := said{Utterance: u}
	if u.From == Initiator && u.Act.ExpectsReply() {
		o.count[u.Act]++
		said.n = o.count[u.Act]
	}
	switch alike, last := o.alike(u); {
	case alike >= maxAlike && said.n == 0:
		o.blur(u.From, last)
	case len(o.said[u.From]) == setSize:
		o.blind = true
	default:
		o.said[u.From] = append(o.said[u.From], said)
	}
}

// blur lets a message stand for those like it that come after it, the newest
// included.
func (o *Monitor) blur(r Role, i int) {
	o.said[r][i].many = true
	for k, c := range o.courses {
		if r == Responder {
			o.courses[k].about = slices.Clone(c.about[:len(o.said[r])])
			o.courses[k].about[i] = aboutAny
		}
	}
}

// alike returns how many messages of the trace are like u, and the last of them.
func (o *Monitor) alike(u Utterance) (n, last int) {
	for i, s := range o.said[u.From] {
		if s.Utterance == u {
			n, last = n+1, i
		}
	}
	return n, last
}

// has reports whether a role has said the same before.
func (o *Monitor) has(u Utterance) bool {
	return slices.ContainsFunc(o.said[u.From], func(s said) bool { return s.Act == u.Act && s.Tag == u.Tag })
}

// expected returns what a role might say now.
func (o *Monitor) expected(r Role) []Utterance {
	var could []Utterance
	for _, c := range o.courses {
		kinds := o.kinds(c, r)
		for _, from := range o.reachable(c, r) {
			for says := range o.steps(c, r, from, kinds) {
				if says.Utterance != (Utterance{}) && !slices.Contains(could, says.Utterance) {
					could = append(could, says.Utterance)
				}
			}
		}
	}
	slices.SortFunc(could, func(a, b Utterance) int {
		return cmp.Or(cmp.Compare(a.Act, b.Act), cmp.Compare(a.Tag, b.Tag), cmp.Compare(a.String(), b.String()))
	})
	return could
}

// fork returns a monitor that has seen the same.
func (o *Monitor) fork() *Monitor {
	other := *o
	for _, r := range Roles() {
		other.said[r] = slices.Clone(o.said[r])
	}
	other.count = maps.Clone(o.count)
	other.courses = slices.Clone(o.courses)
	return &other
}
