package codons

import (
	"hash/maphash"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// maxTombstoneIDs is the largest number of message ids that a tombstone keeps, of received messages
// and of messages that CANCEL may refer to each. The oldest are dropped. The system remembers the
// requests among them.
const maxTombstoneIDs = 8

// tombstone is the rest of an ended conversation: it answers duplicates and drops late
// messages, by the rows of the terminal state. It keeps hashes in place of ids, and of the
// messages only those that a row of the state repeats.
//
// It has 64 bytes. Most responders need no ids: the only message that they have received has the id
// of the conversation.
type tombstone struct {
	codon      *Codon
	ids        []uint64 // of received messages; then those of mentioned ones; then, if named, what the first message refers to
	replies    *reply
	began      int64  // when the conversation's first message was made, by the clock of its sender
	id         uint64 // of the conversation
	state      uint8  // index in the table's Terminal
	received   uint8  // number of received messages in ids
	role       machine.Role
	sawOwn     bool // a message that has the id of the conversation was received
	shared     bool // the conversation id is not the id of the first request
	overtaking bool // a CANCEL or a further request has come, and the request before it has not
	named      bool // the message that overtook the request refers to it
}

// reply is a message that a row of the terminal state repeats.
type reply struct {
	message *performatives.Message
	next    *reply
}

var _ actors.Tombstone = (*tombstone)(nil)

// idSeed is the seed of the hashes in tombstones.
var idSeed = maphash.MakeSeed()

func hashOf[T ~string](id T) uint64 { return maphash.String(idSeed, string(id)) }

// tombstone returns the tombstone of a conversation in a terminal state.
func (v *Value) tombstone() *tombstone {
	t := &tombstone{
		codon: v.codon, began: v.first.Timestamp().UnixNano(), id: hashOf(v.key.ID), role: v.at.Role, shared: v.shared,
		state: uint8(slices.Index(v.codon.Table.Terminal, v.at.State)),
	}
	seen := v.seen[max(0, len(v.seen)-maxTombstoneIDs):]
	mentioned := v.mentioned[max(0, len(v.mentioned)-maxTombstoneIDs):]
	var room [2*maxTombstoneIDs + 2]uint64
	ids := room[:0]
	if v.request != nil && !slices.Contains(seen, v.request.ID()) {
		ids = append(ids, hashOf(v.request.ID()))
	}
	for _, id := range seen {
		ids = append(ids, hashOf(id))
	}
	if i := slices.Index(ids, t.id); i >= 0 {
		ids, t.sawOwn = slices.Delete(ids, i, i+1), true
	}
	t.received = uint8(len(ids))
	for _, id := range mentioned {
		ids = append(ids, hashOf(id))
	}
	first := v.first
	if v.request == nil {
		first, t.overtaking = v.cancel, v.cancel != nil
	}
	if v.at.Role == machine.Responder && first != nil {
		if ref := first.InReplyTo(); ref != "" && ref != string(v.key.ID) && !slices.Contains(v.seen, performatives.MessageID(ref)) {
			ids, t.overtaking, t.named = append(ids, hashOf(ref)), true, true
		}
	}
	t.ids = append([]uint64(nil), ids...) // of that length
	for _, m := range v.sent {
		if v.codon.repeats()[repeat{v.at.Role, v.at.State, m.Performative()}] {
			t.replies = &reply{m.Message, t.replies}
		}
	}
	return t
}

// repeat is a message that a row of a terminal state repeats.
type repeat struct {
	role  machine.Role
	state machine.State
	act   performatives.Performative
}

// repeatsOf returns the messages that the rows of the terminal states repeat.
func repeatsOf(t machine.Table) map[repeat]bool {
	all := make(map[repeat]bool)
	for _, r := range t.Rows {
		for _, e := range r.Do {
			for _, from := range r.From {
				if e.Kind == machine.EffectResend && slices.Contains(t.Terminal, from) {
					all[repeat{r.Role, from, e.Act}] = true
				}
			}
		}
	}
	return all
}

// Size returns the approximate memory of the replies.
func (t *tombstone) Size() int {
	n := 0
	for r := t.replies; r != nil; r = r.next {
		n += r.message.Size()
	}
	return n
}

// Shed drops the replies. A duplicate is then told that the conversation has ended.
func (t *tombstone) Shed() { t.replies = nil }

// Receive handles a message by the table, or reports false for one that opens a new conversation.
func (t *tombstone) Receive(self actors.Self, m *performatives.Message) bool {
	if m.Undeliverable() { // of a message of this side, which needs no answer any more
		self.System().DeadLetter(string(self.ID()), m, machine.DropUndeliverable)
		return true
	}
	on := machine.ReceiveTagged(m.Performative(), t.codon.TagOf(m))
	if t.saw(hashOf(m.ID())) {
		on = machine.Duplicate(m.Performative())
	}
	if on.Kind == machine.KindReceive && (t.reopenedBy(m) || t.precedesReopening(m)) {
		return false
	}
	at := machine.Status{Role: t.role, State: t.codon.Table.Terminal[t.state]}
	_, effects, err := t.codon.machine.Step(at, machine.Event{On: on, At: time.Now(), ID: m.ID()})
	if err != nil {
		self.System().Refuse(self.ID(), m, performatives.CodeUnexpectedAct, "")
		return true
	}
	t.remember(m, on, effects)
	t.publish(self, at.State, on, m)
	for _, f := range effects {
		t.act(self, f, m)
	}
	return true
}

func (t *tombstone) saw(id uint64) bool {
	return t.sawOwn && id == t.id || slices.Contains(t.ids[:t.received], id)
}

// mentions reports whether a message that CANCEL may refer to has that id.
func (t *tombstone) mentions(id uint64) bool {
	all := t.ids[t.received:]
	if t.named {
		all = all[:len(all)-1]
	}
	return slices.Contains(all, id)
}

// remember records a late request or CANCEL.
func (t *tombstone) remember(m *performatives.Message, on machine.Symbol, effects []machine.Effect) {
	act := m.Performative()
	if on.Kind != machine.KindReceive || act != performatives.ActCancel && !act.ExpectsReply() && !t.codon.machine.Opens(act) {
		return
	}
	switch id := hashOf(m.ID()); {
	case id == t.id:
		t.sawOwn = true
	case t.received >= maxTombstoneIDs:
		copy(t.ids, t.ids[1:t.received])
		t.ids[t.received-1] = id
	default:
		t.ids = slices.Insert(t.ids, int(t.received), id)
		t.received++
	}
	if act != performatives.ActCancel && !refusedOrDropped(effects) {
		t.overtaking = false
	}
}

// publish publishes a step.
func (t *tombstone) publish(self actors.Self, at machine.State, on machine.Symbol, m *performatives.Message) {
	stream := &self.System().Events
	if !events.Wants[lifecycle.Transition](stream) {
		return
	}
	stream.Publish(lifecycle.Transition{
		At: events.At{Time: time.Now()}, Subject: t.subject(self, m),
		From: at, To: at, On: on, Ended: true, Message: m.ID(),
	})
}

// subject returns the subject of an event that m has caused.
func (t *tombstone) subject(self actors.Self, m *performatives.Message) *lifecycle.Subject {
	id := m.ConversationID()
	if hashOf(id) != t.id && hashOf(m.InReplyTo()) == t.id { // of a dialect without conversation ids
		id = performatives.ConversationID(m.InReplyTo())
	}
	return &lifecycle.Subject{Agent: self.ID(), Peer: m.Sender(), Conversation: id, Protocol: t.codon.Name(), Role: t.role}
}

// repeat publishes that a reply to m is sent again, and sends it.
func (t *tombstone) repeat(self actors.Self, reply, m *performatives.Message) {
	if stream := &self.System().Events; events.Wants[lifecycle.Resent](stream) {
		stream.Publish(lifecycle.Resent{At: events.At{Time: time.Now()}, Subject: t.subject(self, m), Message: reply.ID(), Performative: reply.Performative()})
	}
	_ = self.Send(reply) // Send has dead-lettered it
}

// act carries out one effect. Rows of a terminal state only repeat, refuse and drop.
func (t *tombstone) act(self actors.Self, f machine.Effect, m *performatives.Message) {
	switch f.Kind { //nolint:exhaustive // see above
	case machine.EffectResend:
		t.resend(self, f.Act, m)
	case machine.EffectRefuse:
		if r := m.Refuse(self.ID(), self.Stamp(), performatives.Code(f.Name), ""); r != nil {
			_ = self.Send(r) // Send has dead-lettered it
		}
	case machine.EffectDrop:
		self.System().DeadLetter(string(self.ID()), m, performatives.Code(f.Name))
	}
}

// resend repeats the reply of an act to the message m. When the reply was shed, m is told that the
// conversation has ended. A CANCEL of a cancelled conversation gets another receipt, and a proposal
// that was rejected another rejection.
func (t *tombstone) resend(self actors.Self, act performatives.Performative, m *performatives.Message) {
	for r := t.replies; r != nil; r = r.next {
		if r.message.Performative() == act {
			t.repeat(self, r.message, m)
			return
		}
	}
	switch {
	case act == performatives.ActRejectProposal && m.Performative() == performatives.ActPropose:
		self.System().Refuse(self.ID(), m, performatives.CodeRejected, "")
	case m.Performative() == performatives.ActCancel && t.codon.Table.Terminal[t.state] == standard.StateCancelled:
		if r, err := m.ReplyFrom(self.ID(), self.Stamp(), performatives.ActInform, receipt); err == nil {
			_ = self.Send(r)
		}
	case m.Performative().ExpectsReply():
		self.System().Refuse(self.ID(), m, performatives.CodeConversationEnded, "")
	case t.codon.machine.Opens(m.Performative()):
		code := performatives.CodeConversationEnded
		failure := performatives.Failure{ErrorCode: code, ErrorText: code.Traits().Text}
		if r, err := m.ReplyFrom(self.ID(), self.Stamp(), performatives.ActFailure, failure); err == nil {
			_ = self.Send(r)
		}
	default:
		self.System().DeadLetter(string(self.ID()), m, machine.DropLate)
	}
}

// reopenedBy reports whether a fresh opening act opens a new conversation under the id of this one.
// Chat clients give all their tasks one id. A request that a CANCEL or a further request has
// overtaken opens none. Neither does a further round of this conversation: it refers to the round
// before. Nor does the act that began this conversation, with its id: later messages have overtaken
// it.
func (t *tombstone) reopenedBy(m *performatives.Message) bool {
	if hashOf(m.ID()) == t.id {
		return false
	}
	further := m.InReplyTo() != "" && t.saw(hashOf(m.InReplyTo())) || t.continuedBy(m)
	return t.codon.machine.Opens(m.Performative()) && t.codon.takesFirst(m) && !further && !t.overtaken(m)
}

// overtaken reports whether m is the request that the first message of this conversation has
// overtaken.
func (t *tombstone) overtaken(m *performatives.Message) bool {
	if !t.overtaking || !t.named {
		return t.overtaking
	}
	withdrawn := t.ids[len(t.ids)-1]
	return withdrawn == hashOf(m.ID()) || m.ReplyWith() != "" && withdrawn == hashOf(m.ReplyWith())
}

// precedesReopening reports whether a CANCEL has overtaken the request that opens the next
// conversation of this id: it refers to no message of this one, and is not older. The CANCEL
// then opens that conversation, if it names the codon.
func (t *tombstone) precedesReopening(m *performatives.Message) bool {
	if m.Performative() != performatives.ActCancel || m.Protocol() != t.codon.Name() || !t.shared || t.role != machine.Responder ||
		m.Timestamp().UnixNano() < t.began || m.InReplyTo() == "" {
		return false
	}
	about := hashOf(m.InReplyTo())
	return about != t.id && !t.mentions(about)
}

// continuedBy reports whether an act that expects no reply continues this conversation. Such an
// act may also open one. It continues where it refers to a message, and the conversation id is
// the id of its first request or this side is the initiator.
func (t *tombstone) continuedBy(m *performatives.Message) bool {
	named := t.role == machine.Initiator || !t.shared || t.saw(t.id)
	return named && m.InReplyTo() != "" && !m.Performative().ExpectsReply()
}
