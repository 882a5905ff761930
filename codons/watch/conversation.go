package watch

import (
	"container/list"
	"errors"
	"slices"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// conversation is one conversation that a [Watch] checks.
type conversation struct {
	key      key
	keys     []key // all keys that find it
	protocol *protocol
	progress *machine.Progress
	opening  performatives.MessageID
	ids      []performatives.MessageID // of its messages
	length   int                       // number of its messages, duplicates included
	begun    uint64                    // Seq of the event of its opening act
	cancel   *performatives.Message    // the latest CANCEL
	refusals []runtimeRefusal          // expected, not seen yet
	place    *list.Element             // in checker.idle
}

// protocol is a codon with the beginning of its conversations.
type protocol struct {
	*codons.Codon
	begin *machine.Progress
}

// key finds a conversation. The agent ids are folded.
type key struct {
	name                 performatives.ConversationID
	initiator, responder performatives.AgentID
}

// keyOf returns the key of a conversation of that name in which m's sender has the role.
func keyOf(name string, m *performatives.Message, role machine.Role) key {
	at := key{performatives.ConversationID(name), m.Sender().Fold(), m.Receiver().Fold()}
	if role == machine.Responder {
		at.initiator, at.responder = at.responder, at.initiator
	}
	return at
}

// newConversation returns the conversation that a message opens.
func newConversation(p *protocol, o observation) *conversation {
	m := o.message
	return &conversation{
		key:      keyOf(string(m.ConversationID()), m, machine.Initiator),
		protocol: p, progress: p.begin, opening: m.ID(), begun: o.seq,
	}
}

func (c *conversation) said(id performatives.MessageID) bool { return slices.Contains(c.ids, id) }

// observe gives a message to the monitor and returns its violation, or nil.
func (c *conversation) observe(role machine.Role, m *performatives.Message) *machine.ViolationError {
	c.length++
	u := machine.Utterance{From: role, Act: m.Performative(), Again: c.said(m.ID())}
	if !u.Again {
		c.ids = append(c.ids, m.ID())
	}
	if c.isRuntimeRefusal(role, m) {
		return nil // the monitor has it from expectRefusal
	}
	u.Tag = c.tag(m)
	var err error
	c.progress, err = c.progress.Observe(u)
	var violation *machine.ViolationError
	errors.As(err, &violation)
	return violation
}

// tag returns the tag by which the table tells messages of one act apart.
func (c *conversation) tag(m *performatives.Message) string {
	if m.Performative() == performatives.ActCancel {
		c.cancel = m
	}
	return c.protocol.TagAfter(c.cancel, m)
}

// reopenedBy reports whether m, a fresh message, is an opening act after the end, and so
// begins another conversation of the same name.
func (c *conversation) reopenedBy(m *performatives.Message) bool {
	table := c.protocol.Machine()
	goesOn := func(s machine.State) bool { return !table.Terminal(s) }
	return table.Opens(m.Performative()) && m.Protocol() == table.Name() &&
		!slices.ContainsFunc(c.progress.States(machine.Responder), goesOn)
}

// runtimeRefusal is a refusal that the runtime gives on an agent's behalf.
type runtimeRefusal struct {
	role  machine.Role // of the agent that it stands for
	act   performatives.Performative
	about [2]string // the id and the reply_with of the refused message
}

// expectRefusal records that the runtime has refused m, a message of the given role. The
// sender learns of it as if the peer had refused, by a message or by the error of Send, so
// the monitor is told here.
func (c *conversation) expectRefusal(role machine.Role, m *performatives.Message, code performatives.Code) {
	act := performatives.ActFailure // for an opening act that by itself expects no reply
	if answer := m.Refuse(m.Receiver(), performatives.Stamp{ID: m.ID(), Time: m.Timestamp()}, code, ""); answer != nil {
		act = answer.Performative()
	}
	r := runtimeRefusal{role: role.Other(), act: act, about: [2]string{string(m.ID()), m.ReplyWith()}}
	c.refusals = append(c.refusals, r)
	c.progress = c.progress.Interject(r.role, r.act)
}

// isRuntimeRefusal reports whether a message is a recorded refusal by the runtime, and
// removes the record.
func (c *conversation) isRuntimeRefusal(role machine.Role, m *performatives.Message) bool {
	i := slices.IndexFunc(c.refusals, func(r runtimeRefusal) bool {
		return r.role == role && r.act == m.Performative() && m.InReplyTo() != "" && slices.Contains(r.about[:], m.InReplyTo())
	})
	if i < 0 {
		return false
	}
	c.refusals = slices.Delete(c.refusals, i, i+1)
	return true
}
