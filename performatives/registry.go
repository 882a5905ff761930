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

// Registry knows the application's own payload types, so that every transport
// decodes them to Go types. A nil *Registry knows only the built-in types. It is
// safe for concurrent use.
type Registry struct {
	mu    sync.RWMutex
	types map[payloadKey]decodeFunc
}

// ErrRegistered is returned for an act and ontology that have a type already.
var ErrRegistered = errors.New("performatives: payload type already registered")

// Register makes T, a struct or a map, the payload of messages with that act and
// ontology; both are required. T takes precedence over the built-in type of the
// act. A method Validate() error of T is called for every message; it must have a
// value receiver. Register fails with [ErrRegistered] when a type has that place.
// r must not be nil.
func Register[T any](r *Registry, act Performative, ontology string) error {
	if fault := registerFault[T](act, ontology); fault != "" {
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

// registerFault says what forbids T to be the payload of that act and ontology,
// or nothing.
func registerFault[T any](act Performative, ontology string) string {
	var zero T
	kind := reflect.TypeFor[T]().Kind()
	_, byValue := any(zero).(validator)
	_, byPointer := any(&zero).(validator)
	switch own := actOf(zero); {
	case !act.Valid():
		return act.String() + " is no act"
	case ontology == "":
		return "want an ontology"
	case kind != reflect.Struct && kind != reflect.Map:
		return "want a struct or a map, so that it is a JSON object"
	case byPointer && !byValue:
		return "want Validate on the value, because a payload is never a pointer"
	case own != 0 && own != act:
		return "want " + act.String() + ", as registered, from its method Act, got " + own.String()
	}
	return ""
}

// DecodePayload decodes a JSON object to the type that is registered for the act
// and ontology, else to the built-in type of the act, else to [Raw]; of a member
// that occurs twice the last counts. An absent (empty) raw is nil, the payload of
// an act without content, where the act has no type. The payload is not validated
// before [New]. raw is copied where the result would refer to it. The error is a
// [*Refusal] with [CodeInvalidPayload] that names the field.
func (r *Registry) DecodePayload(act Performative, ontology string, raw json.RawMessage) (any, error) {
	if decode := r.decoder(act, ontology); decode != nil {
		return decode(raw)
	}
	if len(raw) == 0 {
		return nil, nil //nolint:nilnil // nil is the payload of an act without content
	}
	return Raw(bytes.Clone(raw)), nil
}

func (r *Registry) decoder(act Performative, ontology string) decodeFunc {
	if r != nil {
		r.mu.RLock()
		decode := r.types[payloadKey{act, ontology}]
		r.mu.RUnlock()
		if decode != nil {
			return decode
		}
	}
	if !act.Valid() {
		return nil
	}
	return builtin[act]
}
