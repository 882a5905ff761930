package mediation

import (
	"context"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
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
