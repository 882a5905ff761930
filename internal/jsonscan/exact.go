package jsonscan

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// NameError says which member of a JSON text may be read in two ways, or is not known.
type NameError struct {
	Path   string // of the member, such as a.b[0].Name; at most 256 bytes
	Reason string
}

// Error returns the path and the reason.
func (e *NameError) Error() string { return e.Path + ": " + e.Reason }

// Unmarshal is [json.Unmarshal] with member names that match exactly. encoding/json takes "Path"
// and "path" for one member, merges a member that occurs twice, and reads U+212A as k and U+017F as
// s. A schema, a rule or another program reads other members than the Go code then. Unmarshal
// returns a [*NameError], and leaves *v as it was, for a member that occurs twice, and for a member
// with the name of a field in another letter case. Members without a field are ignored, and may
// occur twice.
//
// The types of v decide which objects are checked: those that are read into a struct, a map or an
// any. Raw JSON is not checked until it is decoded. A struct that unmarshals itself is checked by
// the fields with a JSON name in their tag. Types of package performatives are not: all of them
// match names exactly.
func Unmarshal(text []byte, v any) error { return unmarshal(text, v, false) }

// UnmarshalKnown is [Unmarshal] for files and bodies that decide a right: it also returns a
// [*NameError] for a member without a field in its struct.
func UnmarshalKnown(text []byte, v any) error { return unmarshal(text, v, true) }

func unmarshal(text []byte, v any, known bool) error {
	d := checker{Scanner: Scanner{Data: text, Depth: maxDepth}, known: known}
	ok := d.value(reflect.TypeOf(v)) && d.End()
	if d.misnamed != nil {
		d.misnamed.Path = d.path()
		return d.misnamed
	}
	err := json.Unmarshal(text, v) // it describes malformed text
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil && !ok:
		return errNesting
	case errors.As(err, &kind): // its own path lacks indices, and names of maps
		d = checker{Scanner: Scanner{Data: text, Depth: maxDepth}, until: int(kind.Offset)}
		d.value(reflect.TypeOf(v))
		if slices.Reverse(d.fieldsTo); d.misnamed != nil && !d.itself && strings.Join(d.fieldsTo, ".") == kind.Field {
			kind.Field = d.path()
		}
	}
	return err
}

var errNesting = errors.New("the JSON nests too deep")

// checker checks the names of the members of one text. Its methods return false for malformed text,
// and with misnamed for a name.
type checker struct {
	Scanner
	known    bool // each member needs a field
	misnamed *NameError
	until    int      // if positive, where to stop as if a member were misnamed
	fieldsTo []string // the members of structs among steps
	itself   bool     // the place is in a struct that unmarshals itself, whose errors have other offsets
	steps    []string // to the place of misnamed, the last one first
}

func (d *checker) fail(reason string) bool {
	d.misnamed = &NameError{Reason: reason}
	return false
}

// within adds a step to the place of a misnamed member, and returns false.
func (d *checker) within(step string) bool {
	if d.misnamed != nil {
		d.steps = append(d.steps, step)
	}
	return false
}

// path returns the place of the error, or the begin of a long one.
func (d *checker) path() string {
	slices.Reverse(d.steps)
	path := strings.TrimPrefix(strings.Join(d.steps, ""), ".")
	return path[:min(len(path), 256)]
}

// value checks a value that is decoded into a t.
func (d *checker) value(t reflect.Type) bool {
	s, k := shapeOf(t), t.Kind()
	free := k == reflect.Interface && t.NumMethod() == 0
	switch c := d.Peek(); {
	case k == reflect.Pointer:
		return d.value(t.Elem())
	case c == '{' && (k == reflect.Map && !s.own || free):
		return d.entries(t)
	case c == '{' && (len(s.fields) > 0 || k == reflect.Struct && !s.own):
		return d.fields(s)
	case c == '[' && !s.own && (k == reflect.Slice || k == reflect.Array || free):
		return d.elements(t)
	}
	ok := d.Value()
	if ok && d.until > 0 && d.Pos >= d.until {
		return d.fail("")
	}
	return ok
}

// members calls f for each member of an object.
func (d *checker) members(f func(quoted, name []byte) bool) bool {
	if !d.Open('{') {
		return false
	}
	for first := true; ; first = false {
		quoted, more, ok := d.Key(first)
		if !ok || !more {
			return ok
		}
		name := d.text(quoted)
		if !f(quoted, name) {
			return d.within(step(name))
		}
	}
}

// text returns the text of a string.
func (d *checker) text(quoted []byte) []byte {
	if text, ok := d.Name(quoted); ok && utf8.Valid(text) {
		return text
	}
	var text string // with U+FFFD in place of invalid bytes
	_ = json.Unmarshal(quoted, &text)
	return []byte(text)
}

// fields checks an object that is decoded into a struct.
func (d *checker) fields(s *shape) bool {
	var room [32]bool
	seen := append(room[:0], make([]bool, len(s.fields))...)
	return d.members(func(_, name []byte) bool {
		f, ok := s.fields[string(name)]
		switch {
		case !ok:
			return d.other(name, s) && d.Value()
		case seen[f.number]:
			return d.fail(twice)
		}
		seen[f.number] = true
		if d.value(f.t) {
			return true
		}
		d.fieldsTo, d.itself = append(d.fieldsTo, string(name)), d.itself || s.own
		return false
	})
}

const twice = "the member occurs twice"

// other returns false for a member without a field that may be taken for one with a field, or that
// has to have one.
func (d *checker) other(name []byte, s *shape) bool {
	written := ""
	for field := range s.fields {
		if bytes.EqualFold(name, []byte(field)) {
			written = max(written, field)
		}
	}
	switch {
	case written != "":
		return d.fail("the name of this member is written " + strconv.Quote(written))
	case d.known && !s.own:
		return d.fail("there is no such member")
	}
	return true
}

// entries checks an object that is decoded into a map or an any.
func (d *checker) entries(t reflect.Type) bool {
	key, elem := reflect.TypeFor[string](), t
	if t.Kind() == reflect.Map {
		key, elem = t.Key(), t.Elem()
	}
	seen := make(map[any]bool)
	return d.members(func(quoted, name []byte) bool {
		var k any = string(name)
		if text := shapeOf(key).text; text || key.Kind() != reflect.String {
			if text {
				name = quoted
			}
			to := reflect.New(key)
			if err := json.Unmarshal(name, to.Interface()); err != nil {
				return d.fail("want another name: " + err.Error())
			}
			k = to.Elem().Interface()
		}
		if seen[k] {
			return d.fail(twice)
		}
		seen[k] = true
		return d.value(elem)
	})
}

// elements checks an array.
func (d *checker) elements(t reflect.Type) bool {
	if !d.Open('[') {
		return false
	}
	if t.Kind() != reflect.Interface {
		t = t.Elem()
	}
	for i := 0; ; i++ {
		more, ok := d.next(i == 0)
		if !ok || !more {
			return ok
		}
		if !d.value(t) {
			return d.within("[" + strconv.Itoa(i) + "]")
		}
	}
}

// step returns a name as a step of a path, without most of a long one. Characters that are not
// printed are escaped.
func step(name []byte) string {
	text := string(name[:min(len(name), 64)])
	if quoted := strconv.QuoteToASCII(text); text == "" || quoted != `"`+text+`"` {
		return "." + quoted
	}
	return "." + text
}
