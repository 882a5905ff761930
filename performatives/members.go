package performatives

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
)

// Members has the members of a JSON object without a Go field of their own, by name,
// unchanged. They travel with the message, so that the extensions of one peer reach
// another peer that knows them.
//
// A member with an empty value is not written. A payload with a constant status in acl gets it
// when it is written, if its Extra has none.
//
// The Members of a [Message] or a payload must not be changed once it is made.
type Members map[string]json.RawMessage

// Equal reports whether both hold the same members with the same JSON, numbers
// compared by their text. Members without a value do not count.
func (m Members) Equal(other Members) bool {
	return m.within(other) && other.within(m)
}

// within reports whether other has each member of m, with the same JSON.
func (m Members) within(other Members) bool {
	for name, value := range m {
		if len(value) > 0 && !equalJSON(value, other[name]) {
			return false
		}
	}
	return true
}

// field is one field of a payload struct that has a JSON name.
type field struct {
	name  string
	index int
}

var fieldsOf sync.Map // reflect.Type → []field

// payloadFields lists the fields of struct type t that have a JSON name.
func payloadFields(t reflect.Type) []field {
	if fs, ok := fieldsOf.Load(t); ok {
		return fs.([]field)
	}
	var fs []field
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name != "" && name != "-" {
			fs = append(fs, field{name, i})
		}
	}
	fieldsOf.Store(t, fs)
	return fs
}

// unmarshalMembers reads the JSON object b into the struct that v points to. It returns
// the members without a field, which is never nil. A member whose field gets Go's zero
// value is returned too, because marshalMembers leaves out zero fields. Names match
// exactly, unlike in encoding/json. Of a member that occurs twice, the last counts.
func unmarshalMembers(b []byte, v any) (Members, error) {
	if form := jsonForm(b); form != "an object" {
		return nil, invalid("", "an object", form)
	}
	members := Members{}
	s := reflect.ValueOf(v).Elem()
	fields := payloadFields(s.Type())
	err := eachMember(b, func(name string, raw []byte) error {
		dst := fieldOf(s, fields, name)
		if !dst.IsValid() {
			members[name] = bytes.Clone(raw)
			return nil
		}
		dst.SetZero() // the member may occur twice
		delete(members, name)
		if err := unmarshalMember(raw, dst); err != nil {
			return misfit(name, err, dst.Type())
		}
		if dst.IsZero() {
			members[name] = bytes.Clone(raw)
		}
		return nil
	})
	switch {
	case err == nil:
		return members, nil
	case RefusalOf(err) == nil:
		return nil, invalid("", "an object", "malformed JSON")
	}
	return nil, err
}

// fieldOf returns the field of s with that JSON name, or the invalid Value.
func fieldOf(s reflect.Value, fields []field, name string) reflect.Value {
	for _, f := range fields {
		if f.name == name {
			return s.Field(f.index)
		}
	}
	return reflect.Value{}
}

// unmarshalMember reads one member. null leaves a field unset, as if the member
// were absent, except for a Content, which stores null as its value.
func unmarshalMember(raw []byte, dst reflect.Value) error {
	switch p := dst.Addr().Interface().(type) {
	case *Content:
		return p.UnmarshalJSON(raw)
	case *[]string:
		return unmarshalStrings(raw, p)
	case *time.Duration:
		*p = ParseRetryAfter(raw)
		return nil
	}
	if string(raw) == "null" {
		return nil
	}
	return jsonscan.Unmarshal(raw, dst.Addr().Interface())
}

// unmarshalStrings reads an array of strings. It refuses a null in it: encoding/json
// would read null as "", and the null would be lost.
func unmarshalStrings(raw []byte, dst *[]string) error {
	var elems []*string
	if err := json.Unmarshal(raw, &elems); err != nil || elems == nil {
		return err
	}
	*dst = make([]string, len(elems))
	for i, s := range elems {
		if s == nil {
			return invalid("", "an array of strings", "a null in it")
		}
		(*dst)[i] = *s
	}
	return nil
}

// statusMember is the member that has a constant value for some acts, and therefore
// no field.
const statusMember = "status"

// unmarshalStatus is [unmarshalMembers] for a payload with a constant status (addenda §7): a
// missing one is filled in when the payload is written, and another one is refused.
func unmarshalStatus(b []byte, v any, status string) (Members, error) {
	members, err := unmarshalMembers(b, v)
	if err != nil {
		return nil, err
	}
	raw, ok := members[statusMember]
	var got string
	switch {
	case !ok || string(raw) == "null":
	case json.Unmarshal(raw, &got) != nil || !strings.EqualFold(got, status):
		return nil, invalid(statusMember, strconv.Quote(status), fmt.Sprintf("%.64s", raw))
	case got != status:
		return members, nil // it is written as it came
	}
	delete(members, statusMember)
	return members, nil
}

// marshalStatus is [marshalMembers] with a constant status, unless extra has a status.
func marshalStatus(v any, status string, extra Members) ([]byte, error) {
	if len(extra[statusMember]) > 0 {
		return marshalMembers(v, extra)
	}
	with := make(Members, len(extra)+1)
	maps.Copy(with, extra)
	with[statusMember] = json.RawMessage(`"` + status + `"`)
	return marshalMembers(v, with)
}

// marshalMembers writes the struct that v points to and then extra, as one JSON
// object. It leaves out zero fields, and members of extra that a field has written.
func marshalMembers(v any, extra Members) ([]byte, error) {
	s := reflect.ValueOf(v).Elem()
	fields := payloadFields(s.Type())
	out := append(make([]byte, 0, 256), '{')
	for _, f := range fields {
		if s.Field(f.index).IsZero() {
			continue
		}
		v := s.Field(f.index).Addr().Interface()
		if d, ok := v.(*time.Duration); ok {
			if v = RetryAfterMillis(*d); v == int64(0) {
				continue
			}
		}
		value, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		out = appendMember(out, f.name, value)
	}
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		if dst := fieldOf(s, fields, name); dst.IsValid() && !dst.IsZero() {
			continue
		}
		if value := extra[name]; len(value) > 0 {
			out = appendMember(out, name, value)
		}
	}
	return append(out, '}'), nil
}

func appendMember(out []byte, name string, value []byte) []byte {
	if len(out) > 1 {
		out = append(out, ',')
	}
	out = appendName(out, name)
	out = append(out, ':')
	return append(out, value...)
}

func appendName(out []byte, name string) []byte {
	for i := range len(name) {
		if c := name[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(name) // a string always marshals
			return append(out, quoted...)
		}
	}
	out = append(out, '"')
	out = append(out, name...)
	return append(out, '"')
}

// clone returns a copy that shares nothing with m.
func (m Members) clone() Members {
	out := maps.Clone(m)
	for name, value := range out {
		out[name] = slices.Clone(value)
	}
	return out
}
