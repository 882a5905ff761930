package recent

import (
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Cancels has the CANCELs of this node that were to be written before their requests. The zero
// value is empty. It is not safe for concurrent use.
type Cancels struct {
	early Map[reference, struct{}]
}

// reference names a request to an agent of the peer, as its CANCEL does.
type reference struct {
	from, to performatives.AgentID // folded
	request  string                // its message_id or reply_with
}

func referenceOf(m *performatives.Message, request string) reference {
	return reference{m.Sender().Fold(), m.Receiver().Fold(), request}
}

// Check notes a CANCEL of this node whose request is not known to be written. For any other message
// it returns what Refusal does.
func (c *Cancels) Check(m *performatives.Message, known bool, now func() time.Time) *performatives.Refusal {
	if m.Performative() != performatives.ActCancel {
		return c.Refusal(m, now)
	}
	if !known {
		c.Note(m, now())
	}
	return nil
}

// Note remembers a CANCEL whose request has not been written. One without in_reply_to names no
// request, and is not remembered.
func (c *Cancels) Note(cancel *performatives.Message, now time.Time) {
	if cancel.InReplyTo() != "" {
		c.early.Put(referenceOf(cancel, cancel.InReplyTo()), struct{}{}, now)
	}
}

// Refusal returns the refusal of a request whose CANCEL was noted, and nil for all others. A copy
// of the request is refused, too.
func (c *Cancels) Refusal(request *performatives.Message, now func() time.Time) *performatives.Refusal {
	if c.early.Len() == 0 {
		return nil
	}
	for _, name := range [...]string{string(request.ID()), request.ReplyWith()} {
		if _, early := c.early.Get(referenceOf(request, name), now()); early {
			return Canceled(request.ID())
		}
	}
	return nil
}

// Canceled returns the refusal of a request that comes after its CANCEL.
func Canceled(request performatives.MessageID) *performatives.Refusal {
	return &performatives.Refusal{Code: performatives.CodeCanceled, About: request, Text: performatives.CodeCanceled.Traits().Text}
}
