package performatives_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	p "github.com/ribosome-agents/ribosome/performatives"
)

type node struct {
	Name string
	Next *node
	Kids []*node
}

func ring() *node {
	n := &node{Name: "n"}
	n.Next = n
	return n
}

// celsius marshals itself to a number.
type celsius struct{ Degrees int }

func (c celsius) MarshalJSON() ([]byte, error) { return json.Marshal(c.Degrees) }

// sealed marshals itself to an object, and not at all when it is broken.
type sealed struct{ Broken bool }

func (s sealed) MarshalJSON() ([]byte, error) {
	if s.Broken {
		return nil, errors.New("the seal is broken")
	}
	return []byte(`{"sealed":true}`), nil
}

// broken is a key that does not marshal itself.
type broken int

func (broken) MarshalText() ([]byte, error) { return nil, errors.New("the key is broken") }

type summit struct {
	Name   string
	Height float64
	At     time.Time
	Size   *big.Int
	Extra  map[string]any
	hidden chan int
	Skip   func() `json:"-"`
	Maybe  func() `json:",omitzero"`
}

var objects = map[string]any{
	"a struct":           summit{Name: "here", Height: 1.5, Size: big.NewInt(3), hidden: make(chan int), Skip: func() {}},
	"a pointer":          &node{Name: "a", Next: &node{Name: "b"}, Kids: []*node{{}, nil}},
	"a nil pointer":      (*node)(nil),
	"a nil map":          map[string]any(nil),
	"a map of anything":  map[string]any{"a": 1, "b": []any{nil, "x", 1.5, map[string]any{}}, "c": json.Number("12"), "d": json.Number("")},
	"a map of strings":   map[string]string{"a": "b"},
	"a map by number":    map[int]float64{1: 2},
	"a map by text":      map[p.Performative]int{p.ActCFP: 1},
	"raw in a map":       map[string]json.RawMessage{"a": json.RawMessage(`[1]`), "b": nil},
	"content in a map":   map[string]any{"a": p.ContentOf([]int{1})},
	"a payload":          p.InformResult{Status: p.StatusSuccess, Details: p.ContentOf(summit{}), Extra: p.Members{"a": json.RawMessage(`1`), "b": nil, "c": {}}},
	"a payload inside":   map[string]any{"p": p.ContentOf(p.StatusUpdate{Description: "x"}), "act": p.ActInform},
	"JSON in a content":  map[string]any{"a": p.RawContent(json.RawMessage(`[1]`)), "b": p.Content{}},
	"a type of its own":  sealed{},
	"one inside":         map[string]any{"at": sealed{}, "t": celsius{3}},
	"a pointer to a map": &map[string]int{"a": 1},
	"Raw":                p.Raw(" {} "),
	"JSON":               json.RawMessage(`{"a":[1]}`),
	"null":               json.RawMessage(`null`),
	"nothing":            nil,
}

