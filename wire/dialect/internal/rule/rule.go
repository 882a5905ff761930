// Package rule checks the members of a payload by a table.
package rule

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/isotime"
	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// Member is a condition on a member of an object. null stands for an absent member.
type Member struct {
	Name     string
	Kind     *Kind
	Required bool
	Members  []Member // of an object, or of each object of an array
}

// Required is the rule of a member that must be there. Members are the rules of its members, if it
// is an object, or of those of its elements.
func Required(name string, k *Kind, members ...Member) Member { return Member{name, k, true, members} }

// Optional is the rule of a member that may be absent or null.
func Optional(name string, k *Kind, members ...Member) Member { return Member{name, k, false, members} }

// Kind is a kind of values.
type Kind struct {
	Want string              // such as "a string"
	Fits func(v []byte) bool // whether a value, which is there and is not null, is of the kind
	// Shown says that the refusal of a short value shows it, because its type alone does not tell.
	Shown bool
}

// The kinds of values.
var (
	Text    = &Kind{Want: "a string", Fits: begins('"')}
	Name    = &Kind{Want: "a non-empty string", Fits: func(v []byte) bool { return v[0] == '"' && len(v) > 2 }, Shown: true}
	Object  = &Kind{Want: "an object", Fits: begins('{')}
	Array   = &Kind{Want: "an array", Fits: begins('[')}
	Texts   = ListOf("an array of strings", begins('"'))
	Objects = ListOf("an array of objects", begins('{'))
	Any     = &Kind{Want: "a value", Fits: func([]byte) bool { return true }}
	Number  = &Kind{Want: "a number", Fits: jsonscan.IsNumber}
	Bool    = &Kind{Want: "true or false", Fits: jsonscan.IsBool}
	Time    = &Kind{Want: "an ISO 8601 time", Fits: isTime, Shown: true}
	Count   = &Kind{Want: "a whole number from 0", Fits: isCount, Shown: true}
)

func begins(c byte) func([]byte) bool { return func(v []byte) bool { return v[0] == c } }

func isTime(v []byte) bool {
	_, ok := isotime.Parse(jsonscan.TextBytes(v))
	return ok
}

func isCount(v []byte) bool {
	_, fraction, _ := bytes.Cut(v, []byte("."))
	return jsonscan.IsNumber(v) && v[0] != '-' && !bytes.ContainsAny(v, "eE") && len(bytes.Trim(fraction, "0")) == 0
}

// Named is the kind of a non-empty string that names something.
func Named(want string) *Kind { return &Kind{Want: want, Fits: Name.Fits, Shown: true} }

// OneOf is the kind of a string that is one of those words, whatever its case.
func OneOf(want string, words ...string) *Kind {
	return &Kind{Want: want, Shown: true, Fits: func(v []byte) bool {
		text := jsonscan.Text(v)
		return slices.ContainsFunc(words, func(word string) bool { return strings.EqualFold(word, text) })
	}}
}

// Between is the kind of a number in a range.
func Between(want string, least, most float64) *Kind {
	return &Kind{Want: want, Shown: true, Fits: func(v []byte) bool {
		n, err := strconv.ParseFloat(string(v), 64)
		return err == nil && n >= least && n <= most
	}}
}

// ListOf is the kind of an array whose elements all fit.
func ListOf(want string, fits func(element []byte) bool) *Kind {
	return &Kind{Want: want, Shown: true, Fits: func(v []byte) bool {
		for e := range jsonscan.Elements(v) {
			if !fits(e) {
				return false
			}
		}
		return v[0] == '['
	}}
}

// Check returns the refusal of an object that breaks one of the rules, or nil. Path is the name of
// the object. With show, the refusal of a short value shows it whatever its kind is.
func Check(rules []Member, path string, object []byte, show bool) *performatives.Refusal {
	return checkObject(rules, object, show).at(path)
}

// Read appends the values of the members of an object to room, in the order of their rules, and
// calls rest with each other member. The refusal is that of [Check].
func Read(room [][]byte, rules []Member, path string, object []byte, rest func(name string, v []byte)) ([][]byte, *performatives.Refusal) {
	values := valuesOf(room, rules, object, rest)
	return values, check(rules, values, false).at(path)
}

// valuesOf appends the values of the members of an object to values, which is empty.
func valuesOf(values [][]byte, rules []Member, object []byte, rest func(name string, v []byte)) [][]byte {
	values = append(values, make([][]byte, len(rules))...)
members:
	for name, v := range jsonscan.Members(object) {
		for i := range rules {
			if rules[i].Name == string(name) {
				values[i] = v
				continue members
			}
		}
		if rest != nil {
			rest(string(name), v)
		}
	}
	return values
}

// fault is a value that breaks a rule.
type fault struct {
	path      string // from the object
	want, got string
}

// at returns the refusal of the object at a path, or nil.
func (f *fault) at(path string) *performatives.Refusal {
	if f == nil {
		return nil
	}
	return exchange.Wrong(path+f.path, "%s, got %s", f.want, f.got)
}

func checkObject(rules []Member, object []byte, show bool) *fault {
	var room [16][]byte
	return check(rules, valuesOf(room[:0], rules, object, nil), show)
}

func check(rules []Member, values [][]byte, show bool) *fault {
	for i := range rules {
		if f := rules[i].check(values[i], show); f != nil {
			f.path = "." + rules[i].Name + f.path
			return f
		}
	}
	return nil
}

func (r *Member) check(v []byte, show bool) *fault {
	switch {
	case jsonscan.IsNone(v):
		if r.Required {
			return &fault{want: r.Kind.Want, got: jsonscan.KindOf(v)}
		}
		return nil
	case !r.Kind.Fits(v):
		if (show || r.Kind.Shown) && len(v) <= 64 {
			return &fault{want: r.Kind.Want, got: string(v)}
		}
		return &fault{want: r.Kind.Want, got: jsonscan.KindOf(v)}
	case r.Members == nil:
		return nil
	case v[0] == '{':
		return checkObject(r.Members, v, show)
	}
	i := 0
	for e := range jsonscan.Elements(v) {
		if f := checkObject(r.Members, e, show); f != nil {
			f.path = fmt.Sprintf("[%d]", i) + f.path
			return f
		}
		i++
	}
	return nil
}
