package codons

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/ribosome-agents/ribosome/performatives"
)

// schema is a JSON Schema that is ready to check values. It never changes.
type schema struct {
	tree  *jsonschema.Schema
	ready *jsonschema.Resolved
	text  json.RawMessage
}

// schemaOf derives the schema of a Go type, lets adapt narrow it, and resolves it:
// the dear part, which is done once.
func schemaOf[T any](adapt func(*jsonschema.Schema)) (*schema, error) {
	tree, err := jsonschema.For[T](nil)
	if err != nil {
		return nil, err
	}
	if adapt != nil {
		adapt(tree)
	}
	if tree.Type != "object" {
		var zero T
		return nil, fmt.Errorf("want a struct or a map, so that it is a JSON object, got %T", zero)
	}
	ready, err := tree.Resolve(nil)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(tree)
	return &schema{tree: tree, ready: ready, text: text}, err
}

// check says, in a [*performatives.Refusal] whose field begins with root, what of a
// content does not fit. Go values are looked at as the JSON that they would be, so
// that an agent in the process and one outside are told the same.
func (s *schema) check(root string, c performatives.Content) error {
	value, err := plainValue(c)
	if err != nil {
		return misfit(root, "not a JSON value")
	}
	if err := s.ready.Validate(value); err != nil {
		f := fault{path: root, reason: reasonOf(err), ready: map[*jsonschema.Schema]*jsonschema.Resolved{}}
		f.find(s.tree, value)
		return misfit(f.path, f.reason)
	}
	return nil
}

// plainValue is c as encoding/json decodes it; an empty one is an empty object.
func plainValue(c performatives.Content) (v any, err error) {
	if c.IsZero() {
		return map[string]any{}, nil
	}
	b, err := c.MarshalJSON()
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(b, &v)
	return v, err
}

// maxReason bounds what a peer is told of its own value.
const maxReason = 256

func misfit(path, reason string) error {
	return &performatives.Refusal{
		Code: performatives.CodeInvalidPayload, Field: path,
		Text: fmt.Sprintf("%s: %s", path, strings.ToValidUTF8(fmt.Sprintf("%.*s", maxReason, reason), "")),
	}
}

// reasonOf is the library's reason without its own way of telling the place.
func reasonOf(err error) string {
	text := err.Error()
	for strings.HasPrefix(text, "validating ") {
		_, rest, ok := strings.Cut(text, ": ")
		if !ok {
			break
		}
		text = rest
	}
	return text
}

// fault is where a value does not fit its schema. The library names a place in the
// schema, and of several faults any: this is the place in the value, and the first in
// the order of the names, so that the same value is always told the same.
type fault struct {
	path, reason string
	ready        map[*jsonschema.Schema]*jsonschema.Resolved // parts of the schema, each by itself
}

// alone returns a part of the schema by itself, or nil when that makes no sense.
func (f *fault) alone(s *jsonschema.Schema) *jsonschema.Resolved {
	if f.ready[s] == nil {
		f.ready[s], _ = s.CloneSchemas().Resolve(nil)
	}
	return f.ready[s]
}

// find descends to the first part that does not fit by itself, and reports whether
// there is a fault. What only the whole shows, such as a reference, stays the whole's.
func (f *fault) find(s *jsonschema.Schema, value any) bool {
	alone := f.alone(s)
	if alone == nil {
		return false
	}
	err := alone.Validate(value)
	if err == nil {
		return false
	}
	f.reason = reasonOf(err)
	switch v := value.(type) {
	case map[string]any:
		f.findMember(s, v)
	case []any:
		f.findItem(s, v)
	}
	return true
}

func (f *fault) findMember(s *jsonschema.Schema, object map[string]any) {
	names := slices.Sorted(maps.Keys(object))
	for _, name := range names {
		if member := s.Properties[name]; member != nil && f.within("."+name, member, object[name]) {
			return
		}
	}
	if s.AdditionalProperties == nil {
		return
	}
	for _, name := range names {
		if s.Properties[name] != nil {
			continue
		}
		if f.within("."+name, s.AdditionalProperties, object[name]) {
			if s.AdditionalProperties.Not != nil {
				f.reason = "there is no such member"
			}
			return
		}
	}
}

func (f *fault) findItem(s *jsonschema.Schema, items []any) {
	if s.Items == nil {
		return
	}
	for i, item := range items {
		if f.within(fmt.Sprintf("[%d]", i), s.Items, item) {
			return
		}
	}
}

// within looks at a part of the value, and keeps its place if it has the fault.
func (f *fault) within(step string, s *jsonschema.Schema, value any) bool {
	part := fault{path: f.path + step, ready: f.ready}
	if !part.find(s, value) {
		return false
	}
	*f = part
	return true
}
