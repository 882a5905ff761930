package codons

import (
	"errors"
	"slices"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// rememberedMessages is how many messages a conversation recognises when they, or
// answers to them, come again: so many that it received, and so many that it sent.
const rememberedMessages = 64

// correspondence is where a conversation stands and what was said in it.
type correspondence struct {
	machine *machine.Machine
	state   machine.Conversation
	request *performatives.Message    // the latest that this side has to answer, but for CANCEL
	cancel  *performatives.Message    // the CANCEL that it has to answer
	draft   *performatives.Message    // the opening act, made before the conversation began
	sent    []*performatives.Message  // the latest of each act
	seen    []performatives.MessageID // received
	former  []string                  // ids and reply_withs of requests before the latest
	shared  bool                      // the first request is not what the conversation is named after
	spoken  []string                  // if shared, ids and reply_withs of all that was said

	// Room for the few messages of an ordinary conversation.
	fewSent [3]*performatives.Message
	fewSeen [3]performatives.MessageID
}

// afterlife is what must be known after the end: the answers, and what they answer.
// They are copies, which keep nothing else of the conversation in memory.
func (c *correspondence) afterlife() correspondence {
	out := correspondence{machine: c.machine, state: c.state, seen: slices.Clone(c.seen)}
	if c.request != nil && !slices.Contains(out.seen, c.request.ID()) {
		out.seen = append(out.seen, c.request.ID())
	}
	for _, m := range c.sent {
		if c.state.Role == machine.Responder || m.Performative() == performatives.ActRejectProposal {
			out.sent = append(out.sent, m)
		}
	}
	if c.request == nil {
		out.cancel = c.cancel
	}
	return out
}

// classify says what a message is to the table.
func (c *correspondence) classify(m *performatives.Message, tag string) machine.Symbol {
	act := m.Performative()
	switch {
	case c.saw(m):
		return machine.Duplicate(act)
	case m.InReplyTo() != "" && slices.Contains(c.former, m.InReplyTo()):
		stale := machine.Stale(act)
		stale.Name = tag // a table may know by it what has become of the earlier request
		return stale
	case tag != "":
		return machine.ReceiveTagged(act, tag)
	}
	return machine.Receive(act)
}

// saw reports whether a message has come before. What this side has to answer is
// recognised however much has come since.
func (c *correspondence) saw(m *performatives.Message) bool {
	return slices.Contains(c.seen, m.ID()) ||
		c.request != nil && c.request.ID() == m.ID() || c.cancel != nil && c.cancel.ID() == m.ID()
}

// stray reports whether m is about another conversation that had the same name: a
// late answer to, or CANCEL of, a task that is over must not end the one at hand.
// A name that is the id of its own first request is nobody else's.
func (c *correspondence) stray(k actors.Key, m *performatives.Message) bool {
	if !c.shared || c.state.State == machine.Idle || m.InReplyTo() == "" || m.InReplyTo() == string(k.ID) {
		return false
	}
	if c.state.Role == machine.Responder && m.Performative() != performatives.ActCancel {
		return false // a request may refer to whatever it likes
	}
	return !slices.Contains(c.spoken, m.InReplyTo())
}

// withdrawn reports whether m is the request whose CANCEL came first.
func (c *correspondence) withdrawn(k actors.Key, m *performatives.Message) bool {
	if c.cancel == nil || c.request != nil {
		return false
	}
	ref := c.cancel.InReplyTo()
	return ref == "" || ref == string(k.ID) || c.cancel.Answers(m)
}

// note remembers a message that was received, and what it made this side do.
func (c *correspondence) note(m *performatives.Message, effects []machine.Effect) {
	if c.saw(m) {
		return
	}
	c.seen = appendBounded(c.seen, m.ID())
	switch {
	case turnedAway(effects):
	case m.Performative() == performatives.ActCancel && c.state.Role == machine.Responder:
		c.cancel = m
	case m.Performative().ExpectsReply() || c.machine.Opens(m.Performative()):
		c.request = m
		c.mention(m)
	}
}

// turnedAway reports whether the effects answer no more than the message itself.
func turnedAway(effects []machine.Effect) bool {
	return slices.ContainsFunc(effects, func(e machine.Effect) bool {
		return e.Kind == machine.EffectRefuse || e.Kind == machine.EffectDrop
	})
}

// keep remembers a message that was sent in place of the latest of its act.
func (c *correspondence) keep(m *performatives.Message) {
	i := slices.IndexFunc(c.sent, func(s *performatives.Message) bool { return s.Performative() == m.Performative() })
	if i >= 0 {
		if before := c.sent[i]; before.Performative().ExpectsReply() {
			c.former = appendBounded(c.former, string(before.ID()), before.ReplyWith())
		}
		c.sent = slices.Delete(c.sent, i, i+1)
	}
	c.sent = append(c.sent, m)
	if m.Performative() != performatives.ActStatusUpdate { // nobody refers to one, and there are many
		c.mention(m)
	}
}

// mention remembers, where the name of the conversation does not tell, that it is
// m's.
func (c *correspondence) mention(m *performatives.Message) {
	if c.shared {
		c.spoken = appendBounded(c.spoken, string(m.ID()), m.ReplyWith())
	}
}

// appendBounded appends what is not empty, and forgets the oldest.
func appendBounded[T ~string](all []T, more ...T) []T {
	for _, v := range more {
		if v == "" {
			continue
		}
		if len(all) == rememberedMessages {
			all = all[:copy(all, all[1:])]
		}
		all = append(all, v)
	}
	return all
}

func (c *correspondence) lastSent(act performatives.Performative) *performatives.Message {
	for _, m := range c.sent {
		if m.Performative() == act {
			return m
		}
	}
	return nil
}

// compose makes the next message of this side.
func (c *correspondence) compose(self actors.Self, act performatives.Performative, payload any) (*performatives.Message, error) {
	switch {
	case c.state.Role == machine.Responder:
		return c.answered(act).ReplyFrom(self.ID(), self.Stamp(), act, payload)
	case c.draft != nil:
		m := c.draft
		c.draft = nil
		return m, nil
	case act.IsReply() && c.request != nil: // the initiator's answer to a proposal
		return c.request.ReplyFrom(self.ID(), self.Stamp(), act, payload)
	}
	return c.lastRequest().Follow(self.Stamp(), payload)
}

// lastRequest is what a further act of the initiator refers to.
func (c *correspondence) lastRequest() *performatives.Message {
	for _, m := range slices.Backward(c.sent) {
		if m.Performative() != performatives.ActCancel && m.Performative().ExpectsReply() {
			return m
		}
	}
	return c.sent[0]
}

// answered is the message that an answer with that act refers to: the receipt and
// what takes its place answer the CANCEL, all else the request.
func (c *correspondence) answered(act performatives.Performative) *performatives.Message {
	if c.cancel != nil && (c.request == nil || act == performatives.ActInform || act == performatives.ActFailure) {
		return c.cancel
	}
	return c.request
}

func asRefusal(err error) *performatives.Refusal {
	var r *performatives.Refusal
	if errors.As(err, &r) {
		return r
	}
	return nil
}
