package codons

import (
	"context"
	"errors"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

var notify = NotifyTable().MustCompile()

// Notify tells an agent something and expects no answer (FIPA inform, SC00037J).
// payload is the content: a struct, a map or [performatives.Raw]. It does not wait,
// and may be called anywhere, also on an agent's own actor.
//
// The error is what is known at once: what is wrong with the content, that there is
// no such agent, that it has stopped, or that it has no room
// ([performatives.CodeBusy]). The notice is then a dead letter, and counted. With a
// nil error it is in the agent's mailbox, or on its way to another node; what becomes
// of it there, nobody tells.
//
// Nothing waits or is repeated, so options about that mean nothing here.
func Notify(p Party, to performatives.AgentID, payload any, opts ...Option) error {
	self := p.Self()
	m, err := newNotice(self, to, payload, newOptions(opts))
	if err != nil {
		return err
	}
	return tellOf(self, m)
}

// Broadcast is [Notify] of every agent but the party itself, of all that discovery
// lists; the router sends it to each. The error says what is wrong with the content,
// or that nobody could be reached. Whom else it did not reach is a dead letter each:
// [NotifyAll] says who.
//
// A system of [actors.NewSystem] without a router knows no everybody, and says so; a
// node does.
func Broadcast(p Party, payload any, opts ...Option) error {
	self := p.Self()
	m, err := performatives.New(noticeEnvelope(self, "", payload, newOptions(opts)))
	if err != nil {
		return err
	}
	return tellOf(self, m)
}

// Told is whom a notice to several reached.
type Told struct {
	Reached []performatives.AgentID         // in the order in which they were named
	Missed  map[performatives.AgentID]error // why, for each; nil when nobody was missed
}

// NotifyAll is [Notify] of each of several agents. The error says what is wrong with
// the content: then nobody was told. Whoever could not be told is in the Told.
func NotifyAll(p Party, to []performatives.AgentID, payload any, opts ...Option) (Told, error) {
	if err := performatives.CheckPayload(performatives.ActInform, payload); err != nil {
		return Told{}, err
	}
	var d Told
	for _, id := range to {
		if err := Notify(p, id, payload, opts...); err != nil {
			if d.Missed == nil {
				d.Missed = make(map[performatives.AgentID]error)
			}
			d.Missed[id] = err
			continue
		}
		d.Reached = append(d.Reached, id)
	}
	return d, nil
}

// newNotice makes the notice to one agent.
func newNotice(self actors.Self, to performatives.AgentID, payload any, o options) (*performatives.Message, error) {
	return newRequest(noticeEnvelope(self, to, payload, o))
}

func noticeEnvelope(self actors.Self, to performatives.AgentID, payload any, o options) performatives.Envelope {
	stamp := self.Stamp()
	return performatives.Envelope{
		ID: stamp.ID, Timestamp: stamp.Time, Performative: performatives.ActInform, Sender: self.ID(), Receiver: to,
		ConversationID: o.conversation, Protocol: notify.Name(), Language: performatives.LanguageJSON,
		Ontology: o.ontology, Priority: o.priority, Trace: o.trace, Payload: payload,
	}
}

// tellOf takes the initiator's one step, which needs no actor.
func tellOf(self actors.Self, m *performatives.Message) error {
	noted(self, m.Receiver(), m, machine.Initiator, machine.Command(commandStart))
	return self.Send(m)
}

// noted takes the one step of a side of a notice and tells whoever listens.
func noted(self actors.Self, peer performatives.AgentID, m *performatives.Message, role machine.Role, on machine.Symbol) {
	events := &self.System().Events
	if !actors.Wants[Transition](events) {
		return
	}
	now := time.Now()
	before := notify.Start(role, now)
	after, _, err := notify.Step(before, machine.Event{On: on, At: now, ID: m.ID()})
	if err != nil {
		panic(err) // the table has this row
	}
	events.Publish(Transition{
		At: actors.At{Time: now}, Agent: self.ID(), Peer: peer, Conversation: m.ConversationID(), Protocol: notify.Name(),
		Role: role, From: before.State, To: after.State, On: on, Ended: notify.Terminal(after.State),
	})
}

// Notified is an agent that hears notices: the answering side of [NotifyTable].
type Notified interface {
	actors.Agent
	// HandleNotice is told of one. It runs on the agent's own actor, notices of one
	// sender and priority in their order, must not block, and may read and change the
	// agent's fields. A panic is a failure of the agent. Conversations that it starts
	// are begun with ctx, on another goroutine if they are waited for; its deadline is
	// the message's ReplyBy or [DefaultDeadline].
	HandleNotice(ctx context.Context, n Notice)
}

// Notice is what an agent was told.
type Notice struct {
	Message *performatives.Message // who says it, to whom (nobody named is everybody), and what
	Agent   actors.Self            // the handle of the agent that was told
}

// rememberedNotices is how many notices an agent recognises when they come again.
const rememberedNotices = 256

// Notices is the protocol that makes every [Notified] hear INFORM. A notice begins
// no conversation of its own: it is handled where it arrives. Like any message that
// comes, it shows in the events, and so does its [Transition].
type Notices struct{}

// Name returns "notify".
func (Notices) Name() string { return notify.Name() }

// Opens reports whether m is a notice: an INFORM that says so, or one that names no
// protocol and answers nothing.
func (Notices) Opens(m *performatives.Message) bool {
	if m.Performative() != performatives.ActInform {
		return false
	}
	return m.Protocol() == notify.Name() || m.Protocol() == "" && m.InReplyTo() == ""
}

// Bind returns the responder of a [Notified].
func (Notices) Bind(self actors.Self, agent actors.Agent) actors.Responding {
	role, ok := agent.(Notified)
	if !ok {
		return nil
	}
	return &noticeboard{self: self, agent: role, seen: make(map[noticeKey]bool)}
}

// noticeboard is the responder of one agent. It is touched only on its actor.
type noticeboard struct {
	self  actors.Self
	agent Notified
	seen  map[noticeKey]bool
	ring  []noticeKey // of seen, the oldest at next once it is full
	next  int
}

// noticeKey is what a notice is recognised by: an id means something only with who
// made it.
type noticeKey struct {
	from performatives.AgentID
	id   performatives.MessageID
}

// Take hands one notice to the agent, unless it has had it.
func (b *noticeboard) Take(m *performatives.Message) {
	key := noticeKey{m.Sender().Fold(), m.ID()}
	if b.seen[key] {
		b.self.System().DeadLetter(string(b.self.ID()), m, dropDuplicate)
		return
	}
	b.remember(key)
	noted(b.self, m.Sender(), m, machine.Responder, machine.Receive(performatives.ActInform))
	b.agent.HandleNotice(considering(Times{}.withDefaults().deadline(m), nil), Notice{Message: m, Agent: b.self})
}

func (b *noticeboard) remember(key noticeKey) {
	b.seen[key] = true
	if len(b.ring) < rememberedNotices {
		b.ring = append(b.ring, key)
		return
	}
	delete(b.seen, b.ring[b.next])
	b.ring[b.next] = key
	b.next = (b.next + 1) % rememberedNotices
}

// Open is not called: see [actors.Taking].
func (*noticeboard) Open(*performatives.Message) actors.Conversation {
	panic(errors.New("codons: a notice begins no conversation"))
}
