package jsonscan_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
)

type inner struct {
	Path string `json:"path"`
	Kind string `json:"kind"`
}

type Base struct {
	ID     string `json:"id"`
	Hidden string // hidden by that of outer
}

type other struct{ Twice string }

type another struct{ Twice string }

// itself unmarshals itself in the usual way, in which encoding/json folds names.
type itself struct {
	Mode string `json:"mode"`
}

func (i *itself) UnmarshalJSON(text []byte) error {
	type plain itself
	return json.Unmarshal(text, (*plain)(i))
}

// unmarshaler is itself with a field whose JSON name is unknown.
type unmarshaler struct{ Free string }

func (l *unmarshaler) UnmarshalJSON(text []byte) error {
	type plain unmarshaler
	return json.Unmarshal(text, (*plain)(l))
}

// bag is a map that unmarshals itself.
type bag map[string]int

func (b *bag) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, (*map[string]int)(b)) }

// late has a member of an embedded struct before that struct.
type late struct {
	ID int `json:"id"`
	Base
}

type outer struct {
	Base
	*other
	another
	Name    string `json:"name"`
	NAME    string
	Hidden  int
	Ignored string           `json:"-"`
	Dash    string           `json:"-,"`   //nolint:staticcheck // the name is "-"
	Odd     string           `json:"o\"d"` //nolint:staticcheck // encoding/json ignores the tag
	One     *inner           `json:"one"`
	List    []inner          `json:"list"`
	Map     map[string]inner `json:"map"`
	Nums    map[int]inner    `json:"nums"`
	Any     any              `json:"any"`
	Raw     json.RawMessage  `json:"raw"`
	Own     itself           `json:"own"`
	Owns    []itself         `json:"owns"`
	Bag     bag              `json:"bag"`
	Late    late             `json:"late"`
	Time    time.Time        `json:"time,omitzero"`
	Loose   unmarshaler      `json:"loose"`
	secret  string
}

