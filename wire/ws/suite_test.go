package ws

import (
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

type message = performatives.Message

// reply returns a reply with the text of m.
func reply(t testing.TB, m *message) *message {
	return wiretest.Of(t, performatives.Envelope{
		Sender: m.Receiver(), Receiver: m.Sender(), ConversationID: m.ConversationID(), InReplyTo: string(m.ID()),
		Performative: performatives.ActInform, Payload: m.Payload(),
	})
}
