package grpc

import (
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/grpc/ribosomev1"
)

// A FAILURE that cannot be read ends the request that it is about, with its text. An INFORM that
// cannot be read ends nothing.
func TestMalformedFailureEndsTheRequest(t *testing.T) {
	for act, ends := range map[ribosomev1.Performative]bool{
		ribosomev1.Performative_PERFORMATIVE_FAILURE: true,
		ribosomev1.Performative_PERFORMATIVE_INFORM:  false,
	} {
		all := decodeAll(newCodec(t), envelopes(t, &ribosomev1.Envelope{
			Id: "f", Performative: act, Sender: "a", Receiver: "b", InReplyTo: "q", ConversationId: "c", Priority: 4,
			Payload: []byte(`{"error_text":"out of paper","error_code":"x"}`),
		}))
		if len(all) == 0 || all[0].Err == nil || all[0].Err.Field != "priority" || len(all) > 1 != ends {
			t.Fatalf("%v: %+v", act, all)
		}
		if !ends {
			continue
		}
		m := all[1].Message
		if m == nil || m.Sender() != "a" || m.Receiver() != "b" || m.InReplyTo() != "q" || m.ConversationID() != "c" {
			t.Fatalf("%v: %+v", act, all[1])
		}
		if r := m.AsRefusal(); r.Code != performatives.CodeFailed || r.Text != "out of paper" {
			t.Errorf("%v: %+v", act, r)
		}
	}
}
