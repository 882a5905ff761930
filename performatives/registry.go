package performatives

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
)

type payloadKey struct {
	act      Performative
	ontology string
}

// messageType is an application's message type: its act and the decoder of its payload.
type messageType struct {
	act     Performative
	decode  decodeFunc
	checked bool // no other act may have the message type
}

// Registry holds the payload types of the application, so that every transport decodes
// payloads to Go types. A nil *Registry has the built-in types only. It is safe for
// concurrent use.
type Registry struct {
	mu    sync.RWMutex
	types map[payloadKey]decodeFunc
	named map[string]messageType // by the name of the message type
}

// ErrRegistered is returned for an act and ontology, or a message type, that have a
// payload type already.
var ErrRegistered = errors.New("performatives: payload type already registered")

// Register makes T, a struct or a map, the payload of messages with that act and ontology; both are
// required. T takes precedence over the built-in type of the act. A method Validate() error of T is
// called for every message; it must have a value receiver. Register fails with [ErrRegistered] when
// the act and ontology have a type already. r must not be nil.
func Register[T any](r *Registry, act Performative, ontology string) error {
	fault := registerFault[T](act)
	if fault == "" && ontology == "" {
		fault = "want an ontology"
	}
	if fault != "" {
		return fmt.Errorf("performatives: register %v: %s", reflect.TypeFor[T](), fault)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	key := payloadKey{act, ontology}
	if r.types[key] != nil {
		return fmt.Errorf("%w: %s of %s", ErrRegistered, act, ontology)
	}
	if r.types == nil {
		r.types = make(map[payloadKey]decodeFunc)
	}
	r.types[key] = decodeInto[T]()
	return nil
}

// RegisterMessageType makes T, a struct or a map, the payload of messages with that message type,
// and assigns the type to that act. T has precedence over the type of the act and of its ontology.
// A method Validate() error of T is called for every message; it must have a value receiver. It
// fails with [ErrRegistered] when the message type is registered already, and with a [*Refusal] for
// a name that cannot be one. r must not be nil.
func RegisterMessageType[T any](r *Registry, name string, act Performative) error {
	if err := CheckMessageType(name); err != nil {
		return fmt.Errorf("performatives: register %v: %w", reflect.TypeFor[T](), err)
	}
	if fault := registerFault[T](act); fault != "" {
		return fmt.Errorf("performatives: register %v: %s", reflect.TypeFor[T](), fault)
	}
	return r.name(name, messageType{act: act, decode: decodeInto[T]()})
}

// RegisterChecked makes check the rule for the payload of messages with that message type,
// and says that the type is one of that act: for a type whose rule is known at run time
// only, such as a JSON Schema. The payload is a [Raw], or nil where it is missing and check
// accepts {}. A message with that type and another act is refused. check is called with a
// JSON object, which it must not change or keep, by several goroutines at once. The path of
// the field in its error begins at the payload, as in that of a method Validate. It has the
// errors of [RegisterMessageType]. r must not be nil.
func (r *Registry) RegisterChecked(name string, act Performative, check func(payload json.RawMessage) error) error {
	if err := CheckMessageType(name); err != nil {
		return fmt.Errorf("performatives: register: %w", err)
	}
	if !act.Valid() {
		return fmt.Errorf("performatives: register %s: %s is no act", name, act)
	}
	return r.name(name, messageType{act: act, decode: decodeChecked(check), checked: true})
}

// decodeChecked returns the decoder of a payload that check accepts.
func decodeChecked(check func(json.RawMessage) error) decodeFunc {
	return func(raw json.RawMessage) (any, error) {
		object := raw
		if len(raw) == 0 {
			object = json.RawMessage("{}")
		}
		if form := jsonForm(object); form != "an object" {
			return nil, invalid("payload", "an object", form)
		}
		if err := check(object); err != nil {
			return nil, payloadRefusal(err)
		}
		return rawPayload(raw)
	}
}

// name registers a message type.
func (r *Registry) name(name string, t messageType) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.named[name]; ok {
		return fmt.Errorf("%w: message type %s", ErrRegistered, name)
	}
	if r.named == nil {
		r.named = make(map[string]messageType)
	}
	r.named[name] = t
	return nil
}

// MessageTypeAct returns the act of a registered message type, and whether there is
// one of that name.
func (r *Registry) MessageTypeAct(name string) (Performative, bool) {
	t, ok := r.messageType(name)
	return t.act, ok
}

func (r *Registry) messageType(name string) (messageType, bool) {
	if r == nil {
		return messageType{}, false
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	t, ok := r.named[name]
	return t, ok
}

// registerFault returns the reason why T cannot be the payload of that act, or nothing.
func registerFault[T any](act Performative) string {
	var zero T
	kind := reflect.TypeFor[T]().Kind()
	_, byValue := any(zero).(validator)
	_, byPointer := any(&zero).(validator)
	switch own := actOf(zero); {
	case !act.Valid():
		return act.String() + " is no act"
	case kind != reflect.Struct && kind != reflect.Map:
		return "want a struct or a map, so that it is a JSON object"
	case byPointer && !byValue:
		return "want Validate on the value, because a payload is never a pointer"
	case own != 0 && own != act:
		return "want " + act.String() + ", as registered, from its method Act, got " + own.String()
	}
	return ""
}

// DecodePayload is [Registry.DecodeTyped] for a message without a message type.
func (r *Registry) DecodePayload(act Performative, ontology string, raw json.RawMessage) (any, error) {
	return r.DecodeTyped(act, "", ontology, raw)
}

// DecodeTyped decodes a JSON object to the type that is registered for the message type, which may
// be empty for none, and the act; else to the type that is registered for the act and ontology,
// else to the built-in type of the act, else to [Raw]; of a member that occurs twice the last
// counts. The built-in type does not apply to a message with a message type, since the application
// defines the payload. For an act without a type, an empty raw gives nil, the payload of an act
// without content. DecodeTyped does not validate the payload; [New] does. The result does not share
// memory with raw. The error is a [*Refusal] with [CodeInvalidPayload] that names the field.
func (r *Registry) DecodeTyped(act Performative, messageType, ontology string, raw json.RawMessage) (any, error) {
	if messageType != "" {
		switch t, ok := r.messageType(messageType); {
		case ok && t.act == act:
			return t.decode(raw)
		case t.checked:
			return nil, invalid("performative", t.act.String()+", the act of "+messageType, act.String())
		}
	}
	decode := r.registered(act, ontology)
	if decode == nil && messageType == "" && act.Valid() {
		decode = builtin[act]
	}
	if decode == nil {
		return rawPayload(raw)
	}
	return decode(raw)
}

// rawPayload returns a copy of raw as the payload of a message.
func rawPayload(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil //nolint:nilnil // nil is the payload of an act without content
	}
	return Raw(bytes.Clone(raw)), nil
}

// registered returns the decoder of the type that is registered for the act and
// ontology, or nil.
func (r *Registry) registered(act Performative, ontology string) decodeFunc {
	if r == nil {
		return nil
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.types[payloadKey{act, ontology}]
}