var notObjects = map[string]struct {
	value any
	want  string
}{
	"a slice":            {[]int{1}, "want an object, got the Go type []int"},
	"a string":           {"text", "want an object, got the Go type string"},
	"a number":           {3, "want an object, got the Go type int"},
	"a channel":          {make(chan int), "want an object, got the Go type chan int"},
	"a function":         {func() {}, "want an object, got the Go type func()"},
	"a pointer to one":   {new(int), "want an object, got the Go type *int"},
	"a time":             {time.Unix(0, 0), "want an object, got a string"},
	"its own number":     {celsius{3}, "want an object, got another value"},
	"its own error":      {sealed{true}, "a performatives_test.sealed that cannot"},
	"an error inside":    {map[string]any{"s": &sealed{true}}, "that cannot"},
	"a channel inside":   {map[string]any{"c": make(chan int)}, "a value of the Go type chan int"},
	"a channel deep":     {struct{ A []any }{[]any{map[string]chan int{"c": nil}}}, "a value of the Go type chan int"},
	"a complex number":   {struct{ Z complex128 }{}, "a value of the Go type complex128"},
	"NaN":                {map[string]float64{"x": math.NaN()}, "the number NaN"},
	"infinity":           {summit{Height: math.Inf(1)}, "the number +Inf"},
	"keys that are none": {map[float64]string{1: "x"}, "a map with keys of the Go type float64"},
	"a key's own error":  {map[broken]string{1: "x"}, "that cannot"},
	"no map by such":     {map[float64]string(nil), "a map with keys of the Go type float64"},
	"a ring":             {ring(), "contains itself"},
	"bad raw":            {map[string]json.RawMessage{"a": json.RawMessage(`{`)}, "a json.RawMessage that is no JSON"},
	"a bad number":       {map[string]any{"a": json.Number("1x")}, "a json.Number that is no number"},
	"a worded number":    {map[string]any{"a": json.Number("true")}, "a json.Number that is no number"},
	"no act":             {map[string]any{"act": p.Performative(0)}, "a performative that is no act"},
	"a bad content":      {map[string]any{"a": p.ContentOf(make(chan int))}, "a value of the Go type chan int"},
	"bad JSON in one":    {map[string]any{"a": p.RawContent(json.RawMessage(`{`))}, "a json.RawMessage that is no JSON"},
	"a payload's member": {p.StatusUpdate{Extra: p.Members{"a": json.RawMessage(`{`)}}, "a json.RawMessage that is no JSON"},
	"a payload's field":  {p.StatusUpdate{Results: p.ContentOf(make(chan int))}, "a value of the Go type chan int"},
	"JSON array":         {json.RawMessage(`[1]`), "want an object, got an array"},
	"JSON string":        {p.Raw(`"x"`), "want an object, got a string"},
	"JSON cut off":       {json.RawMessage(`{"a":1`), "one that does not end"},
}

// fieldsOfObjects makes a payload of each field that has to be an object.
var fieldsOfObjects = map[string]func(c p.Content) any{
	"payload.task_parameters":      func(c p.Content) any { return p.TaskRequest{TaskType: "x", Parameters: c} },
	"payload.result_details":       func(c p.Content) any { return p.InformResult{Status: p.StatusSuccess, Details: c} },
	"payload.intermediate_results": func(c p.Content) any { return p.StatusUpdate{Results: c} },
}

func TestFieldsThatAreObjects(t *testing.T) {
	for field, payload := range fieldsOfObjects {
		for name, v := range objects {
			e := envelope(0)
			e.Performative, e.Payload = 0, payload(p.ContentOf(v))
			if _, err := p.New(e); err != nil {
				t.Errorf("%s, %s: %v", field, name, err)
			}
		}
		for name, tt := range notObjects {
			e := envelope(0)
			e.Performative, e.Payload = 0, payload(p.ContentOf(tt.value))
			_, err := p.New(e)
			var r *p.Refusal
			if !errors.As(err, &r) || r.Code != p.CodeInvalidPayload || r.Field != field || !strings.Contains(r.Text, tt.want) {
				t.Errorf("%s, %s: %v, want %s", field, name, err, tt.want)
			}
		}
	}
}

// What is accepted can be written as an object, and what is refused cannot.
func TestObjectsAreThoseOfJSON(t *testing.T) {
	for name, v := range objects {
		b, err := json.Marshal(v)
		if err != nil || b[0] != '{' && string(b) != "null" {
			t.Errorf("%s: %s, %v", name, b, err)
		}
	}
	for name, tt := range notObjects {
		if b, err := json.Marshal(tt.value); err == nil && b[0] == '{' {
			t.Errorf("%s: %s", name, b)
		}
	}
}

func TestCheckingAnObjectAllocatesNothing(t *testing.T) {
	for name, v := range map[string]any{
		"a struct": summit{Name: "here", Height: 1}, "a pointer": &node{Name: "a"}, "raw": p.Raw(`{"a":1}`), "nothing": nil,
		"a map": map[string]any{"a": 1, "b": []any{"x", map[string]any{"c": 1.5}}}, "strings": map[string]string{"a": "b"},
		"a payload": p.InformResult{Status: p.StatusSuccess, Details: p.ContentOf(summit{})},
	} {
		task := p.TaskRequest{TaskType: "x", Parameters: p.ContentOf(v)}
		if n := testing.AllocsPerRun(100, func() {
			if task.Validate() != nil {
				t.Error("refused")
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
