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
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Delivery is the result of a recruited task, as the designated receiver gets it.
type Delivery struct {
	Recruit      performatives.AgentID        // the agent that performed the task, according to the sender
	Conversation performatives.ConversationID // of the PROXY that asked for it
	TaskType     string
	Result       performatives.InformResult // the zero value if Err is set
	Err          *performatives.Refusal     // why there is no result; else nil
	Message      *performatives.Message     // the INFORM_RESULT of the delivery
}

// DeliveryHandler is an agent that accepts deliveries that another agent has asked for on its
// behalf: the designated receiver of a [Recruit] by another party.
type DeliveryHandler interface {
	actors.Agent
	// HandleDelivery returns nil to confirm d. A [*performatives.Refusal] is sent with its
	// code and text, as DISCONFIRM; any other error, or a panic, as FAILURE without its
	// text. Any agent may send a delivery. A recruit shows the [Proxy].Ticket, as
	// d.Message.InReplyTo(), and d.Recruit is its sender unless the recruiter delivers on
	// its behalf.
	//
	// HandleDelivery runs on a goroutine of its conversation: it must not use the agent's
	// fields except by [actors.Self.Do]. A duplicate, sent because the confirmation was lost,
	// is confirmed again without another call; after 256 other conversations have ended it gets
	// FAILURE (conversation_ended).
	HandleDelivery(ctx context.Context, d Delivery) error
}

// DeliveryService makes every agent answer deliveries. A delivery with the ticket of an open
// [Recruit] of the agent goes there, any other to the agent's [DeliveryHandler]. An agent
// without one answers by DISCONFIRM. If the agent requires a handshake, the responder itself
// decides by [discovery.HandshakeGuard] about deliveries without such a ticket.
var DeliveryService = codons.NewService(DeliveryCodon, codons.ServiceOptions{Unguarded: true}, newReceiver)

func newReceiver(self actors.Self, agent actors.Agent, t codons.Times) actors.Responder {
	r := &receiver{self: self, guard: discovery.HandshakeGuard(self, agent)}
	r.handler, _ = agent.(DeliveryHandler)
	return codons.AnswerWith(self, agent, DeliveryCodon, t, r.answer)
}

// receiver handles the deliveries to one agent.
type receiver struct {
	self    actors.Self
	handler DeliveryHandler // nil if the agent is none
	guard   actors.Guard    // nil if the agent requires no handshake
}

// answer reads a delivery and has it handled. It runs on a goroutine of the conversation.
func (r *receiver) answer(ctx context.Context, h *codons.Handler) codons.Command {
	d, err := deliveryOf(h.Message())
	if err != nil {
		return h.TurnDown(err)
	}
	err = r.handle(ctx, d)
	refusal := performatives.RefusalOf(err)
	switch {
	case err == nil:
		return codons.Command{Name: standard.CommandAnswer}
	case refusal == nil:
		return h.Fail(err)
	}
	return codons.Command{Name: standard.CommandRefuse, Data: performatives.Refuse{ReasonCode: refusal.Code, ReasonText: refusal.Text}}
}

// handle gives a delivery to the collector with its ticket, or else to the agent.
func (r *receiver) handle(ctx context.Context, d Delivery) error {
	if c := collectorsOf(r.self).find(d.Message.InReplyTo()); c != nil {
		return c.add(d)
	}
	if r.guard != nil {
		if refusal := r.guard(d.Message); refusal != nil {
			return refusal
		}
	}
	if r.handler != nil {
		return r.handler.HandleDelivery(ctx, d)
	}
	return &performatives.Refusal{Code: performatives.CodeIncapable, Text: "no such delivery is expected"}
}

// deliveryOf reads the delivery that a message carries.
func deliveryOf(m *performatives.Message) (Delivery, error) {
	result, err := performatives.PayloadAs[performatives.InformResult](m)
	if err != nil {
		return Delivery{}, err
	}
	var note deliveryNote
	if err := performatives.Unmarshal(result.Extra[memberDelivery], &note); err != nil || note.Conversation == "" {
		field := "payload." + memberDelivery
		return Delivery{}, &performatives.Refusal{
			Code: performatives.CodeInvalidPayload, Field: field, Text: field + ": want an object with a conversation_id",
		}
	}
	d := Delivery{Recruit: m.Sender(), Conversation: note.Conversation, TaskType: note.TaskType, Message: m}
	if note.Recruit != "" {
		d.Recruit = note.Recruit
	}
	if note.Failure == nil {
		d.Result = result
		return d, nil
	}
	d.Err = &performatives.Refusal{
		Code: note.Failure.ErrorCode, Text: note.Failure.ErrorText, Act: performatives.ActFailure, From: d.Recruit,
	}
	return d, nil
}

// deliveryResponder is the responder's side of one delivery.
type deliveryResponder struct{ *codons.ResponderSide }

// Compose makes the content of DISCONFIRM from that of a refusal.
func (s deliveryResponder) Compose(v *codons.Value, f machine.Effect, e *codons.Input) any {
	data := s.ResponderSide.Compose(v, f, e)
	if r, ok := data.(performatives.Refuse); ok && f.Act == performatives.ActDisconfirm {
		return denial{ReasonCode: r.ReasonCode, ReasonText: r.ReasonText}
	}
	return data
}

// denial is the content of DISCONFIRM. Its members are those of REFUSE.
type denial struct {
	ReasonCode performatives.Code `json:"reason_code"`
	ReasonText string             `json:"reason_text,omitempty"`
}

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
