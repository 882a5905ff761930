package jsonscan

import (
	"bytes"
	"cmp"
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
// returns a [*NameError] for a member that occurs twice, and for a member with the name of a field
// in another letter case. *v may be changed then, as after other errors. Members without a field
// are ignored, and may occur twice.
//
// The types of v decide which objects are checked: those that are read into a struct, a map or an
// any. Maps are replaced, not extended. Raw JSON is not checked until it is decoded. A struct that
// unmarshals itself is checked by the fields with a JSON name in their tag. Types of package
// performatives are not: all of them match names exactly.
func Unmarshal(text []byte, v any) error { return unmarshal(text, v, false) }

// UnmarshalKnown is [Unmarshal] for files and bodies that decide a right: it also returns a
// [*NameError] for a member without a field in its struct.
func UnmarshalKnown(text []byte, v any) error { return unmarshal(text, v, true) }

func unmarshal(text []byte, v any, known bool) error {
	d := decoder{Scanner: Scanner{Data: text, Depth: maxDepth}, known: known}
	to := reflect.ValueOf(v)
	if to.Kind() == reflect.Pointer && !to.IsNil() && d.value(to.Elem()) && d.End() {
		return nil
	}
	var name *NameError
	var kind *json.UnmarshalTypeError
	switch {
	case d.err == nil:
		return cmp.Or(json.Unmarshal(text, v), errNesting) // it describes malformed text
	case errors.As(d.err, &name):
		name.Path = d.path()
	case errors.As(d.err, &kind) && kind.Field == "":
		kind.Field = d.path()
	}
	return d.err
}

var errNesting = errors.New("the JSON nests too deep")

// decoder decodes one text. Its methods return false for malformed text, and with err for an error.
type decoder struct {
	Scanner
	known bool // each member needs a field
	check bool // check the names only
	err   error
	steps []string // to the place of err, the last one first
}

// fail records an error. It returns true for nil.
func (d *decoder) fail(err error) bool {
	d.err = err
	return err == nil
}

func (d *decoder) misnamed(reason string) bool { return d.fail(&NameError{Reason: reason}) }

// within adds a step to the place of an error, and returns false.
func (d *decoder) within(step string) bool {
	if d.err != nil {
		d.steps = append(d.steps, step)
	}
	return false
}

// path returns the place of the error, or the begin of a long one.
func (d *decoder) path() string {
	slices.Reverse(d.steps)
	path := strings.TrimPrefix(strings.Join(d.steps, ""), ".")
	return path[:min(len(path), 256)]
}

func (d *decoder) value(v reflect.Value) bool {
	s, c := shapeOf(v.Type()), d.Peek()
	switch k := v.Kind(); {
	case s.own:
		return d.own(v, s)
	case c == 'n' || s.text:
	case k == reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		return d.value(v.Elem())
	case k == reflect.Struct && c == '{':
		return d.fields(v, s)
	case k == reflect.Map && c == '{':
		return d.entries(v)
	case (k == reflect.Slice || k == reflect.Array) && c == '[':
		return d.elements(v)
	case k == reflect.Interface && v.NumMethod() == 0 && v.IsNil():
		x, ok := d.anything()
		if x != nil {
			v.Set(reflect.ValueOf(x))
		}
		return ok
	}
	return d.leaf(v, s)
}

// leaf decodes a value without names, mostly by encoding/json.
func (d *decoder) leaf(v reflect.Value, s *shape) bool {
	raw, ok := d.Taken()
	if !ok || d.check {
		return ok
	}
	if text, ok := d.text(raw); ok && v.Kind() == reflect.String && !s.text {
		v.SetString(string(text))
		return true
	}
	if v.CanInt() && !s.text {
		if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil && !v.OverflowInt(n) {
			v.SetInt(n)
			return true
		}
	}
	return d.fail(json.Unmarshal(raw, v.Addr().Interface()))
}

// text returns the text of the string that was scanned last, and false for any other value.
func (d *decoder) text(raw []byte) ([]byte, bool) {
	if raw[0] != '"' {
		return nil, false
	}
	if text, ok := d.Name(raw); ok && utf8.Valid(text) {
		return text, true
	}
	var text string // with U+FFFD in place of invalid bytes
	err := json.Unmarshal(raw, &text)
	return []byte(text), err == nil
}

// anything decodes a value into what encoding/json makes of it in an any.
func (d *decoder) anything() (x any, ok bool) {
	switch d.Peek() {
	case '{':
		m := make(map[string]any)
		return m, d.members(func(_, name []byte) bool {
			if _, ok := m[string(name)]; ok {
				return d.misnamed(twice)
			}
			x, ok := d.anything()
			m[string(name)] = x
			return ok
		})
	case '[':
		var list []any
		ok = d.elements(reflect.ValueOf(&list).Elem())
		return list, ok
	}
	raw, ok := d.Taken()
	if !ok {
		return nil, false
	}
	if text, ok := d.text(raw); ok {
		return string(text), true
	}
	if n, err := strconv.ParseFloat(string(raw), 64); err == nil {
		return n, true
	}
	var other any
	ok = d.fail(json.Unmarshal(raw, &other))
	return other, ok
}

// own has a value unmarshal itself.
func (d *decoder) own(v reflect.Value, s *shape) bool {
	c := decoder{Scanner: d.Scanner, check: true}
	raw, ok := d.Taken()
	switch {
	case !ok:
		return false
	case raw[0] == '{' && len(s.fields) > 0 && !c.fields(v, s):
		d.err, d.steps = c.err, c.steps
		return false
	case d.check:
		return true
	}
	return d.fail(v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(raw))
}

// members calls f for each member of an object.
func (d *decoder) members(f func(quoted, name []byte) bool) bool {
	if !d.Open('{') {
		return false
	}
	for first := true; ; first = false {
		quoted, more, ok := d.Key(first)
		if !ok || !more {
			return ok
		}
		name, _ := d.text(quoted)
		if !f(quoted, name) {
			return d.within(step(name))
		}
	}
}

// fields decodes an object into a struct.
func (d *decoder) fields(v reflect.Value, s *shape) bool {
	var room [32]bool
	seen := append(room[:0], make([]bool, len(s.fields))...)
	return d.members(func(quoted, name []byte) bool {
		f, ok := s.fields[string(name)]
		switch {
		case !ok:
			return d.other(name, s) && d.Value()
		case seen[f.number]:
			return d.misnamed(twice)
		}
		seen[f.number] = true
		if !f.odd && !d.check {
			return d.value(v.FieldByIndex(f.index))
		}
		c := decoder{Scanner: d.Scanner, known: d.known, check: true}
		if !c.value(reflect.New(f.t).Elem()) {
			d.err, d.steps = c.err, c.steps
			return false
		}
		raw, ok := d.Taken()
		return ok && (d.check || d.fail(json.Unmarshal(slices.Concat([]byte("{"), quoted, []byte(":"), raw, []byte("}")), v.Addr().Interface())))
	})
}

const twice = "the member occurs twice"

// other returns false for a member without a field that may be taken for one with a field, or that
// has to have one.
func (d *decoder) other(name []byte, s *shape) bool {
	written := ""
	for field := range s.fields {
		if bytes.EqualFold(name, []byte(field)) {
			written = max(written, field)
		}
	}
	switch {
	case written != "":
		return d.misnamed("the name of this member is written " + strconv.Quote(written))
	case d.known:
		return d.misnamed("there is no such member")
	}
	return true
}

// entries decodes an object into a map.
func (d *decoder) entries(v reflect.Value) bool {
	t := v.Type()
	v.Set(reflect.MakeMap(t))
	return d.members(func(quoted, name []byte) bool {
		key, elem := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
		if text := shapeOf(t.Key()).text; key.Kind() == reflect.String && !text {
			key.SetString(string(name))
		} else {
			if text {
				name = quoted
			}
			if err := json.Unmarshal(name, key.Addr().Interface()); err != nil {
				return d.misnamed("want another name: " + err.Error())
			}
		}
		if v.MapIndex(key).IsValid() {
			return d.misnamed(twice)
		}
		ok := d.value(elem)
		v.SetMapIndex(key, elem)
		return ok
	})
}

// elements decodes an array.
func (d *decoder) elements(v reflect.Value) bool {
	if !d.Open('[') {
		return false
	}
	list := v
	if v.Kind() == reflect.Array {
		list = reflect.New(reflect.SliceOf(v.Type().Elem())).Elem()
	}
	list.Set(reflect.MakeSlice(list.Type(), 0, 0))
	for i := 0; ; i++ {
		more, ok := d.next(i == 0)
		if !ok || !more {
			if v.Kind() == reflect.Array {
				v.SetZero()
				reflect.Copy(v, list)
			}
			return ok
		}
		list.Grow(1)
		list.SetLen(i + 1)
		if !d.value(list.Index(i)) {
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
