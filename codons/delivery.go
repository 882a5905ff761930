package codons

import (
	"context"
	"encoding/json"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

var delivery = DeliveryTable().MustCompile()

// Delivery is what came of a task, brought by one who was recruited for it.
type Delivery struct {
	Recruit      performatives.AgentID        // who performed the task, as who brings it says
	Conversation performatives.ConversationID // of the PROXY that asked for it
	TaskType     string
	Result       performatives.InformResult // zero when Err is set
	Err          *performatives.Refusal     // why there is no result; nil when there is one
	Message      *performatives.Message     // the INFORM_RESULT that brought it
}

// DeliveryHandler is an agent that takes deliveries which another has asked for on
// its behalf: the designated receiver of a [Recruit] by someone else.
type DeliveryHandler interface {
	actors.Agent
	// HandleDelivery takes d, which is confirmed by nil. Anyone may bring one: those
	// recruited show the [Proxy].Ticket that they were recruited with, as
	// d.Message.InReplyTo, and bring what they have done themselves, but for those in
	// whose place the recruiter delivers. A [*performatives.Refusal] is told with its
	// code and text, as DISCONFIRM, any other error, or a panic, as FAILURE without its
	// text. It runs on a goroutine of its conversation, so it must not touch the agent's
	// fields but by [actors.Self.Do]. A delivery whose confirmation was lost is
	// confirmed again without it, unless 256 other conversations have ended meanwhile.
	HandleDelivery(ctx context.Context, d Delivery) error
}

// Deliveries is the protocol that makes every agent answer deliveries: a
// [DeliveryHandler] takes them, an agent whose [Recruit] is under way gets those
// that it waits for, and what nobody expects is answered by DISCONFIRM.
type Deliveries Times

// Name returns "delivery".
func (Deliveries) Name() string { return delivery.Name() }

// Opens reports whether m is a delivery, or the CANCEL of one that comes first. An
// INFORM_RESULT that names no protocol is none.
func (Deliveries) Opens(m *performatives.Message) bool { return opens(m, delivery, false) }

// Bind returns the responder of an agent; every agent has one.
func (d Deliveries) Bind(self actors.Self, agent actors.Agent) actors.Responding {
	role, _ := agent.(DeliveryHandler)
	reserved := reserves(agent)
	return dock{newDesk(self, agent, delivery, Times(d), func(ctx context.Context, c *conversation, _ *handler) (string, any) {
		got, err := deliveryOf(c.request)
		if err != nil {
			return turndown(err)
		}
		return taken(receiveDelivery(ctx, self, role, reserved, got))
	})}
}

// taken is the answer to a delivery: CONFIRM needs no words.
func taken(err error) (string, any) {
	r := asRefusal(err)
	switch {
	case err == nil:
		return commandAnswer, nil
	case r == nil:
		return commandFail, failureOf(err)
	}
	return commandRefuse, performatives.Refuse{ReasonCode: r.Code, ReasonText: r.Text}
}

// receiveDelivery has whoever waits for d take it.
func receiveDelivery(ctx context.Context, self actors.Self, role DeliveryHandler, reserved bool, d Delivery) error {
	if in := inboxesOf(self).find(d.Message.InReplyTo()); in != nil {
		return in.take(d)
	}
	if reserved {
		if r := stranger(self, d.Message); r != nil {
			return r
		}
	}
	if role != nil {
		return role.HandleDelivery(ctx, d)
	}
	return &performatives.Refusal{Code: performatives.CodeIncapable, Text: "no such delivery is expected"}
}

// deliveryOf reads a delivery.
func deliveryOf(m *performatives.Message) (Delivery, error) {
	result, err := performatives.PayloadAs[performatives.InformResult](m)
	if err != nil {
		return Delivery{}, err
	}
	var note deliveryNote
	if err := json.Unmarshal(result.Extra[memberDelivery], &note); err != nil || note.Conversation == "" {
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

// dock is the desk of deliveries.
type dock struct{ *desk }

// Open begins the conversation of a delivery.
func (d dock) Open(m *performatives.Message) actors.Conversation {
	return newAnswering(d.self, d.machine, m, &dockScript{deskScript{desk: d.desk}})
}

// dockScript says no by DISCONFIRM.
type dockScript struct{ deskScript }

func (s *dockScript) payload(c *conversation, e machine.Effect, data any) any {
	data = s.deskScript.payload(c, e, data)
	if r, ok := data.(performatives.Refuse); ok && e.Act == performatives.ActDisconfirm {
		return denial{ReasonCode: r.ReasonCode, ReasonText: r.ReasonText}
	}
	return data
}

// denial is the content of DISCONFIRM: that of REFUSE.
type denial struct {
	ReasonCode performatives.Code `json:"reason_code"`
	ReasonText string             `json:"reason_text,omitempty"`
}
