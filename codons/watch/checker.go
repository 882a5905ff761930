package watch

import (
	"container/list"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// checker finds the conversation of each message and has its monitor judge the message.
// Only the handler's goroutine uses it.
type checker struct {
	options   Options
	protocols map[string]*protocol
	watching  map[key]*conversation // each conversation under every name that a message may use for it
	idle      *list.List            // of *conversation, the longest without a message first
	gaps      *gaps
	watch     *Watch
}

func newChecker(o Options, protocols map[string]*protocol, w *Watch) checker {
	return checker{
		options: o, protocols: protocols, watching: map[key]*conversation{}, idle: list.New(),
		gaps: newGaps(w.missed), watch: w,
	}
}

// take checks one message, if it can be judged.
func (k *checker) take(o observation) {
	m := o.message
	if m.Receiver() == "" || m.Sender().Is(m.Receiver()) {
		k.skip(m)
		return
	}
	c, role := k.find(m)
	switch {
	case o.refused != "":
		if c != nil {
			c.expectRefusal(role, m, o.refused)
		}
	case k.begins(m, c, role):
		k.begin(o)
	case c == nil:
		k.skip(m)
	default:
		k.check(c, role, o)
	}
}

// skip counts a message that is not checked.
func (k *checker) skip(m *performatives.Message) {
	if k.protocols[m.Protocol()] != nil {
		k.watch.counts.skipped.Add(1)
	}
}

// begins reports whether m opens a conversation. Conversation ids may be reused. A further
// round of a conversation names the message that it answers; an opening act does so
// only if its conversation id is its own message id.
func (k *checker) begins(m *performatives.Message, c *conversation, role machine.Role) bool {
	codon := k.protocols[m.Protocol()]
	switch {
	case codon == nil || !codon.Machine().Opens(m.Performative()):
		return false
	case c == nil:
		return m.InReplyTo() == "" || string(m.ConversationID()) == string(m.ID())
	}
	return role == machine.Initiator && m.InReplyTo() == "" && !c.said(m.ID())
}

// begin watches the conversation that a message opens, unless the message opened one that
// was given up.
func (k *checker) begin(o observation) {
	if k.gaps.isLeft(o.message) {
		k.skip(o.message)
		return
	}
	c := newConversation(k.protocols[o.message.Protocol()], o)
	if former := k.watching[c.key]; former != nil {
		k.remove(former)
	}
	if k.idle.Len() == k.options.Conversations {
		k.leave(k.idle.Front().Value.(*conversation), o.at)
	}
	c.place = k.idle.PushBack(c)
	k.watch.counts.conversations.Add(1)
	k.watch.counts.watching.Add(1)
	k.index(c, string(c.key.name))
	k.check(c, machine.Initiator, o)
}

// check has the conversation's monitor judge a message.
func (k *checker) check(c *conversation, role machine.Role, o observation) {
	m := o.message
	if c.length == k.options.Messages || k.gaps.since(c.begun, c.key.name) {
		k.leave(c, o.at)
		k.skip(m)
		return
	}
	k.idle.MoveToBack(c.place)
	k.watch.counts.messages.Add(1)
	fresh := !c.said(m.ID())
	violation := c.observe(role, m)
	if violation != nil && fresh && c.reopenedBy(m) {
		k.begin(o)
		return
	}
	if m.Performative().ExpectsReply() {
		k.index(c, string(m.ID()))
		k.index(c, m.ReplyWith())
	}
	if violation != nil {
		k.report(c, o, violation)
	}
}

// report publishes a violation.
func (k *checker) report(c *conversation, o observation, err *machine.ViolationError) {
	k.watch.counts.violations.Add(1)
	if events.Wants[lifecycle.Violation](k.watch.events) {
		k.watch.events.Publish(lifecycle.Violation{
			At: events.At{Time: o.at}, Sender: o.message.Sender(), Receiver: o.message.Receiver(), Message: o.message,
			Conversation: c.key.name, ViolationError: err,
		})
	}
}

// find returns the conversation of a message and the role of its sender there. An act that
// expects a reply is first looked up as one of the initiator, any other as one of the
// responder: the receiver's conversations are looked up in the same order.
func (k *checker) find(m *performatives.Message) (*conversation, machine.Role) {
	role := machine.Responder
	if m.Performative().ExpectsReply() {
		role = machine.Initiator
	}
	for _, role := range []machine.Role{role, role.Other()} {
		for _, name := range []string{string(m.ConversationID()), m.InReplyTo()} {
			if c := k.watching[keyOf(name, m, role)]; c != nil && name != "" {
				return c, role
			}
		}
	}
	return nil, role
}

// index makes a conversation findable by a name, unless another conversation has it.
func (k *checker) index(c *conversation, name string) {
	at := c.key
	at.name = performatives.ConversationID(name)
	if name == "" || k.watching[at] != nil {
		return
	}
	k.watching[at] = c
	c.keys = append(c.keys, at)
}

// leave gives a conversation up before its end, at that time.
func (k *checker) leave(c *conversation, at time.Time) {
	k.remove(c)
	k.gaps.leave(c.opening, at)
	k.watch.counts.left.Add(1)
}

func (k *checker) remove(c *conversation) {
	for _, at := range c.keys {
		delete(k.watching, at)
	}
	k.idle.Remove(c.place)
	k.watch.counts.watching.Add(-1)
}
