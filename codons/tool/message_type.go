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

// RegisterMessageType has r check the payload of messages with that message type, which is one of
// that act, against a JSON Schema (draft 2020-12 or draft 7): see
// [performatives.Registry.RegisterChecked]. What does not fit is refused with
// [performatives.CodeInvalidPayload], and the text gives the place and the reason, as for the arguments of a tool. A
// reference to another document is not followed.
//
// The error says that the schema cannot be used (not valid, longer than [MaxSchema], or one that no
// object fits), or is that of RegisterChecked. r must not be nil.
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
