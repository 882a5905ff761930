package codons

import (
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// maxRemembered is the largest number of message ids that a conversation keeps to recognise
// duplicates, of received and of sent messages each. The oldest are dropped.
const maxRemembered = 64

// Value is one side of a conversation as plain data: its state, the messages that it may refer
// to or repeat, and the data of its [Side]. Only an [Input] changes it, so the same events
// rebuild it ([Rebuild]). It is not safe for concurrent use: only the actor of the
// conversation may use it.
type Value struct {
	codon   *Codon
	machine *machine.Machine
	at      machine.Status
	side    Side
	self    performatives.AgentID
	key     actors.Key

	first         *performatives.Message    // the opening act; at the responder the first message of any act
	request       *performatives.Message    // the latest message that this side has to answer, other than CANCEL
	cancel        *performatives.Message    // the CANCEL that this side has to answer
	opening       *performatives.Message    // the opening act, until it is sent
	sent          []sentMessage             // the latest message of each act
	seen          []performatives.MessageID // ids of the received messages
	former        []string                  // ids and reply_withs of requests before the latest
	mentioned     []string                  // if shared, ids and reply_withs of the requests and answers
	usage         *performatives.Message    // the latest message with the usage of the peer, at the initiator
	shared        bool                      // the conversation id is not the id of the first request
	misunderstood bool                      // the initiator has sent NOT_UNDERSTOOD
	asked         bool                      // this side has sent a request since usage came
	deadline      time.Time                 // when the deadline timer is due; the zero time while it does not run
	again         time.Time                 // the earliest time for a retry of the latest message of this side; the zero time for none

	// Backing arrays of sent and seen for a conversation of few messages.
	fewSent [3]sentMessage
	fewSeen [3]performatives.MessageID
}

// sentMessage is a message of this side, with what became of its copies.
type sentMessage struct {
	*performatives.Message
	copies  uint8 // how often it was sent; at most maxCopies
	refused uint8 // how many copies the runtime has refused
	heard   bool  // a message of the peer has come since it was first sent
}

// maxCopies is the largest number of copies of one message that a conversation counts. It
// counts no refusal of a message that was sent more often.
const maxCopies = 255

// set makes v the value of a side before its first event. opening is nil for a [Solo].
func (v *Value) set(c *Codon, role machine.Role, self performatives.AgentID, key actors.Key, opening *performatives.Message, s Side, now time.Time) {
	id := string(key.ID)
	v.codon, v.machine, v.at, v.side = c, c.machine, c.machine.Start(role, now), s
	v.self, v.key, v.first = self, key, opening
	v.shared = opening != nil && string(opening.ID()) != id &&
		(c.machine.Opens(opening.Performative()) || opening.InReplyTo() != id) // it may have overtaken the opening act
}

// Protocol returns the name of the codon.
func (v *Value) Protocol() string { return v.machine.Name() }

// State returns the state of this side.
func (v *Value) State() machine.State { return v.at.State }

// Role returns the role of this side.
func (v *Value) Role() machine.Role { return v.at.Role }

// Self returns the id of the agent on this side.
func (v *Value) Self() performatives.AgentID { return v.self }

// Peer returns the id of the agent on the other side.
func (v *Value) Peer() performatives.AgentID { return v.key.Peer }

// ID returns the id of the conversation.
func (v *Value) ID() performatives.ConversationID { return v.key.ID }

// Request returns the latest message that this side has to answer, other than CANCEL, and nil
// before there is one. At the initiator it is a request of the responder, such as a proposal.
func (v *Value) Request() *performatives.Message { return v.request }

// First returns the first message of the conversation on this side.
func (v *Value) First() *performatives.Message { return v.first }

// Sent returns the latest message of an act that this side has sent, or nil.
func (v *Value) Sent(act performatives.Performative) *performatives.Message {
	if s := v.sentOf(act); s != nil {
		return s.Message
	}
	return nil
}

// sentOf returns the entry of the latest message of an act that this side has sent, or nil.
func (v *Value) sentOf(act performatives.Performative) *sentMessage {
	for i := range v.sent {
		if v.sent[i].Performative() == act {
			return &v.sent[i]
		}
	}
	return nil
}

// answeredBy returns the index in sent of the message that m refers to, or -1.
func (v *Value) answeredBy(m *performatives.Message) int {
	return slices.IndexFunc(v.sent, func(s sentMessage) bool { return m.Answers(s.Message) })
}

// refusedBy returns the symbol of the refusal of a copy: [machine.Undelivered] if the runtime
// has refused all copies, and no message of the peer has come since the first. A full mailbox
// is never the last refusal of a CANCEL, because the work goes on.
func (s *sentMessage) refusedBy(code performatives.Code) machine.Symbol {
	act := s.Performative()
	if s.heard || s.refused+1 < s.copies || s.copies == maxCopies || code == performatives.CodeBusy && act == performatives.ActCancel {
		return machine.Undeliverable(act)
	}
	return machine.Undelivered(act)
}

// refusedCopy records the refusal of a copy of the latest message of an act. That of a busy peer
// puts off the retry of the latest message.
func (v *Value) refusedCopy(e *Input) {
	if s := v.sentOf(e.On.Act); s != nil {
		s.refused = min(s.refused, maxCopies-1) + 1
		if s == &v.sent[len(v.sent)-1] {
			v.again = e.At.Add(busyWait(e.Message.AsRefusal(), s.ID(), int(s.refused)))
		}
	}
	v.seen = appendBounded(v.seen, e.Message.ID())
}

// heard records that a message of the peer has come.
func (v *Value) heard() {
	for i := range v.sent {
		v.sent[i].heard = true
	}
}

// Ended reports whether the state is terminal.
func (v *Value) Ended() bool { return v.machine.Terminal(v.at.State) }

// classify returns the symbol of a received message for the table.
func (v *Value) classify(m *performatives.Message, tag string) machine.Symbol {
	act := m.Performative()
	refused := -1 // the index of the message of which the runtime has refused a copy by m
	if m.Undeliverable() {
		refused = v.answeredBy(m)
	}
	switch {
	case v.saw(m), v.first != nil && v.at.State != machine.Idle && v.first.ID() == m.ID():
		return machine.Duplicate(act)
	case refused >= 0:
		return v.sent[refused].refusedBy(m.AsRefusal().Code)
	case m.InReplyTo() != "" && slices.Contains(v.former, m.InReplyTo()), v.request != nil && v.overtaken(m):
		return machine.StaleTagged(act, tag) // its row may depend on the tag
	}
	return machine.ReceiveTagged(act, tag)
}

// overtaken reports whether m was made before the latest request of the same act, and the table has
// a row for requests that came too late. There is a latest request.
func (v *Value) overtaken(m *performatives.Message) bool {
	if v.at.Role != machine.Responder || v.request.Performative() != m.Performative() || !m.Timestamp().Before(v.request.Timestamp()) {
		return false
	}
	t := v.machine.Find(v.at.Role, v.at.State, machine.Stale(m.Performative()))
	return t != nil && t.On.Kind == machine.KindStale
}

// saw reports whether a message is a duplicate. The request and the CANCEL that this side has
// to answer are recognised after any number of messages.
func (v *Value) saw(m *performatives.Message) bool {
	return slices.Contains(v.seen, m.ID()) ||
		v.request != nil && v.request.ID() == m.ID() || v.cancel != nil && v.cancel.ID() == m.ID()
}

// ofEarlier reports whether m belongs to an earlier conversation of the same id. A late answer
// or CANCEL of that conversation must not end the current one. It is asked only where the id is
// shared: a conversation id that is the id of its first request is unique.
func (v *Value) ofEarlier(m *performatives.Message) bool {
	if v.at.State == machine.Idle || m.InReplyTo() == "" || m.InReplyTo() == string(v.key.ID) {
		return false
	}
	if v.at.Role == machine.Responder && (m.Performative() != performatives.ActCancel || v.overtakes(m)) {
		return false // a request may refer to any message
	}
	return !slices.Contains(v.mentioned, m.InReplyTo())
}

// overtakes reports whether a CANCEL may be about a request of this conversation that has not
// arrived: the state awaits one, and the CANCEL was not made before the conversation was opened.
func (v *Value) overtakes(cancel *performatives.Message) bool {
	return !cancel.Timestamp().Before(v.first.Timestamp()) && slices.ContainsFunc(v.machine.Expects(v.at), func(on machine.Symbol) bool {
		return on.Kind == machine.KindReceive && on.Act != performatives.ActCancel && v.asks(on.Act) &&
			!refusedOrDropped(v.machine.Find(v.at.Role, v.at.State, on).Do)
	})
}

// asks reports whether an act of the peer is a request in this codon.
func (v *Value) asks(act performatives.Performative) bool {
	return act.ExpectsReply() || v.machine.Opens(act)
}

// received records a message after its step, whose effects are given.
func (v *Value) received(m *performatives.Message, on machine.Symbol, effects []machine.Effect) {
	if v.at.Role == machine.Initiator && !m.Budget().IsZero() {
		v.usage, v.asked = m, false
	}
	if on.Kind == machine.KindDuplicate || v.saw(m) {
		return
	}
	v.heard()
	v.seen = appendBounded(v.seen, m.ID())
	v.misunderstood = v.misunderstood || m.Performative() == performatives.ActNotUnderstood
	switch {
	case refusedOrDropped(effects):
	case m.Performative() == performatives.ActCancel && v.at.Role == machine.Responder:
		v.cancel = m
	case v.asks(m.Performative()):
		v.request = m
		if v.shared {
			v.mentioned = appendBounded(v.mentioned, string(m.ID()), m.ReplyWith())
		}
	}
}

// refusedOrDropped reports whether the effects refuse or drop the message.
func refusedOrDropped(effects []machine.Effect) bool {
	return slices.ContainsFunc(effects, func(e machine.Effect) bool {
		return e.Kind == machine.EffectRefuse || e.Kind == machine.EffectDrop
	})
}

// keep records a message that is to be sent, in place of the latest of its act.
func (v *Value) keep(m *performatives.Message) {
	i := slices.IndexFunc(v.sent, func(s sentMessage) bool { return s.Performative() == m.Performative() })
	if i >= 0 {
		if before := v.sent[i]; before.Performative().ExpectsReply() {
			v.former = appendBounded(v.former, string(before.ID()), before.ReplyWith())
		}
		v.sent = slices.Delete(v.sent, i, i+1)
	}
	v.sent, v.again = append(v.sent, sentMessage{Message: m, copies: 1}), time.Time{}
	if v.shared && m.Performative() != performatives.ActStatusUpdate { // no message refers to a STATUS_UPDATE, and there are many
		v.mentioned = appendBounded(v.mentioned, string(m.ID()), m.ReplyWith())
	}
}

// appendBounded appends the strings that are not empty. It drops the oldest beyond
// maxRemembered.
func appendBounded[T ~string](all []T, more ...T) []T {
	for _, s := range more {
		if s == "" {
			continue
		}
		if len(all) == maxRemembered {
			all = all[:copy(all, all[1:])]
		}
		all = append(all, s)
	}
	return all
}

// lastRequest returns the message that a further act of the initiator refers to.
func (v *Value) lastRequest() *performatives.Message {
	for _, m := range slices.Backward(v.sent) {
		if m.Performative() != performatives.ActCancel && m.Performative().ExpectsReply() {
			return m.Message
		}
	}
	return v.sent[0].Message
}

// answered returns the message that an answer with that act refers to: the CANCEL for a
// receipt and for a FAILURE in place of one, else the request.
func (v *Value) answered(act performatives.Performative) *performatives.Message {
	if v.cancel != nil && (v.request == nil || act == performatives.ActInform || act == performatives.ActFailure) {
		return v.cancel
	}
	return v.request
}
