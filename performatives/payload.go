package performatives

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
)

// Raw is a payload without a registered Go type: a JSON object, unchanged. An empty Raw
// is an empty object.
type Raw json.RawMessage

// MarshalJSON returns r unchanged. r owns the result: the caller must not change it.
func (r Raw) MarshalJSON() ([]byte, error) {
	if len(r) == 0 {
		return []byte("{}"), nil
	}
	return slices.Clip(r), nil
}

// Parsed is a [Raw] that is known to be one JSON object in UTF-8, which nests at most 100 levels
// deep. A message that [New] makes of it has the Raw, and says so by [Message.Parsed].
type Parsed Raw

// appendMarshaled is [AppendJSON] for a payload of any type.
func appendMarshaled(out []byte, payload any) (_ []byte, err error) {
	var text []byte
	if m, ok := payload.(json.Marshaler); ok {
		text, err = m.MarshalJSON()
	} else {
		text, err = json.Marshal(payload)
	}
	return append(out, text...), err
}

// payload is the interface of a payload type that implies its act, as the built-in
// types do. The payload of a message is always a value, never a pointer, so that a type
// switch has one case per type.
type payload interface {
	Act() Performative // the act that the payload belongs to
}

// actOf returns the act that the type of a payload implies, or zero if it implies none.
func actOf(v any) Performative {
	if p, ok := v.(payload); ok {
		return p.Act()
	}
	return 0
}

type decodeFunc func(json.RawMessage) (any, error)

// decodePayload reads the JSON object raw into a T. A type that unmarshals itself
// is called directly: encoding/json would only parse raw once more.
func decodePayload[T any](raw json.RawMessage) (v T, err error) {
	if form := jsonForm(raw); form != "an object" {
		return v, invalid("payload", "an object", form)
	}
	if u, ok := any(&v).(json.Unmarshaler); ok {
		err = u.UnmarshalJSON(raw)
	} else {
		err = jsonscan.Unmarshal(raw, &v)
	}
	if err != nil {
		var zero T
		return zero, misfit("payload", err, reflect.TypeFor[T]())
	}
	return v, nil
}

// decodeInto returns [decodePayload] of T without the type in its result.
func decodeInto[T any]() decodeFunc {
	return func(raw json.RawMessage) (any, error) {
		v, err := decodePayload[T](raw)
		if err != nil {
			return nil, err
		}
		return v, nil
	}
}

// builtin holds the decoder of each act whose payload the specifications define.
var builtin = [endOfActs]decodeFunc{
	ActTaskRequest:        decodeInto[TaskRequest](),
	ActTaskAccept:         decodeInto[TaskAccept](),
	ActTaskReject:         decodeInto[TaskReject](),
	ActStatusUpdate:       decodeInto[StatusUpdate](),
	ActInformResult:       decodeInto[InformResult](),
	ActFailure:            decodeInto[Failure](),
	ActNotUnderstood:      decodeInto[NotUnderstood](),
	ActQueryIf:            decodeInto[QueryIf](),
	ActInformIf:           decodeInto[InformIf](),
	ActQueryRef:           decodeInto[QueryRef](),
	ActInformRef:          decodeInto[InformRef](),
	ActQueryCapabilities:  decodeInto[QueryCapabilities](),
	ActInformCapabilities: decodeInto[InformCapabilities](),
	ActRefuse:             decodeInto[Refuse](),
	ActCancel:             decodeInto[Cancel](),
}

// PayloadAs returns the payload of m as a T. A payload of type T is returned unchanged.
// A [Raw] payload is decoded from JSON and validated. The error is a [*Refusal] with
// [CodeInvalidPayload] when the JSON does not fit T, or the payload is of another type.
func PayloadAs[T any](m *Message) (T, error) {
	if v, ok := m.payload.(T); ok {
		return v, nil
	}
	var zero T
	raw, ok := m.payload.(Raw)
	if !ok {
		return zero, invalid("payload", reflect.TypeFor[T]().String(), fmt.Sprintf("%T", m.payload))
	}
	if len(raw) == 0 {
		raw = Raw("{}")
	}
	v, err := decodePayload[T](json.RawMessage(raw))
	if err != nil {
		return zero, err
	}
	if err := validatePayload(v); err != nil {
		return zero, err
	}
	return v, nil
}

// payloadRefusal returns the error of a payload's Validate as a refusal for the peer.
func payloadRefusal(err error) error {
	var refusal *Refusal
	if errors.As(err, &refusal) {
		return refusal.within("payload")
	}
	return &Refusal{Code: CodeInvalidPayload, Field: "payload", Text: "payload: " + err.Error()}
}
