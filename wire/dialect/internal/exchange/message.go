package exchange

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Outline returns m with the smallest payload that its act permits, to be kept until its answer
// comes. Queries keep theirs. It returns m itself if there is no such message.
func Outline(m *performatives.Message) *performatives.Message {
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
	if outline, err := performatives.New(e); err == nil {
		return outline
	}
	return m
}

// Checked returns the message of an envelope. Meanwhile the lock, which is held, is released,
// because an application's code may check the payload.
func Checked(lock *sync.Mutex, e performatives.Envelope) (*performatives.Message, error) {
	lock.Unlock()
	defer lock.Lock()
	return performatives.New(e)
}

// PayloadAs returns the payload as a type of package performatives. It converts a registered type
// of the application through JSON.
func PayloadAs[T any](m *performatives.Message) (T, error) {
	if v, err := performatives.PayloadAs[T](m); err == nil {
		return v, nil
	}
	var v T // apart from the usual one, so that only it is on the heap
	text, err := jsonscan.Marshal(m.Payload())
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		return v, fmt.Errorf("payload: %w", err)
	}
	return v, nil
}

// Schema returns a copy of a JSON Schema, which is an object. It returns nil for any other value.
func Schema(v []byte) json.RawMessage {
	if !jsonscan.Is(v, '{') {
		return nil
	}
	return bytes.Clone(v)
}

// WithActs adds each act under its own name to the acts of other types of messages.
func WithActs(types map[string]performatives.Performative) map[string]performatives.Performative {
	for act := range performatives.Performatives() {
		types[act.String()] = act
	}
	return types
}

var (
	// Refusals has the acts that say no to a request.
	Refusals = SetOf(performatives.ActFailure, performatives.ActTaskReject, performatives.ActNotUnderstood, performatives.ActRefuse)
	// Final has the acts that end the request that they answer, in the dialects of acts.
	Final = Refusals | SetOf(performatives.ActInformResult, performatives.ActInformCapabilities, performatives.ActInformRef, performatives.ActInformIf)
	// Interim has the acts that only say how a request comes on, before its answer.
	Interim = SetOf(performatives.ActTaskAccept, performatives.ActAgree, performatives.ActStatusUpdate)
	// Opening has the acts that may travel as the call of a tool.
	Opening = SetOf(performatives.ActTaskRequest, performatives.ActRequest)
)

// Digest returns a digest of some texts, and of the payload of a message. The boundaries of the
// texts count.
func Digest(payload []byte, texts ...string) (sum [sha256.Size]byte) {
	var room [512]byte
	b := room[:0]
	for _, text := range texts {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	h := sha256.New()
	_, _ = h.Write(b) // never fails
	_, _ = h.Write(payload)
	h.Sum(sum[:0])
	return sum
}
