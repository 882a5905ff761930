package performatives

import (
	"math"
	"time"
)

// Origin is what a message has beside its envelope and content where it passes between nodes. No
// peer can set it.
type Origin struct {
	Principal  string // see [Message.Principal]
	Activation uint64 // see [Message.Activation]
	Answers    uint64 // see [Message.Answered]
	Forwards   int    // see [Message.Forwards]
}

// Origin returns the origin of m.
func (m *Message) Origin() Origin {
	r := m.rareFields()
	return Origin{r.principal, r.activation, r.answers, int(m.forwards)}
}

// SetOrigin stores the origin of m. Only the link to another node that has just read m may call it,
// before it passes m on.
func (m *Message) SetOrigin(o Origin) {
	m.forwards = uint8(min(max(o.Forwards, 0), MaxForwards))
	if o.Forwards = int(m.forwards); m.Origin() != o {
		m.changeRare(func(r *rare) { r.principal, r.activation, r.answers = o.Principal, o.Activation, o.Answers })
	}
}

// ShiftReplyBy adds a duration to the deadline of m, if it has one. Only the link to another node
// that has just read m may call it, before it passes m on.
func (m *Message) ShiftReplyBy(by time.Duration) {
	if !m.replyBy.IsZero() {
		m.replyBy = m.replyBy.Add(by)
	}
}

// Activation returns the number of the run of the sender, an agent that a cluster places: each run
// has a greater one than those before it. What writes to a store outside can refuse a run that is
// over. It is zero for an agent that is not placed, and for one of another process than a node.
func (m *Message) Activation() uint64 { return m.rareFields().activation }

// Activate stores the activation of the sender. Only the sender may call it, before the message is
// sent for the first time.
func (m *Message) Activate(activation uint64) {
	if m.rareFields().activation != activation { // a message that is sent again is being read
		m.changeRare(func(r *rare) { r.activation = activation })
	}
}

// Answered returns the activation of the receiver whose message m answers, and zero where it is not
// known. An answer to a run that is over is refused.
func (m *Message) Answered() uint64 { return m.rareFields().answers }

// MaxForwards is the largest number that [Message.Forwards] counts to.
const MaxForwards = math.MaxUint8

// Forwards returns how many nodes have passed m on, because its receiver was not there any more. It
// is at most [MaxForwards].
func (m *Message) Forwards() int { return int(m.forwards) }

// Forward returns m as it is passed on to another node, where its receiver is expected.
func (m *Message) Forward() *Message {
	f := *m
	if f.forwards < MaxForwards {
		f.forwards++
	}
	return &f
}
