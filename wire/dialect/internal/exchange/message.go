package exchange

import (
	"encoding/json"
	"fmt"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Outline returns m with the smallest payload that its act permits, to be kept until its answer
// comes. Queries keep theirs.
func Outline(m *performatives.Message) (*performatives.Message, error) {
	e := performatives.Envelope{
		ID: m.ID(), Performative: m.Performative(), Sender: m.Sender(), Receiver: m.Receiver(), ConversationID: m.ConversationID(),
		Protocol: m.Protocol(), MessageType: m.MessageType(), InReplyTo: m.InReplyTo(), ReplyWith: m.ReplyWith(), ReplyBy: m.ReplyBy(),
		Language: m.Language(), Ontology: m.Ontology(), Priority: m.Priority(), Timestamp: m.Timestamp(), Trace: m.Trace(),
	}
	switch act := m.Performative(); {
	case m.MessageType() != "":
	case act == performatives.ActTaskRequest:
		e.Payload = performatives.TaskRequest{TaskType: "outline"}
	case act == performatives.ActQueryCapabilities:
		e.Payload = performatives.QueryCapabilities{Type: performatives.QuerySummary}
	case act == performatives.ActCancel:
		e.Payload = performatives.Cancel{}
	case act == performatives.ActQueryIf, act == performatives.ActQueryRef: // the answer repeats parts of it
		e.Payload = m.Payload()
	}
	return performatives.New(e)
}

// PayloadAs returns the payload as a type of package performatives. It converts a registered type
// of the application through JSON.
func PayloadAs[T any](m *performatives.Message) (T, error) {
	v, err := performatives.PayloadAs[T](m)
	if err == nil {
		return v, nil
	}
	text, err := jsonscan.Marshal(m.Payload())
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		return v, fmt.Errorf("payload: %w", err)
	}
	return v, nil
}
