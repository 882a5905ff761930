package codons

import (
	"encoding/json"
	"maps"

	"github.com/ribosome-agents/ribosome/performatives"
)

// The members that recruiting adds to TASK_REQUEST and INFORM_RESULT. Who does not
// know them leaves them alone: such a recruit answers the recruiter, who delivers in
// its place.
const (
	memberDeliverTo = "deliver_to" // of TASK_REQUEST: a [DeliverTo]
	memberDelivery  = "delivery"   // of the INFORM_RESULT that is delivered: deliveryNote
	memberDelivered = "delivered"  // of the INFORM_RESULT that says so to the recruiter: the receiver
)

// DeliverTo is the member deliver_to of a task that was recruited for: to whom the
// worker gives the result, in place of the asker.
type DeliverTo struct {
	Receiver     performatives.AgentID        `json:"receiver"`
	Conversation performatives.ConversationID `json:"conversation_id"` // of the PROXY
	InReplyTo    string                       `json:"in_reply_to"`     // the ticket, or without one the PROXY
}

// Validate checks that the receiver can be told what the delivery is about.
func (d DeliverTo) Validate() error {
	for _, m := range [...]struct{ name, value string }{
		{"receiver", string(d.Receiver)}, {"conversation_id", string(d.Conversation)}, {"in_reply_to", d.InReplyTo},
	} {
		if m.value == "" {
			field := "payload." + memberDeliverTo + "." + m.name
			return &performatives.Refusal{Code: performatives.CodeInvalidPayload, Field: field, Text: field + ": want a non-empty string"}
		}
	}
	return nil
}

// in returns the task with d in it.
func (d DeliverTo) in(t performatives.TaskRequest) performatives.TaskRequest {
	t.Extra = with(t.Extra, memberDeliverTo, d)
	return t
}

// DeliverTo returns to whom the result of a task is to be delivered, and false for
// an ordinary task, whose asker gets it.
func (t Task) DeliverTo() (DeliverTo, bool) {
	d, ok, err := deliverTo(t.TaskRequest)
	return d, ok && err == nil
}

// deliverTo returns the member of a task, and whether it has it.
func deliverTo(t performatives.TaskRequest) (d DeliverTo, ok bool, err error) {
	raw, ok := t.Extra[memberDeliverTo]
	if !ok {
		return d, false, nil
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		field := "payload." + memberDeliverTo
		return d, true, &performatives.Refusal{Code: performatives.CodeInvalidPayload, Field: field, Text: field + ": want an object of strings"}
	}
	return d, true, d.Validate()
}

// deliveryNote is what a delivery is about.
type deliveryNote struct {
	Conversation performatives.ConversationID `json:"conversation_id"`   // of the PROXY
	Recruit      performatives.AgentID        `json:"recruit,omitempty"` // if it is not the sender
	TaskType     string                       `json:"task_type,omitempty"`
	Failure      *performatives.Failure       `json:"failure,omitempty"` // why there is no result
}

// with returns members with one more.
func with(m performatives.Members, name string, value any) performatives.Members {
	out := make(performatives.Members, len(m)+1)
	maps.Copy(out, m)
	raw, err := json.Marshal(value)
	if err == nil { // it is one of the structs above, or a string
		out[name] = raw
	}
	return out
}
