package codons

import (
	"container/list"
	"errors"
	"slices"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// watched is one conversation that a [Watch] follows.
type watched struct {
	key     watchedKey
	keys    []watchedKey // under which it is found
	codon   *watchable
	monitor *machine.Monitor
	opening performatives.MessageID
	ids     []performatives.MessageID // of what was said
	length  int                       // messages, those that came again included
	losses  uint32                    // of its name, when it began
	cancel  *performatives.Message    // the latest
	excused []excuse
	place   *list.Element
}

// watchedKey finds a conversation. The agents' ids are folded.
type watchedKey struct {
	name                 performatives.ConversationID
	initiator, responder performatives.AgentID
}

// keyOf is the key of a conversation of that name in which m's sender has the role.
func keyOf(name string, m *performatives.Message, role machine.Role) watchedKey {
	key := watchedKey{performatives.ConversationID(name), m.Sender().Fold(), m.Receiver().Fold()}
	if role == machine.Responder {
		key.initiator, key.responder = key.responder, key.initiator
	}
	return key
}

// newWatched returns the conversation that a message opens.
func newWatched(codon *watchable, h heard) *watched {
	m := h.message
	return &watched{
		key:   keyOf(string(m.ConversationID()), m, machine.Initiator),
		codon: codon, monitor: machine.NewMonitor(codon.machine), opening: m.ID(), losses: h.losses,
	}
}

func (c *watched) said(id performatives.MessageID) bool { return slices.Contains(c.ids, id) }

// observe returns what is wrong with a message, nil if nothing is.
func (c *watched) observe(role machine.Role, m *performatives.Message) *machine.ViolationError {
	c.length++
	u := machine.Utterance{From: role, Act: m.Performative(), Again: c.said(m.ID())}
	if !u.Again {
		c.ids = append(c.ids, m.ID())
	}
	if c.excuses(role, m) {
		return nil // it was observed already
	}
	u.Tag = c.tag(m)
	var violation *machine.ViolationError
	errors.As(c.monitor.Observe(u), &violation)
	return violation
}

// tag is what the table must know of a message.
func (c *watched) tag(m *performatives.Message) string {
	switch {
	case m.Performative() == performatives.ActCancel:
		c.cancel = m
	case c.codon.receipt && m.Performative() == performatives.ActInform && c.cancel != nil && m.Answers(c.cancel):
		return tagReceipt
	}
	if c.codon.tag == nil {
		return ""
	}
	return c.codon.tag(m)
}

// reopenedBy reports whether m, which is new, is an opening act after the end, and
// so begins another conversation of the same name.
func (c *watched) reopenedBy(m *performatives.Message) bool {
	goesOn := func(s machine.State) bool { return !c.codon.machine.Terminal(s) }
	return slices.Contains(c.codon.opening, m.Performative()) && m.Protocol() == c.codon.machine.Name() &&
		!slices.ContainsFunc(c.monitor.States(machine.Responder), goesOn)
}

// excuse is a refusal that the runtime gives in an agent's stead.
type excuse struct {
	role  machine.Role // in whose stead
	act   performatives.Performative
	about [2]string // the id and reply_with of what was refused
}

// excuse takes note that the runtime has refused m, which who has that role has
// sent. It hears that as if the peer had said it, whether a message follows or Send
// has returned it.
func (c *watched) excuse(role machine.Role, m *performatives.Message, code performatives.Code) {
	answer := m.Refuse(m.Receiver(), performatives.Stamp{ID: m.ID(), Time: m.Timestamp()}, code, "")
	if answer == nil {
		return
	}
	e := excuse{role: role.Other(), act: answer.Performative(), about: [2]string{string(m.ID()), m.ReplyWith()}}
	c.excused = append(c.excused, e)
	c.monitor.Interject(machine.Utterance{From: e.role, Act: e.act})
}

// excuses reports whether a message is a refusal by the runtime, and forgets it.
func (c *watched) excuses(role machine.Role, m *performatives.Message) bool {
	i := slices.IndexFunc(c.excused, func(e excuse) bool {
		return e.role == role && e.act == m.Performative() && m.InReplyTo() != "" && slices.Contains(e.about[:], m.InReplyTo())
	})
	if i < 0 {
		return false
	}
	c.excused = slices.Delete(c.excused, i, i+1)
	return true
}
