package tool

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/ribosome-agents/ribosome/performatives"
)

// schema is a JSON Schema that is resolved, so that it can check values. It never changes.
type schema struct {
	tree     *jsonschema.Schema
	resolved *jsonschema.Resolved
	text     json.RawMessage
}

// schemaOf derives the schema of a Go type, has adapt change it, and resolves it. This is the
// expensive part of a check and happens once for each tool.
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
	resolved, err := tree.Resolve(nil)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(tree)
	return &schema{tree: tree, resolved: resolved, text: text}, err
}

// check returns a [*performatives.Refusal] for a content that does not fit. Its field is root
// followed by the place of the fault. A Go value is checked in its JSON form, so that callers
// inside and outside of the process get the same text.
func (s *schema) check(root string, c performatives.Content) error {
	value, err := plainValue(c)
	if err != nil {
		return misread(root, err)
	}
	if err := s.resolved.Validate(value); err != nil {
		f := fault{path: root, reason: reasonOf(err), resolved: map[*jsonschema.Schema]*jsonschema.Resolved{}}
		f.find(s.tree, value)
		return misfit(f.path, f.reason)
	}
	return nil
}

// plainValue returns c as encoding/json decodes it into an any. An empty content is an empty
// object. A member that occurs twice is an error.
func plainValue(c performatives.Content) (v any, err error) {
	if c.IsZero() {
		return map[string]any{}, nil
	}
	b, err := c.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return performatives.Decode[any](performatives.RawContent(b))
}

// misread returns the refusal of a value at path that [performatives.Decode] has not decoded.
func misread(path string, err error) error {
	const content = "content" // the first step of the fields in errors of Decode
	if r := performatives.RefusalOf(err); r != nil && r.Field != content {
		return misfit(path+strings.TrimPrefix(r.Field, content), strings.TrimPrefix(r.Text, r.Field+": "))
	}
	return misfit(path, "not a JSON value")
}

// maxReason is the largest length of a reason in characters: it may contain the peer's own value.
const maxReason = 256

// misfit returns the refusal of a value at path.
func misfit(path, reason string) error {
	return &performatives.Refusal{
		Code: performatives.CodeInvalidPayload, Field: path,
		Text: fmt.Sprintf("%s: %s", path, strings.ToValidUTF8(fmt.Sprintf("%.*s", maxReason, reason), "")),
	}
}

// reasonOf returns the text of a jsonschema error without the schema paths in front of it.
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

// fault is the place where a value does not fit its schema, and the reason. The jsonschema
// package names a place in the schema, and any one of several faults. fault names the place in
// the value, and of several faults the first in the order of the member names, so that the same
// value always gets the same text.
type fault struct {
	path, reason string
	resolved     map[*jsonschema.Schema]*jsonschema.Resolved // the parts of the schema that were checked
}

// resolve returns a part of the schema as a schema of its own, or nil for a part that is not
// valid by itself, such as one with a reference to another part.
func (f *fault) resolve(s *jsonschema.Schema) *jsonschema.Resolved {
	if f.resolved[s] == nil {
		f.resolved[s], _ = s.CloneSchemas().Resolve(nil)
	}
	return f.resolved[s]
}

// find descends to the first part of the value that does not fit its part of the schema, and
// reports whether there is one. A fault of a part that cannot be resolved stays with the whole.
func (f *fault) find(s *jsonschema.Schema, value any) bool {
	part := f.resolve(s)
	if part == nil {
		return false
	}
	err := part.Validate(value)
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

// findMember descends into the members of an object, in the order of their names: first those that
// the schema names, then the others. Without a fault in them, it is that of the first missing
// member.
func (f *fault) findMember(s *jsonschema.Schema, object map[string]any) {
	names := slices.Sorted(maps.Keys(object))
	for _, name := range names {
		if member := s.Properties[name]; member != nil && f.within("."+name, member, object[name]) {
			return
		}
	}
	for _, name := range names {
		if s.Properties[name] != nil || s.AdditionalProperties == nil {
			continue
		}
		if f.within("."+name, s.AdditionalProperties, object[name]) {
			if s.AdditionalProperties.Not != nil {
				f.reason = "there is no such member"
			}
			return
		}
	}
	for _, name := range s.Required {
		if _, ok := object[name]; !ok {
			f.path, f.reason = f.path+"."+name, "this member is required"
			return
		}
	}
}

// findItem descends into the items of an array, in their order.
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

// within descends into one part of the value. When the part has a fault, f becomes that fault.
func (f *fault) within(step string, s *jsonschema.Schema, value any) bool {
	part := fault{path: f.path + step, resolved: f.resolved}
	if !part.find(s, value) {
		return false
	}
	*f = part
	return true
}
