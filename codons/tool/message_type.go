package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/performatives"
)

// MaxSchema is the greatest length of a JSON Schema that is read, in bytes.
const MaxSchema = maxSchema

// RegisterMessageType makes r check the payloads of a message type of that act against a JSON
// Schema (draft 2020-12 or draft 7): see [performatives.Registry.RegisterChecked]. A payload that
// does not fit is refused with [performatives.CodeInvalidPayload]. The text of the refusal has the
// place and the reason, as for the arguments of a tool. A reference to another document is not
// followed.
//
// The error says that the schema cannot be used, or is that of RegisterChecked. A schema cannot be
// used if it is not valid, is longer than [MaxSchema], or fits no object. r must not be nil.
func RegisterMessageType(r *performatives.Registry, name string, act performatives.Performative, schema json.RawMessage) error {
	err := checkLength(schema)
	if err != nil {
		return fmt.Errorf("tool: schema of %.64s: %w", name, err)
	}
	s, err := readSchema(schema)
	if err == nil && !s.ofObjects() {
		err = errors.New("want one of an object, as every payload is")
	}
	if err != nil {
		return fmt.Errorf("tool: schema of %.64s: %w", name, err)
	}
	return r.RegisterChecked(name, act, s.checkPayload)
}

// ofObjects reports whether an object has one of the types that s demands.
func (s *schema) ofObjects() bool {
	types := s.tree.Types
	if s.tree.Type != "" {
		types = []string{s.tree.Type}
	}
	return len(types) == 0 || slices.Contains(types, "object")
}

// checkPayload is check for a payload: the place in its error begins at the payload.
func (s *schema) checkPayload(payload json.RawMessage) error {
	err := s.check("", performatives.RawContent(payload))
	r := performatives.RefusalOf(err)
	if r == nil {
		return nil
	}
	r.Field, r.Text = strings.TrimPrefix(r.Field, "."), strings.TrimPrefix(r.Text, ".")
	return r
}