func TestUnmarshal(t *testing.T) {
	for text, want := range map[string]string{
		`{"name":"a","NAME":"b","id":"c","Hidden":1,"one":{"path":"p"},"list":[{"path":"q"}],"map":{"x":{"path":"r"},"X":{"path":"s"}}}`:                                                    "",
		`{"any":{"path":1,"Path":2},"nums":{"-1":{},"0":{},"10":{}},"raw":{"a":1,"a":2,"Path":1},"own":{"mode":"x"},"loose":{"free":"y"},"other":1,"-":"d","Odd":"e","SECRET":1,"Twice":1}`: "",
		`{"Name":"a"}`:                         `Name: the name of this member is written "name"`, // and not NAME
		`{"Id":"a"}`:                           `Id: the name of this member is written "id"`,
		`{"hidden":1}`:                         `hidden: the name of this member is written "Hidden"`,
		`{"id":"a","id":"b"}`:                  `id: the member occurs twice`,
		`{"id":"a","\u0069d":"b"}`:             `id: the member occurs twice`,
		`{"one":{"Path":"p"}}`:                 `one.Path: the name of this member is written "path"`,
		"{\"one\":{\"\u212aind\":\"p\"}}":      `one."\u212aind": the name of this member is written "kind"`,
		`{"one":{"path":"a"},"one":{}}`:        `one: the member occurs twice`,
		`{"list":[{},{"PATH":"p"}]}`:           `list[1].PATH: the name of this member is written "path"`,
		`{"map":{"a b\n":{"patH":"p"}}}`:       `map."a b\n".patH: the name of this member is written "path"`,
		`{"map":{"a":{},"a":{}}}`:              `map.a: the member occurs twice`,
		`{"nums":{"01":{}}}`:                   `nums.01: want another name: `,
		`{"nums":{"+1":{}}}`:                   `nums.+1: want another name: `,
		`{"nums":{"-0":{},"0":{}}}`:            `nums.0: the member occurs twice`,
		`{"any":[{"a":1,"a":2}]}`:              `any[0].a: the member occurs twice`,
		`{"own":{"Mode":"x"}}`:                 `own.Mode: the name of this member is written "mode"`,
		`{"own":{"mode":"x","mode":"y"}}`:      `own.mode: the member occurs twice`,
		`{"odd":"x"}`:                          `odd: the name of this member is written "Odd"`,
		`{"list":[{},{"path":7}]}`:             `json: cannot unmarshal number into Go struct field inner.list[1].path of type string`,
		`{"map":{"a b":{"path":[]}}}`:          `json: cannot unmarshal array into Go struct field inner.map.a b.path of type string`,
		`{"name":"abcdefgh","own":{"mode":7}}`: `json: cannot unmarshal number into Go struct field outer.own.mode of type string`,
		`{"bag":{"a":1,"a":2}}`:                "",
		`{"late":{"Id":1}}`:                    `late.Id: the name of this member is written "id"`,
		`{"owns":[{"a":0},{"mode":7}]}`:        `json: cannot unmarshal number into Go struct field outer.owns.mode of type string`,
		`{"id":"1",` + "\n":                    `unexpected end of JSON input`,
		`{"id":"a"} {"id":"b"}`:                `invalid character '{' after top-level value`,
		`{"any":{"` + strings.Repeat("x", 9999) + `":1,"` + strings.Repeat("x", 9999) + `":1}}`: "any." + strings.Repeat("x", 64) + `: the member occurs twice`,
	} {
		var v outer
		err := jsonscan.Unmarshal([]byte(text), &v)
		switch {
		case want == "" && err != nil, want != "" && err == nil:
			t.Errorf("%.200s: got %v, want %q", text, err, want)
		case err != nil && !strings.HasPrefix(err.Error(), want):
			t.Errorf("%.200s: got %v, want %s", text, err, want)
		}
	}
	var v outer
	_ = v.secret
	if err := jsonscan.UnmarshalKnown([]byte(`{"list":[{"path":"a","hint":1}]}`), &v); err == nil || err.Error() != "list[0].hint: there is no such member" {
		t.Errorf("got %v", err)
	}
	if err := jsonscan.UnmarshalKnown([]byte(`{"own":{"mode":"a","hint":1}}`), &v); err != nil {
		t.Error(err)
	}
	if err := jsonscan.UnmarshalKnown([]byte(`{"map":{"any":{"path":"a"}},"any":{"x":1}}`), &v); err != nil {
		t.Error(err)
	}
}

// wide has a field of each kind that the decoder reads in its own way.
type wide struct {
	S  string                     `json:"s,omitempty"`
	K  string                     `json:"kind,omitempty"`
	B  bool                       `json:"b,omitempty"`
	I  int8                       `json:"i,omitempty"`
	U  uint16                     `json:"u,omitempty"`
	F  float32                    `json:"f,omitempty"`
	Q  int                        `json:"q,string,omitempty"`
	P  *wide                      `json:"p,omitempty"`
	L  []wide                     `json:"l,omitempty"`
	A  [2]int                     `json:"a,omitzero"`
	M  map[string]*wide           `json:"m,omitempty"`
	N  map[int8]string            `json:"n,omitempty"`
	X  any                        `json:"x,omitempty"`
	Y  []byte                     `json:"y,omitempty"`
	R  map[string]json.RawMessage `json:"r,omitempty"`
	T  time.Time                  `json:"t,omitzero"`
	D  json.Number                `json:"d,omitempty"`
	O  itself                     `json:"o,omitzero"`
	OP *itself                    `json:"op,omitempty"`
	Base
}

