package observe

import (
	"cmp"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// The kinds of a [Refusal].
const (
	KindRefused    = "refused"     // the sender was told
	KindDeadLetter = "dead_letter" // no reply was expected
)

// Refusal is a message that was refused, or a dead letter.
type Refusal struct {
	Node         string                       `json:"node"` // that has recorded it
	Seq          uint64                       `json:"seq"`  // the number of its event on the node
	Time         time.Time                    `json:"time"`
	Kind         string                       `json:"kind"` // KindRefused or KindDeadLetter
	Code         performatives.Code           `json:"code"`
	Text         string                       `json:"text"`          // of the agent that refused, masked and of bounded length, or that of the code
	From         performatives.AgentID        `json:"from"`          // the sender of the message; empty for a value that is no message
	To           performatives.AgentID        `json:"to"`            // the agent or actor that it was for; empty for a broadcast
	Act          string                       `json:"act,omitempty"` // the message type, or the performative without one
	Message      performatives.MessageID      `json:"message_id,omitempty"`
	Conversation performatives.ConversationID `json:"conversation_id,omitempty"`
}

// maxRefusalText is the longest text of a refusal that is kept, in bytes.
const maxRefusalText = 512

// Refusals returns the refusals and dead letters that are kept, the latest first. The caller owns
// the result.
func (r *Recorder) Refusals() []Refusal {
	mu := r.lock()
	all := r.refusals.latest()
	mu.Unlock()
	for i := range all {
		all[i].Node, all[i].Text = r.name, r.mask.Text(all[i].Text)
	}
	return all
}

// drops has the texts of the reasons for which a codon drops a message. They are no codes of
// refusals.
var drops = map[performatives.Code]string{
	machine.DropDuplicate:     "the message had come before, and had its effect then",
	machine.DropStale:         "the message belongs to an earlier round or conversation",
	machine.DropLate:          "the message came after the end of its conversation, or of that part of it",
	machine.DropUnexpected:    "the state of the conversation expects no such message",
	machine.DropUndeliverable: "a copy of a message could not be delivered, and the wait for the answer goes on",
}

// reasonOf returns the text of a code, or that of the reason of a codon; for a code of an agent's
// own, the code itself.
func reasonOf(code performatives.Code) string {
	if text := drops[code]; text != "" || code.Known() || code == "" {
		return cmp.Or(text, code.Traits().Text)
	}
	return string(code)
}

// refusedLocked keeps a refusal in the place of the oldest one, if there are as many as the options
// allow.
func (r *Recorder) refusedLocked(one Refusal, m *performatives.Message) {
	one.Text = shortened(cmp.Or(one.Text, reasonOf(one.Code)), maxRefusalText)
	if m != nil {
		one.From, one.Message, one.Conversation = m.Sender(), m.ID(), m.ConversationID()
		one.Act = cmp.Or(m.MessageType(), m.Performative().String())
	}
	r.refusals.add(one, r.options.Refusals)
}

func shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…" // a copy: the whole text can be collected
}
