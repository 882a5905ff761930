package jsonscan

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// shape says how encoding/json decodes a type.
type shape struct {
	own    bool // it unmarshals itself
	text   bool // it is read from a string
	fields map[string]field
}

// field is a field of a struct that encoding/json fills.
type field struct {
	number int // of 0 to the number of fields - 1
	depth  int // how many structs it is embedded in
	t      reflect.Type
	tagged bool // its name is from a tag
	clash  bool // it has the name of another one, and both are ignored
}

// exact is the package whose types match names exactly when they unmarshal themselves.
const exact = "github.com/ribosome-agents/ribosome/performatives"

var (
	shapes          sync.Map // reflect.Type → *shape
	unmarshaler     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func shapeOf(t reflect.Type) *shape {
	if s, ok := shapes.Load(t); ok {
		return s.(*shape)
	}
	p := reflect.PointerTo(t)
	s := &shape{own: p.Implements(unmarshaler), text: p.Implements(textUnmarshaler)}
	if t.Kind() == reflect.Struct && !(s.own && t.PkgPath() == exact) {
		s.fields = fieldsOf(t, s.own)
	}
	shapes.Store(t, s)
	return s
}

// fieldsOf returns the fields of a struct by their JSON names. With tagged, it returns those that
// have their name from a tag.
func fieldsOf(t reflect.Type, tagged bool) map[string]field {
	all := make(map[string]field)
	collect(all, []reflect.Type{t})
	fields := make(map[string]field)
	for name, f := range all {
		if !f.clash && (f.tagged || !tagged) {
			f.number = len(fields)
			fields[name] = f
		}
	}
	return fields
}

// collect adds the fields of the last one of the structs, each embedded in the one before it. By
// the rules of encoding/json the outer one of two fields with a name has precedence, and on one
// level the tagged one.
func collect(all map[string]field, structs []reflect.Type) {
	t := structs[len(structs)-1]
	for i := range t.NumField() {
		f := t.Field(i)
		inner := f.Type
		if inner.Kind() == reflect.Pointer && inner.Name() == "" {
			inner = inner.Elem()
		}
		embedded := f.Anonymous && inner.Kind() == reflect.Struct
		tag := f.Tag.Get("json")
		if tag == "-" || !f.IsExported() && !embedded {
			continue
		}
		name, _, _ := strings.Cut(tag, ",")
		add := field{depth: len(structs), t: f.Type, tagged: name != "" && !strings.ContainsFunc(name, notInName)}
		if !add.tagged {
			name = f.Name
		}
		if embedded && !add.tagged {
			if !slices.Contains(structs, inner) {
				collect(all, append(structs, inner))
			}
			continue
		}
		switch old, ok := all[name]; {
		case !ok, add.depth < old.depth, add.depth == old.depth && add.tagged && !old.tagged:
			all[name] = add
		case add.depth == old.depth && add.tagged == old.tagged:
			old.clash = true
			all[name] = old
		}
	}
}

// notInName reports whether encoding/json ignores a tag with that character.
func notInName(c rune) bool {
	return !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c)
}
