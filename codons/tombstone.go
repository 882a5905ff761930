package codons

import (
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// tombstone returns the function that handles messages after the end by the table. It runs on
// the agent's actor. It keeps a copy of the conversation's answers and of nothing else.
func (c *Conversation) tombstone() func(*performatives.Message) bool {
	t := &tombstone{Value: c.forTombstone(), agent: c.agent, began: c.first.Timestamp()}
	return t.take
}

// tombstone is the rest of an ended conversation: it answers duplicates and drops late messages.
type tombstone struct {
	Value
	agent actors.Self
	began time.Time // when the conversation's first message was made, by the clock of its sender
}

// forTombstone returns the part of the value that is needed after the end: the answers and the
// ids of the messages that they answer.
func (v *Value) forTombstone() Value {
	out := Value{
		codon: v.codon, machine: v.machine, at: v.at, side: ended{}, self: v.self, key: v.key, seen: slices.Clone(v.seen),
		shared: v.shared, mentioned: v.mentioned,
	}
	if v.request != nil && !slices.Contains(out.seen, v.request.ID()) {
		out.seen = append(out.seen, v.request.ID())
	}
	for _, m := range v.sent {
		if v.at.Role == machine.Responder || m.Performative() == performatives.ActRejectProposal {
			out.sent = append(out.sent, m)
		}
	}
	if v.request == nil {
		out.cancel = v.cancel
	}
	return out
}

// take handles a message, or reports false for one that opens a new conversation.
func (t *tombstone) take(m *performatives.Message) bool {
	on := t.classify(m, "")
	if on.Kind == machine.KindReceive && (t.reopenedBy(m) || t.precedesReopening(m)) {
		return false
	}
	c := Conversation{Value: t.Value, agent: t.agent}
	c.over.Store(true)
	c.take(Event{On: on, At: time.Now(), Message: m})
	t.Value = c.Value
	return true
}

// reopenedBy reports whether a fresh opening act opens a new conversation under the id of this
// one. Chat clients give all their tasks one id. A request that its CANCEL has overtaken opens
// none. Neither does a further round of this conversation, which refers to the round before, nor
// the act that began this conversation, whose id it has: later messages have overtaken it.
func (v *Value) reopenedBy(m *performatives.Message) bool {
	if string(m.ID()) == string(v.key.ID) {
		return false
	}
	further := slices.Contains(v.seen, performatives.MessageID(m.InReplyTo())) || v.continuedBy(m)
	return v.machine.Opens(m.Performative()) && !further && !v.overtaken(m)
}

// precedesReopening reports whether a CANCEL has overtaken the request that opens the next
// conversation of this id: it refers to no message of this one, and is not older. The CANCEL
// then opens that conversation, if it names the codon.
func (t *tombstone) precedesReopening(m *performatives.Message) bool {
	return m.Performative() == performatives.ActCancel && m.Protocol() == t.machine.Name() && t.shared && t.at.Role == machine.Responder &&
		!m.Timestamp().Before(t.began) && m.InReplyTo() != "" && m.InReplyTo() != string(t.key.ID) && !slices.Contains(t.mentioned, m.InReplyTo())
}

// continuedBy reports whether an act that expects no reply continues this conversation. Such an
// act may also open one. It continues where it refers to a message, and the conversation id is
// the id of its first request or this side is the initiator.
func (v *Value) continuedBy(m *performatives.Message) bool {
	named := v.at.Role == machine.Initiator || !v.shared || slices.Contains(v.seen, performatives.MessageID(v.key.ID))
	return named && m.InReplyTo() != "" && !m.Performative().ExpectsReply()
}

// ended is the side of a tombstone: rows of a terminal state only repeat, refuse and drop, so no
// other method of [Side] is called.
type ended struct{ Side }

// Reduce does nothing.
func (ended) Reduce(*Value, *Event) {}
