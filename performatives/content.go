package performatives

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
)

// Content is a value inside a payload whose type the specifications leave to
// the application, such as a task's parameters. It holds either a Go value or
// undecoded JSON. Within a process the Go value travels unchanged. JSON from outside
// is decoded by [Decode] where an agent reads it, and is written again unchanged.
//
// The zero Content is empty. A Content is immutable: it owns the value or the JSON it
// was made of, and the caller must not change them afterwards.
type Content struct {
	value any
	raw   json.RawMessage
}

// ContentOf returns the Content of a Go value. A nil value gives an empty Content.
// The value must marshal to JSON if it is to leave the process. In a field that must
// be an object, such as TaskRequest.Parameters, [New] refuses a value that is none or
// that cannot be marshalled.
func ContentOf(v any) Content {
	switch v := v.(type) {
	case Content:
		return v
	case json.RawMessage:
		return RawContent(v)
	case Raw:
		return RawContent(json.RawMessage(v))
	}
	return Content{value: v}
}

// RawContent returns the Content of JSON text, which is not checked here.
func RawContent(raw json.RawMessage) Content {
	if len(raw) == 0 {
		return Content{}
	}
	return Content{raw: raw}
}

// IsZero reports whether c is empty.
func (c Content) IsZero() bool { return c.value == nil && c.raw == nil }

// isNull reports whether c is the JSON null.
func (c Content) isNull() bool { return string(c.raw) == "null" }

// Value returns the Go value of c, or nil when c is JSON or empty.
func (c Content) Value() any { return c.value }

// MarshalJSON writes the value; an empty Content is null. JSON is returned unchanged:
// c owns that result, and the caller must not change it.
func (c Content) MarshalJSON() ([]byte, error) {
	if c.raw != nil {
		return slices.Clip(c.raw), nil
	}
	return json.Marshal(c.value)
}

// UnmarshalJSON keeps a copy of b.
func (c *Content) UnmarshalJSON(b []byte) error {
	*c = Content{raw: bytes.Clone(b)}
	return nil
}

// Equal reports whether both would be the same JSON, numbers compared by their
// text. Two Contents that cannot be marshalled are not equal.
func (c Content) Equal(other Content) bool {
	a, errA := c.MarshalJSON()
	b, errB := other.MarshalJSON()
	return errA == nil && errB == nil && equalJSON(a, b)
}

func equalJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	va, errA := decodeAny(a)
	vb, errB := decodeAny(b)
	return errA == nil && errB == nil && reflect.DeepEqual(va, vb)
}

func decodeAny(b []byte) (v any, err error) {
	if !json.Valid(b) {
		return nil, errors.New("performatives: malformed JSON") // a Decoder would stop after one value
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// Unmarshal is [json.Unmarshal] with member names that match exactly, for JSON that others check by
// the names of its members: a schema, a rule, a mask. encoding/json takes "Path" and "path" for one
// member, and merges a member that occurs twice. Unmarshal refuses a member whose name differs from
// that of a field in its case only, and one that occurs twice; *v keeps its value then. Other
// members without a field are ignored. The error names the member by its path.
//
// It checks the objects that are read into structs, maps and values of type any, at every depth;
// not those in a [json.RawMessage]. A struct that unmarshals itself is checked by the fields that
// have a JSON name in their tag.
func Unmarshal(b []byte, v any) error { return jsonscan.Unmarshal(b, v) }

// Decode returns c as a T. A Go value of type T is returned as it is, without a copy; anything else
// is converted through JSON, as [Unmarshal] does. An empty Content is the zero T. The error is a
// [*Refusal] with [CodeInvalidPayload] when the value does not fit T.
func Decode[T any](c Content) (T, error) {
	if v, ok := c.value.(T); ok {
		return v, nil
	}
	var v T
	if c.IsZero() {
		return v, nil
	}
	b, err := c.MarshalJSON()
	if err != nil {
		return v, fmt.Errorf("performatives: content: %w", err)
	}
	if err := jsonscan.Unmarshal(b, &v); err != nil {
		var zero T
		return zero, misfit("content", err, reflect.TypeFor[T]())
	}
	return v, nil
}

// misfit returns the refusal for an error of encoding/json, with the path of the field.
func misfit(field string, err error, want reflect.Type) *Refusal {
	var typeErr *json.UnmarshalTypeError
	if errors.As(err, &typeErr) {
		if typeErr.Field != "" {
			field += "." + typeErr.Field
		}
		return invalid(field, jsonKind(typeErr.Type), "a JSON "+typeErr.Value)
	}
	var name *jsonscan.NameError
	if errors.As(err, &name) {
		return (&Refusal{Code: CodeInvalidPayload, Field: name.Path, Text: name.Error()}).within(field)
	}
	var refusal *Refusal
	if errors.As(err, &refusal) {
		return refusal.within(field)
	}
	return invalid(field, jsonKind(want), "malformed JSON")
}

// jsonForm names the kind of JSON value that the first character of b begins.
func jsonForm(b []byte) string {
	b = bytes.TrimLeft(b, " \t\r\n")
	if len(b) == 0 {
		return "nothing"
	}
	switch b[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	}
	return "another value"
}

// within returns a copy of r whose field path begins with the enclosing field.
func (r *Refusal) within(field string) *Refusal {
	out := *r
	if r.Field == "" {
		out.Field = field
	} else {
		out.Field = field + "." + r.Field
	}
	out.Text = out.Field + ": " + strings.TrimPrefix(r.Text, r.Field+": ")
	if out.Code == "" {
		out.Code = CodeInvalidPayload // the Validate of an application may leave it out
	}
	return &out
}

// jsonKind names the kind of JSON value that a Go type is written as, in words for a peer.
func jsonKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Pointer:
		return jsonKind(t.Elem())
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number"
	}
	return "another value"
}
