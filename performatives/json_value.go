package performatives

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"time"
)

// requireObject checks the content of a field that the specifications define as an object: c is
// empty, the JSON null, or a value written as a JSON object. Of JSON text only the ends are looked
// at, as for [Raw].
//
// The check runs for every message, so that it marshals nothing but a value with a
// MarshalJSON or MarshalText from outside of this package.
func requireObject(field string, c Content) error {
	if c.IsZero() || c.isNull() {
		return nil
	}
	if c.raw == nil {
		return requireObjectValue(field, c.value)
	}
	if got := notAnObject(c.raw); got != "" {
		return invalid(field, "an object", got)
	}
	return nil
}

// requireObjectValue is [requireObject] for a Go value.
func requireObjectValue(field string, value any) error {
	v := reflect.ValueOf(value)
	for v.Kind() == reflect.Pointer && !v.IsNil() && !marshalsItself(v.Type()) {
		v = v.Elem()
	}
	switch {
	case v.Kind() == reflect.Pointer && v.IsNil():
		return nil // it is written as null
	case marshalsItself(v.Type()) && extraOf(v.Type()) < 0:
		return requireMarshalled(field, value)
	case v.Kind() != reflect.Struct && v.Kind() != reflect.Map:
		return invalid(field, "an object", fmt.Sprintf("the Go type %T, which is none in JSON", value))
	}
	c := jsonChecker{}
	switch problem := c.value(v, 0); {
	case problem != "":
		return invalid(field, "a value that can be written as JSON", problem)
	case c.marshal:
		return requireMarshalled(field, value)
	}
	return nil
}

// requireMarshalled is [requireObject] for a Go value whose JSON only its own methods
// know.
func requireMarshalled(field string, value any) error {
	b, err := json.Marshal(value)
	if err != nil {
		return invalid(field, "a value that can be written as JSON", fmt.Sprintf("a %T that cannot", value))
	}
	if form := jsonForm(b); form != "an object" && form != "null" {
		return invalid(field, "an object", form)
	}
	return nil
}

// maxJSONDepth is how deep values may nest. encoding/json looks for cycles from there on.
const maxJSONDepth = 1000

// jsonChecker looks for the parts of a Go value that encoding/json cannot write. The
// common kinds are checked without an allocation.
type jsonChecker struct {
	marshal bool // a part marshals itself, so that only its methods know
}

// value returns why v cannot be written as JSON, or nothing.
func (c *jsonChecker) value(v reflect.Value, depth int) string {
	if !v.IsValid() || alwaysWritable(v.Type()) {
		return ""
	}
	switch {
	case depth > maxJSONDepth:
		return "a value that nests too deep, or contains itself"
	case v.Type() == rawMessageType:
		return rawProblem(v.Bytes())
	case v.Type() == numberType:
		return numberProblem(v.String())
	case v.Type() == contentType:
		return c.content(v, depth)
	case v.Type() == performativeType:
		return actProblem(Performative(v.Uint()))
	case extraOf(v.Type()) >= 0:
		return c.extended(v, depth)
	case v.Kind() == reflect.Pointer && v.IsNil():
		return ""
	case marshalsItself(v.Type()):
		c.marshal = true
		return ""
	}
	switch v.Kind() { // the default refuses the kinds that JSON lacks
	case reflect.Float32, reflect.Float64:
		if f := v.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Sprintf("the number %v", f)
		}
		return ""
	case reflect.Interface, reflect.Pointer:
		return c.value(v.Elem(), depth+1)
	case reflect.Struct:
		return c.fields(v, depth)
	case reflect.Map:
		return c.entries(v, depth)
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if problem := c.value(v.Index(i), depth+1); problem != "" {
				return problem
			}
		}
		return ""
	}
	return "a value of the Go type " + v.Type().String()
}

// content checks a [Content], which is written as the value or the JSON in it.
func (c *jsonChecker) content(v reflect.Value, depth int) string {
	value, raw := v.Field(0), v.Field(1)
	if !raw.IsNil() {
		return rawProblem(raw.Bytes())
	}
	return c.value(value, depth+1)
}

// extended checks a struct that [appendMembers] writes: its fields and the members of its
// Extra.
func (c *jsonChecker) extended(v reflect.Value, depth int) string {
	if extra := v.Field(extraOf(v.Type())); extra.Len() > 0 {
		for members := extra.MapRange(); members.Next(); {
			raw := members.Value().Bytes()
			if problem := rawProblem(raw); problem != "" && len(raw) > 0 { // an empty one is not written
				return problem
			}
		}
	}
	return c.fields(v, depth)
}

// actProblem returns why a performative cannot be written, or nothing.
func actProblem(p Performative) string {
	if p.Valid() {
		return ""
	}
	return "a performative that is no act"
}

// rawProblem returns why a json.RawMessage cannot be written, or nothing.
func rawProblem(raw []byte) string {
	if raw == nil || json.Valid(raw) {
		return ""
	}
	return "a json.RawMessage that is no JSON"
}

// numberProblem returns why a json.Number cannot be written, or nothing.
func numberProblem(number string) string {
	if number == "" { // it is written as 0
		return ""
	}
	if c := number[0]; (c == '-' || '0' <= c && c <= '9') && json.Valid([]byte(number)) {
		return ""
	}
	return "a json.Number that is no number"
}

// fields checks the fields of a struct that encoding/json writes.
func (c *jsonChecker) fields(v reflect.Value, depth int) string {
	for _, f := range traitsOf(v.Type()).doubtful {
		if f.omitZero && v.Field(f.index).IsZero() {
			continue
		}
		if problem := c.value(v.Field(f.index), depth+1); problem != "" {
			return problem
		}
	}
	return ""
}

