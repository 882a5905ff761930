package bridge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
)

// found names a member of an object, and the variable for its value.
type found struct {
	name  string
	value *[]byte
}

// object reads the members of an object that has been scanned before: those in want into their
// variables, and the others by a call of rest, which may be nil. Of a name that comes twice, the
// last value counts, as in encoding/json. The values are slices of text.
func object(text []byte, rest func(name string, v []byte), want ...found) {
	s := jsonscan.Scanner{Data: text, Depth: maxDepthLimit}
	if !s.Open('{') {
		return
	}
members:
	for first := true; ; first = false {
		quoted, more, ok := s.Key(first)
		if !ok || !more {
			return
		}
		name, _ := s.Name(quoted)
		v, ok := s.Taken()
		if !ok {
			return
		}
		for _, f := range want {
			if f.name == string(name) {
				*f.value = v
				continue members
			}
		}
		if rest != nil {
			rest(string(name), v)
		}
	}
}

// keep returns a function that collects members in out, with copies of their values. When the
// object has too many, it sets over.
func keep(out *performatives.Members, over *bool) func(name string, v []byte) {
	return func(name string, v []byte) {
		if *out == nil {
			*out = make(performatives.Members)
		}
		if len(*out) >= maxUnknown {
			*over = true
			return
		}
		(*out)[name] = bytes.Clone(v)
	}
}

// is reports whether a JSON value begins with that character, which tells its kind.
func is(v []byte, begin byte) bool { return len(v) > 0 && v[0] == begin }

func isNull(v []byte) bool { return is(v, 'n') }

// none reports whether a member is absent or null.
func none(v []byte) bool { return len(v) == 0 || isNull(v) }

func isNumber(v []byte) bool { return len(v) > 0 && (v[0] == '-' || v[0]-'0' <= 9) }

// text returns a JSON string's text, or nothing for any other value.
func text(v []byte) string {
	if !is(v, '"') || len(v) < 2 {
		return ""
	}
	t, ok := jsonscan.Unquote(v)
	if !ok {
		var s string
		_ = json.Unmarshal(v, &s) // half a surrogate pair becomes U+FFFD
		return s
	}
	return string(t)
}

// stringsOf reads the strings of an array. It reports the index of the first element that is
// none, or -1.
func stringsOf(v []byte) (out []string, wrong int) {
	s := jsonscan.Scanner{Data: v, Depth: maxDepthLimit}
	if !s.Open('[') {
		return nil, -1
	}
	out = []string{}
	for first := true; ; first = false {
		elem, more, ok := s.Element(first)
		if !ok || !more {
			return out, -1
		}
		if !is(elem, '"') {
			return out, len(out)
		}
		out = append(out, text(elem))
	}
}

// marshal returns v as JSON, with <, > and & as they are.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}

// builder writes the members of one object.
type builder struct {
	dst   []byte
	empty bool  // the object has no member yet
	err   error // the first member that cannot be written
}

func openObject(dst []byte) builder { return builder{dst: append(dst, '{'), empty: true} }

// name writes the name of the next member.
func (b *builder) name(name string) {
	if !b.empty {
		b.dst = append(b.dst, ',')
	}
	b.empty = false
	b.dst = append(jsonscan.AppendQuoted(b.dst, name), ':')
}

func (b *builder) text(name, value string) {
	b.name(name)
	b.dst = jsonscan.AppendQuoted(b.dst, value)
}

// raw writes a member whose JSON is valid.
func (b *builder) raw(name string, value []byte) {
	b.name(name)
	b.dst = append(b.dst, value...)
}

// extra writes further members, sorted by name, except those in without: another dialect may have
// stored members of the same names, with other meanings. The JSON may be unchecked.
func (b *builder) extra(members performatives.Members, without ...string) {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if v := members[name]; len(v) > 0 && !slices.Contains(without, name) {
			b.unchecked(name, v)
		}
	}
}

// unchecked writes a member whose JSON may be invalid.
func (b *builder) unchecked(name string, v []byte) {
	if !valid(v) && b.err == nil {
		b.err = fmt.Errorf("bridge: %s: want JSON", name)
	}
	b.raw(name, v)
}

// value writes a member as encoding/json does.
func (b *builder) value(name string, v any) {
	out, err := marshal(v)
	if err != nil && b.err == nil {
		b.err = fmt.Errorf("bridge: %s: %w", name, err)
	}
	b.raw(name, out)
}

// content writes a member that may be JSON already.
func (b *builder) content(name string, c performatives.Content) {
	v, err := c.MarshalJSON()
	if err != nil && b.err == nil {
		b.err = fmt.Errorf("bridge: %s: %w", name, err)
	}
	b.unchecked(name, v)
}

func (b *builder) close() ([]byte, error) { return append(b.dst, '}'), b.err }

// valid reports whether v is one JSON value.
func valid(v []byte) bool {
	s := jsonscan.Scanner{Data: v, Depth: maxDepthLimit}
	return s.Value() && s.End()
}
