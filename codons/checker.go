package codons

import (
	"container/list"
	"slices"
	"sync"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// watchable is a codon of the library as a [Watch] needs it.
type watchable struct {
	machine *machine.Machine
	opening []performatives.Performative
	tag     func(*performatives.Message) string
	receipt bool // the table knows the receipt for a CANCEL by its tag
}

// watchableCodons are the codons of the library that have a table, by their names.
var watchableCodons = sync.OnceValue(func() map[string]*watchable {
	all := map[string]*watchable{}
	for _, c := range Library() {
		if len(c.Table.Rows) > 0 {
			m := c.Table.MustCompile()
			all[m.Name()] = &watchable{machine: m, opening: m.Opening(), tag: c.Tag, receipt: c.tagsReceipts()}
		}
	}
	return all
})

// checker is the part of a [Watch] that judges messages, one at a time.
type checker struct {
	options  WatchOptions
	codons   map[string]*watchable
	watching map[watchedKey]*watched // each under every name that a message may call it by
	silent   *list.List              // of *watched: the one that has been silent for the longest time comes first
	watch    *Watch
}

func newChecker(o WatchOptions, w *Watch) checker {
	return checker{options: o, codons: watchableCodons(), watching: map[watchedKey]*watched{}, silent: list.New(), watch: w}
}

// take checks one message, if it can be judged.
func (k *checker) take(h heard) {
	if m := h.message; m.Receiver() == "" || m.Sender().Is(m.Receiver()) {
		k.skip(m)
		return
	}
	c, role := k.find(h.message)
	switch {
	case h.refused != "":
		if c != nil {
			c.excuse(role, h.message, h.refused)
		}
	case k.begins(h.message, c, role):
		k.begin(h)
	case c == nil:
		k.skip(h.message)
	default:
		k.check(c, role, h)
	}
}

// skip counts a message that is not checked.
func (k *checker) skip(m *performatives.Message) {
	if k.codons[m.Protocol()] != nil {
		k.watch.counts.skipped.Add(1)
	}
}

// begins reports whether m opens a conversation, be it under a name that another
// had before. A further round of one refers to what it answers, and what opens one
// may do so only in a name of its own.
func (k *checker) begins(m *performatives.Message, c *watched, role machine.Role) bool {
	codon := k.codons[m.Protocol()]
	switch {
	case codon == nil || !slices.Contains(codon.opening, m.Performative()):
		return false
	case c == nil:
		return m.InReplyTo() == "" || string(m.ConversationID()) == string(m.ID())
	}
	return role == machine.Initiator && m.InReplyTo() == "" && !c.said(m.ID())
}

// begin watches a conversation, if m is not what opened one that was left.
func (k *checker) begin(h heard) {
	if k.watch.gaps.isLeft(h.message.ID()) {
		k.skip(h.message)
		return
	}
	c := newWatched(k.codons[h.message.Protocol()], h)
	if former := k.watching[c.key]; former != nil {
		k.remove(former)
	}
	if k.silent.Len() == k.options.Conversations {
		k.leave(k.silent.Front().Value.(*watched))
	}
	c.place = k.silent.PushBack(c)
	k.watch.counts.conversations.Add(1)
	k.watch.counts.watching.Add(1)
	k.index(c, string(c.key.name))
	k.check(c, machine.Initiator, h)
}

// check has the conversation's monitor judge a message.
func (k *checker) check(c *watched, role machine.Role, h heard) {
	m := h.message
	if c.length == k.options.Messages || k.watch.gaps.losses(c.key.name) != c.losses {
		k.leave(c)
		k.skip(m)
		return
	}
	k.silent.MoveToBack(c.place)
	k.watch.counts.messages.Add(1)
	fresh := !c.said(m.ID())
	violation := c.observe(role, m)
	if violation != nil && fresh && c.reopenedBy(m) {
		k.begin(h)
		return
	}
	if m.Performative().ExpectsReply() {
		k.index(c, string(m.ID()))
		k.index(c, m.ReplyWith())
	}
	if violation != nil {
		k.report(c, h, violation)
	}
}

// report publishes a violation.
func (k *checker) report(c *watched, h heard, err *machine.ViolationError) {
	k.watch.counts.violations.Add(1)
	if actors.Wants[Violation](k.watch.events) {
		k.watch.events.Publish(Violation{
			At: actors.At{Time: h.at}, Sender: h.message.Sender(), Receiver: h.message.Receiver(), Message: h.message,
			Conversation: c.key.name, ViolationError: err,
		})
	}
}

// find returns the conversation that a message belongs to, and the role of its
// sender there, as the receiver finds it: requests are for the side that answers
// and the rest for the side that asked, and only where there is no such
// conversation for the other.
func (k *checker) find(m *performatives.Message) (*watched, machine.Role) {
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

// index lets a conversation be found by a name that no other has.
func (k *checker) index(c *watched, name string) {
	key := c.key
	key.name = performatives.ConversationID(name)
	if name == "" || k.watching[key] != nil {
		return
	}
	k.watching[key] = c
	c.keys = append(c.keys, key)
}

// leave gives a conversation up before its end is certain.
func (k *checker) leave(c *watched) {
	k.remove(c)
	k.watch.gaps.leave(c.opening)
	k.watch.counts.left.Add(1)
}

func (k *checker) remove(c *watched) {
	for _, key := range c.keys {
		delete(k.watching, key)
	}
	k.silent.Remove(c.place)
	k.watch.counts.watching.Add(-1)
}