// checkSameMembers has encoding/json, a schema (any) and Unmarshal read a text: what one of them
// accepts is the same for all.
func checkSameMembers(t *testing.T, text []byte) {
	t.Helper()
	var got, want wide
	err, errJSON := jsonscan.Unmarshal(text, &got), json.Unmarshal(text, &want)
	var name *jsonscan.NameError
	if errors.As(err, &name) {
		return // TestUnmarshal has the reasons
	}
	if (err == nil) != (errJSON == nil) {
		t.Fatalf("%s: got %v, want %v", text, err, errJSON)
	}
	if err != nil {
		return
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s: got %+v, want %+v", text, got, want)
	}
	again, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var of, seen any
	if json.Unmarshal(again, &of) != nil || json.Unmarshal(text, &seen) != nil {
		return // a number is too large for a float64
	}
	if lost := notIn(of, seen, ""); lost != "" {
		t.Fatalf("%s: the member %s of %s is not in the text", text, lost, again)
	}
	if err := jsonscan.Unmarshal(text, &of); err == nil && !reflect.DeepEqual(of, seen) {
		t.Fatalf("%s: got %v, want %v", text, of, seen)
	}
}

// notIn returns the path of a member of a that b does not have, or nothing.
func notIn(a, b any, path string) string {
	switch a := a.(type) {
	case map[string]any:
		o, ok := b.(map[string]any)
		if !ok {
			return path
		}
		for name, v := range a {
			if _, ok := o[name]; !ok && v != "" && v != nil {
				return path + "." + name
			}
			if lost := notIn(v, o[name], path+"."+name); lost != "" {
				return lost
			}
		}
	case []any:
		o, _ := b.([]any)
		for i, v := range a[:min(len(a), len(o))] {
			if lost := notIn(v, o[i], fmt.Sprintf("%s[%d]", path, i)); lost != "" {
				return lost
			}
		}
	}
	return ""
}

// TestSameMembers checks generated texts, whose names are those of fields, variants of them, and
// others.
func TestSameMembers(t *testing.T) {
	names := strings.Fields(`s S \u0073 ſ kind Kind \u212aind b i I u f q Q p P l L a m M n N x X y r t d o O op Op id ID Id Hidden hidden mode Mode free zz 1 01`)
	values := strings.Fields(`"" "a" "1" "\u00e9\ud83d" "2026-11-28T00:00:00Z" "YQ==" 0 1 -1 300 1.5 1e400 true false null {} [] [1,2,3] [{}] {"a":1} {"1":"b"}`)
	accepted := 0
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, 1))
		var value func(depth int) string
		value = func(depth int) string {
			if depth == 0 || r.IntN(3) == 0 {
				return values[r.IntN(len(values))]
			}
			var b strings.Builder
			for i := range r.IntN(4) {
				if i > 0 {
					b.WriteString(", ")
				}
				fmt.Fprintf(&b, "\"%s\":%s", names[r.IntN(len(names))], value(depth-1))
			}
			if text := "{" + b.String() + "}"; r.IntN(4) > 0 {
				return text
			} else {
				return "[" + text + "]"
			}
		}
		text := []byte(value(3))
		checkSameMembers(t, text)
		if jsonscan.Unmarshal(text, new(wide)) == nil {
			accepted++
		}
	}
	if accepted < 1000 {
		t.Errorf("only %d texts were accepted", accepted)
	}
}

func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(`{"s":"a","kind":"b","p":{"l":[{"i":1}]},"m":{"k":{"x":{"y":[1,"2",null]}}},"n":{"1":"a"},"q":"5","o":{"mode":"m"}}`))
	f.Add([]byte("{\"\u212aind\":\"a\",\"s\xff\":1,\"s\":\"\xff\"}"))
	f.Fuzz(checkSameMembers)
}

// BenchmarkUnmarshal compares Unmarshal with encoding/json.
func BenchmarkUnmarshal(b *testing.B) {
	text := []byte(`{"s":"` + strings.Repeat("some text ", 40) + `","i":7,"l":[{"s":"tea","i":1},{"s":"cake","i":3}],"p":{"b":true,"f":1.5},"id":"c"}`)
	for _, c := range []struct {
		name string
		do   func([]byte, any) error
	}{{"exact", jsonscan.Unmarshal}, {"encoding/json", json.Unmarshal}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := c.do(text, new(wide)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
