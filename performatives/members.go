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
	"time"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
)

//go:generate go test -run TestFields -update .

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
	name string
	to   any // the pointer to the field
}

// fieldList has the fields of a payload struct, in their order, and fields without a name behind
// them.
type fieldList [6]field

// named returns the field with that JSON name, or nil.
func (l *fieldList) named(name string) *field {
	for i := range l {
		if l[i].name == name && name != "" {
			return &l[i]
		}
	}
	return nil
}

// text returns a field that is a string in Go and in JSON, or nil.
func (f *field) text() *string {
	switch p := f.to.(type) {
	case *string:
		return p
	case *Code:
		return (*string)(p)
	case *QueryType:
		return (*string)(p)
	case *MatchType:
		return (*string)(p)
	case *TaskStatus:
		return (*string)(p)
	}
	return nil
}

func (f *field) isZero() bool {
	if c, ok := f.to.(*Content); ok {
		return c.IsZero()
	}
	return reflect.ValueOf(f.to).Elem().IsZero()
}

// unmarshalMembers reads the JSON object b into the fields of a struct. It returns
// the members without a field, which is never nil. A member whose field gets Go's zero
// value is returned too, because appendMembers leaves out zero fields. Names match
// exactly, unlike in encoding/json. Of a member that occurs twice, the last counts. With a
// constant status (addenda §7), a missing one is filled in when the payload is written, and another
// one is refused.
func unmarshalMembers(b []byte, fields fieldList, status string) (Members, error) {
	if form := jsonForm(b); form != "an object" {
		return nil, invalid("", "an object", form)
	}
	members := Members{}
	err := eachMember(b, func(name, raw []byte) error {
		dst := fields.named(string(name))
		if status != "" && string(name) == statusMember && raw[0] == '"' && string(raw[1:len(raw)-1]) == status {
			delete(members, statusMember) // it may occur twice
			return nil
		}
		if dst == nil {
			members[string(name)] = bytes.Clone(raw)
			return nil
		}
		reflect.ValueOf(dst.to).Elem().SetZero() // the member may occur twice
		delete(members, dst.name)
		if err := dst.unmarshal(raw); err != nil {
			return misfit(dst.name, err, reflect.TypeOf(dst.to).Elem())
		}
		if dst.isZero() {
			members[dst.name] = bytes.Clone(raw)
		}
		return nil
	})
	raw, has := members[statusMember]
	switch {
	case err != nil && RefusalOf(err) == nil:
		return nil, invalid("", "an object", "malformed JSON")
	case err != nil:
		return nil, err
	case has && status != "":
		return checkStatus(members, raw, status)
	}
	return members, nil
}

// checkStatus checks a status that is not written as the constant one. A null is as a missing one,
// and one in another case stays in members, to be written as it came.
func checkStatus(members Members, raw json.RawMessage, status string) (Members, error) {
	var got string
	switch {
	case string(raw) == "null":
	case json.Unmarshal(raw, &got) != nil || !strings.EqualFold(got, status):
		return nil, invalid(statusMember, strconv.Quote(status), fmt.Sprintf("%.64s", raw))
	case got != status:
		return members, nil
	}
	delete(members, statusMember)
	return members, nil
}

// unmarshal reads one member. null leaves a field unset, as if the member
// were absent, except for a Content, which stores null as its value.
func (f *field) unmarshal(raw []byte) error {
	switch p := f.to.(type) {
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
	if raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		if s := f.text(); s != nil {
			*s = string(raw[1 : len(raw)-1])
			if status, ok := f.to.(*TaskStatus); ok {
				*status = TaskStatus(strings.ToLower(*s))
			}
			return nil
		}
	}
	return jsonscan.Unmarshal(raw, f.to)
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

// appendMembers appends the fields of a struct and then extra, as one JSON object. It leaves out
// zero fields, and members of extra that a field has written. Unless extra has a status, the object
// gets the constant one, which is empty for none.
func appendMembers(out []byte, fields fieldList, status string, extra Members) ([]byte, error) {
	out, err := appendFields(out, &fields)
	if err != nil {
		return nil, err
	}
	if status != "" && len(extra[statusMember]) == 0 {
		if len(extra) == 0 {
			return append(appendText(appendName(out, statusMember), status), '}'), nil
		}
		extra = maps.Clone(extra)
		extra[statusMember] = json.RawMessage(`"` + status + `"`)
	}
	if len(extra) == 0 {
		return append(out, '}'), nil
	}
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		if f := fields.named(name); f != nil && !f.isZero() {
			continue
		}
		if value := extra[name]; len(value) > 0 {
			out = append(appendName(out, name), value...)
		}
	}
	return append(out, '}'), nil
}

// appendFields appends the begin of a JSON object with the fields that are set.
func appendFields(out []byte, fields *fieldList) ([]byte, error) {
	out = append(out, '{')
	for i := range fields {
		f := &fields[i]
		if f.name == "" {
			break
		}
		if f.isZero() {
			continue
		}
		d, isTime := f.to.(*time.Duration)
		if isTime && RetryAfterMillis(*d) == 0 {
			continue
		}
		out = appendName(out, f.name)
		if isTime {
			out = strconv.AppendInt(out, RetryAfterMillis(*d), 10)
			continue
		}
		var err error
		if out, err = f.append(out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// append appends what encoding/json writes for the field.
func (f *field) append(out []byte) ([]byte, error) {
	from := f.to
	if c, ok := f.to.(*Content); ok {
		switch {
		case c.raw == nil:
			from = c.value
		case isCompact(c.raw):
			return append(out, c.raw...), nil
		}
	}
	if text := f.text(); text != nil {
		return appendText(out, *text), nil
	}
	value, err := json.Marshal(from)
	return append(out, value...), err
}

// isCompact reports whether encoding/json writes a value in JSON as it is. It may report false for
// one that it does.
func isCompact(raw []byte) bool {
	text := false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '<', c == '>', c == '&', c >= 0x7f, c <= ' ' && !text:
			return false
		case c == '"':
			text = !text
		case c == '\\':
			i++
		}
	}
	s := jsonscan.Scanner{Data: raw, Depth: maxNesting}
	return s.Value() && s.End()
}

// appendName appends the begin of a member, up to its value.
func appendName(out []byte, name string) []byte {
	if out[len(out)-1] != '{' {
		out = append(out, ',')
	}
	return append(appendText(out, name), ':')
}

// appendText appends what encoding/json writes for a string.
func appendText(out []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(text) // a string always marshals
			return append(out, quoted...)
		}
	}
	out = append(append(out, '"'), text...)
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
