package mediation

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
)

// The members that recruiting adds to TASK_REQUEST and INFORM_RESULT. A worker that does not know
// them answers the recruiter, which delivers on its behalf.
const (
	memberDeliverTo = "deliver_to" // of TASK_REQUEST: DeliverTo
	memberDelivery  = "delivery"   // of the INFORM_RESULT that is delivered: deliveryNote
	memberDelivered = "delivered"  // of the INFORM_RESULT that reports the delivery to the recruiter: the receiver
)

// DeliverTo is the member deliver_to of a recruited task: the agent that gets the result in place
// of the initiator of the delegation.
type DeliverTo struct {
	Receiver     performatives.AgentID        `json:"receiver"`        // the designated receiver
	Conversation performatives.ConversationID `json:"conversation_id"` // of the PROXY
	InReplyTo    string                       `json:"in_reply_to"`     // the ticket, or the id of the PROXY if there is no ticket
}

// Validate reports an empty member.
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

// in returns the task with d as its member deliver_to.
func (d DeliverTo) in(t performatives.TaskRequest) performatives.TaskRequest {
	t.Extra = withMember(t.Extra, memberDeliverTo, d)
	return t
}

// TaskDelivery returns where the result of a recruited task is delivered, and false for any
// other task. A worker may look at it; [Recruitable] delivers.
func TaskDelivery(t delegation.Task) (DeliverTo, bool) {
	d, ok, err := deliverTo(t.TaskRequest)
	return d, ok && err == nil
}

// deliverTo returns the member deliver_to of a task, and whether the task has it.
func deliverTo(t performatives.TaskRequest) (DeliverTo, bool, error) {
	raw, ok := t.Extra[memberDeliverTo]
	if !ok {
		return DeliverTo{}, false, nil
	}
	var d DeliverTo
	if err := performatives.Unmarshal(raw, &d); err != nil {
		field := "payload." + memberDeliverTo
		return d, true, &performatives.Refusal{Code: performatives.CodeInvalidPayload, Field: field, Text: field + ": want an object of strings"}
	}
	return d, true, d.Validate()
}

// deliveryNote is the member delivery of a delivered INFORM_RESULT: the subject of the delivery.
type deliveryNote struct {
	Conversation performatives.ConversationID `json:"conversation_id"`   // of the PROXY
	Recruit      performatives.AgentID        `json:"recruit,omitempty"` // if it is not the sender
	TaskType     string                       `json:"task_type,omitempty"`
	Failure      *performatives.Failure       `json:"failure,omitempty"` // why there is no result
}

// withMember returns a copy of m with one more member.
func withMember(m performatives.Members, name string, value any) performatives.Members {
	out := make(performatives.Members, len(m)+1)
	maps.Copy(out, m)
	raw, err := json.Marshal(value)
	if err == nil { // no error: the value is one of the structs above, or an id
		out[name] = raw
	}
	return out
}

// deliver sends the result of a task to the designated receiver, and returns when the receiver
// has confirmed it.
func deliver(ctx context.Context, self actors.Self, to DeliverTo, result performatives.InformResult, note deliveryNote, o codons.Options) error {
	note.Conversation = to.Conversation
	if note.Failure != nil {
		result = performatives.InformResult{Status: performatives.StatusFailure, Summary: note.Failure.ErrorText}
	}
	result.Extra = withMember(result.Extra, memberDelivery, note)
	o.Apply(codons.WithReplyTo(to.InReplyTo))
	ctx, cancel := withReserve(ctx)
	defer cancel()
	_, err := codons.Question[struct{}]{
		Opening: codons.Opening{Codon: DeliveryCodon, To: to.Receiver, Act: performatives.ActInformResult, Payload: result}, Read: readConfirmation, Denial: denialOf,
	}.AskWith(ctx, self, o)
	if err == nil {
		return nil
	}
	why := codons.FailureOf(err)
	return &performatives.Refusal{
		Code: why.ErrorCode, Text: fmt.Sprintf("%s has not confirmed the delivery: %s", to.Receiver, why.ErrorText),
	}
}

// readConfirmation reads the answer to a delivery.
func readConfirmation(m *performatives.Message) (struct{}, error) {
	if m.Performative() == performatives.ActConfirm {
		return struct{}{}, nil
	}
	p, err := performatives.PayloadAs[denial](m)
	if err != nil || p.ReasonCode == "" { // a denial without a readable reason
		p.ReasonCode = performatives.CodeIncapable
	}
	return struct{}{}, &performatives.Refusal{Code: p.ReasonCode, Text: p.ReasonText, Act: m.Performative(), From: m.Sender()}
}

// denialOf makes the DISCONFIRM for a delivery that could not be sent. The runtime makes a
// refusal only for messages that ask for something, and a delivery does not.
func denialOf(m *performatives.Message, s performatives.Stamp, r *performatives.Refusal) *performatives.Message {
	text := cmp.Or(r.Text, r.Code.Traits().Text)
	answer, err := m.ReplyAs(s, performatives.ActDisconfirm, denial{r.Code, text})
	if err != nil {
		return nil // only with an invalid stamp
	}
	return answer
}
