package observe

import (
	"cmp"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// The kinds of a [Refusal].
const (
	KindRefused    = "refused"     // the sender was told
	KindDeadLetter = "dead_letter" // no reply was expected
)

// Refusal is a message that was refused, or a dead letter.
type Refusal struct {
	Seq          uint64                       `json:"seq"` // the number of its event on the node
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

// Refusals returns the refusals and dead letters that are kept, the latest first. The caller owns the result.
func (r *Recorder) Refusals() []Refusal {
	mu := r.lock()
	all := make([]Refusal, 0, len(r.refusals))
	for i := range r.refusals { // nextRefusal is the oldest one
		all = append(all, r.refusals[(r.nextRefusal+len(r.refusals)-1-i)%len(r.refusals)])
	}
	mu.Unlock()
	for i := range all {
		all[i].Text = r.mask.Text(all[i].Text)
	}
	return all
}

// refusedLocked keeps a refusal in the place of the oldest one, if there are as many as the options allow.
func (r *Recorder) refusedLocked(one Refusal, m *performatives.Message) {
	one.Text = shortened(cmp.Or(one.Text, one.Code.Traits().Text))
	if m != nil {
		one.From, one.Message, one.Conversation = m.Sender(), m.ID(), m.ConversationID()
		one.Act = cmp.Or(m.MessageType(), m.Performative().String())
	}
	if len(r.refusals) < r.options.Refusals {
		r.refusals = append(r.refusals, one)
		return
	}
	r.refusals[r.nextRefusal] = one
	r.nextRefusal = (r.nextRefusal + 1) % len(r.refusals)
	r.counts.RefusalsForgotten++
}

func shortened(text string) string {
	if len(text) <= maxRefusalText {
		return text
	}
	return strings.ToValidUTF8(text[:maxRefusalText], "") + "…" // a copy: the whole text can be collected
}