// entries checks a map. The kinds of map that need no reflection are checked without it,
// since reflection allocates for each entry.
func (c *jsonChecker) entries(v reflect.Value, depth int) string {
	if !isMapKey(v.Type().Key()) {
		return "a map with keys of the Go type " + v.Type().Key().String()
	}
	if v.Type().Key().Kind() != reflect.String && marshalsItself(v.Type().Key()) {
		c.marshal = true
	}
	if v.CanInterface() {
		if m, ok := v.Interface().(map[string]any); ok {
			return c.anyMap(m, depth)
		}
	}
	for entries := v.MapRange(); entries.Next(); {
		if problem := c.value(entries.Value(), depth+1); problem != "" {
			return problem
		}
	}
	return ""
}

func (c *jsonChecker) anyMap(m map[string]any, depth int) string {
	for _, value := range m {
		if problem := c.value(reflect.ValueOf(value), depth+1); problem != "" {
			return problem
		}
	}
	return ""
}

// isWritten reports whether encoding/json writes a field of a struct.
func isWritten(f reflect.StructField) bool {
	if f.Tag.Get("json") == "-" {
		return false
	}
	if f.Anonymous {
		t := f.Type
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		return f.IsExported() || t.Kind() == reflect.Struct
	}
	return f.IsExported()
}

// isMapKey reports whether encoding/json writes maps with keys of type t.
func isMapKey(t reflect.Type) bool {
	switch t.Kind() { // encoding/json has no form for keys of other kinds
	case reflect.String, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return true
	}
	return t.Implements(textMarshalerType)
}

var (
	jsonMarshalerType = reflect.TypeFor[json.Marshaler]()
	textMarshalerType = reflect.TypeFor[encoding.TextMarshaler]()
	timeType          = reflect.TypeFor[time.Time]()
	rawMessageType    = reflect.TypeFor[json.RawMessage]()
	numberType        = reflect.TypeFor[json.Number]()
	contentType       = reflect.TypeFor[Content]()
	performativeType  = reflect.TypeFor[Performative]()
	membersType       = reflect.TypeFor[Members]()
)

// traits has the properties of a type that the check needs.
type traits struct {
	writable bool            // every value of it can be written
	itself   bool            // it has a MarshalJSON or MarshalText
	extra    int             // index of the field Extra of a struct that [appendMembers] writes, else negative
	doubtful []doubtfulField // of a struct: the fields that are written and may not be writable
}

// doubtfulField is a field of a struct whose value must be checked.
type doubtfulField struct {
	index    int
	omitZero bool // encoding/json leaves out its zero value
}

var traitsOfTypes sync.Map // reflect.Type → traits

// alwaysWritable reports whether encoding/json can write every value of type t.
func alwaysWritable(t reflect.Type) bool { return traitsOf(t).writable }

// marshalsItself reports whether values of type t have a MarshalJSON or MarshalText.
func marshalsItself(t reflect.Type) bool { return traitsOf(t).itself }

// extraOf is [findExtra], found once for each type.
func extraOf(t reflect.Type) int { return traitsOf(t).extra }

func traitsOf(t reflect.Type) traits {
	if known, ok := traitsOfTypes.Load(t); ok {
		return known.(traits)
	}
	found := traits{writable: isWritable(t, 0), itself: hasMarshaler(t), extra: findExtra(t)}
	if t.Kind() == reflect.Struct && !found.writable {
		found.doubtful = doubtfulFields(t)
	}
	traitsOfTypes.Store(t, found)
	return found
}

func doubtfulFields(t reflect.Type) (fields []doubtfulField) {
	for i := range t.NumField() {
		if f := t.Field(i); isWritten(f) && !isWritable(f.Type, 1) {
			fields = append(fields, doubtfulField{i, findExtra(t) >= 0 || strings.Contains(f.Tag.Get("json"), ",omitzero")})
		}
	}
	return fields
}

// findExtra returns the index of the field Extra of a struct of this package, whose values
// [appendMembers] writes, and a negative number for any other type.
func findExtra(t reflect.Type) int {
	if t.Kind() == reflect.Struct && t.PkgPath() == membersType.PkgPath() {
		for i := range t.NumField() {
			if t.Field(i).Type == membersType && t.Field(i).Name == "Extra" {
				return i
			}
		}
	}
	return -1
}

// hasMarshaler reports whether t or a pointer to it has a MarshalJSON or MarshalText:
// encoding/json uses the method of the pointer where it has the address of the value.
func hasMarshaler(t reflect.Type) bool {
	pointer := reflect.PointerTo(t)
	return t.Implements(jsonMarshalerType) || t.Implements(textMarshalerType) ||
		pointer.Implements(jsonMarshalerType) || pointer.Implements(textMarshalerType)
}

// maxTypeDepth bounds how far a type is looked into, so that a recursive type ends: its
// values are checked one by one.
const maxTypeDepth = 16

// isWritable reports whether encoding/json can write every value of type t.
func isWritable(t reflect.Type, depth int) bool {
	if depth > maxTypeDepth || t == numberType || t != timeType && hasMarshaler(t) {
		return false
	}
	switch t.Kind() { // values of other kinds are checked one by one, or cannot be written
	case reflect.Bool, reflect.String, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return true
	case reflect.Slice, reflect.Array, reflect.Pointer:
		return isWritable(t.Elem(), depth+1)
	case reflect.Map:
		return t.Key().Kind() == reflect.String && isWritable(t.Elem(), depth+1)
	case reflect.Struct:
		return t == timeType || areWritable(t, depth)
	}
	return false
}

// areWritable reports whether encoding/json can write every value of the fields of t.
func areWritable(t reflect.Type, depth int) bool {
	for i := range t.NumField() {
		if f := t.Field(i); isWritten(f) && !isWritable(f.Type, depth+1) {
			return false
		}
	}
	return true
}
