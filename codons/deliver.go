package codons

import (
	"context"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// deliver gives what came of a task to the designated receiver, and returns once it
// is confirmed.
func deliver(ctx context.Context, self actors.Self, to DeliverTo, result performatives.InformResult, note deliveryNote, o options) error {
	note.Conversation = to.Conversation
	if note.Failure != nil {
		result = performatives.InformResult{Status: performatives.StatusFailure, Summary: note.Failure.ErrorText}
	}
	result.Extra = with(result.Extra, memberDelivery, note)
	o.inReplyTo = to.InReplyTo
	ctx, cancel := sooner(ctx)
	defer cancel()
	_, err := question[struct{}]{
		machine: delivery, to: to.Receiver, act: performatives.ActInformResult, payload: result, read: confirmed,
	}.ask(ctx, self, o)
	if err == nil {
		return nil
	}
	why := failureOf(err)
	return &performatives.Refusal{
		Code: why.ErrorCode, Text: fmt.Sprintf("%s has not confirmed the delivery: %s", to.Receiver, why.ErrorText),
	}
}

// confirmed reads the answer to a delivery.
func confirmed(m *performatives.Message) (struct{}, error) {
	if m.Performative() == performatives.ActConfirm {
		return struct{}{}, nil
	}
	p, err := performatives.PayloadAs[denial](m)
	if err != nil || p.ReasonCode == "" { // it denies even so
		p.ReasonCode = performatives.CodeIncapable
	}
	return struct{}{}, &performatives.Refusal{Code: p.ReasonCode, Text: p.ReasonText, Act: m.Performative(), From: m.Sender()}
}

// undelivered is the answer, in the receiver's place, to a delivery that could not
// be sent: it asks for nothing, so that nobody else says so.
func undelivered(m *performatives.Message, s performatives.Stamp, r *performatives.Refusal) *performatives.Message {
	text := r.Text
	if text == "" {
		text = r.Code.Traits().Text
	}
	answer, err := m.ReplyAs(s, performatives.ActDisconfirm, denial{r.Code, text})
	if err != nil {
		return nil // only an invalid stamp
	}
	return answer
}
