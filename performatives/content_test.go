package performatives_test

import (
	"encoding/json"
	"errors"
	"testing"

	p "github.com/ribosome-agents/ribosome/performatives"
)

type code struct {
	Language string `json:"programming_language"`
	Line     int    `json:"line"`
}

func TestDecode(t *testing.T) {
	want := code{"python", 3}
	for name, c := range map[string]p.Content{
		"value": p.ContentOf(want), "pointer": p.ContentOf(&want), "nested": p.ContentOf(p.ContentOf(want)),
		"JSON":     p.RawContent([]byte(`{"programming_language":"python","line":3}`)),
		"raw":      p.ContentOf(p.Raw(`{"programming_language":"python","line":3}`)),
		"message":  p.ContentOf(json.RawMessage(`{"programming_language":"python","line":3}`)),
		"map":      p.ContentOf(map[string]any{"programming_language": "python", "line": 3}),
		"extended": p.RawContent([]byte(`{"programming_language":"python","line":3,"column":1}`)),
	} {
		if got, err := p.Decode[code](c); err != nil || got != want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestDecodeMisfits(t *testing.T) {
	tests := map[string]struct{ in, field string }{
		"member":    {`{"line":"three"}`, "content.line"},
		"whole":     {`[]`, "content"},
		"malformed": {`{"line":`, "content"},
		"trailing":  {`{} {}`, "content"},
		"case":      {`{"line":3,"Line":4}`, "content.Line"},
		"folded":    {"{\"programming_\u017fanguage\":\"a\",\"\u017fine\":1,\"L\u0131ne\":1,\"LINE\":1}", "content.LINE"},
		"twice":     {`{"line":3,"l\u0069ne":4}`, "content.line"},
	}
	for name, tt := range tests {
		got, err := p.Decode[code](p.RawContent([]byte(tt.in)))
		var r *p.Refusal
		if got != (code{}) || !errors.As(err, &r) || r.Field != tt.field || r.Code != p.CodeInvalidPayload {
			t.Errorf("%s: %+v, %v; want a refusal of %s", name, got, err, tt.field)
		}
	}
	if _, err := p.Decode[code](p.ContentOf(make(chan int))); err == nil {
		t.Error("a channel was decoded")
	}
}

func TestEmptyContent(t *testing.T) {
	for _, c := range []p.Content{{}, p.ContentOf(nil), p.RawContent(nil), p.ContentOf(p.Content{}), p.ContentOf(p.Raw{})} {
		got, err := p.Decode[code](c)
		if !c.IsZero() || err != nil || got != (code{}) || c.Value() != nil || mustJSON(t, c) != "null" {
			t.Errorf("%+v: zero %t, %+v, %v", c, c.IsZero(), got, err)
		}
	}
}

func TestContentEqual(t *testing.T) {
	tests := []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":2}`, ` {"b":2, "a":1} `, true},
		{`[1,2]`, `[2,1]`, false},
		{`9007199254740993`, `9007199254740992`, false},
		{`1`, `1.0`, false}, // by their text
		{`"\u0041"`, `"A"`, true},
		{`1 2`, `1 3`, false}, // malformed
		{`null`, `{}`, false},
	}
	for _, tt := range tests {
		a, b := p.RawContent([]byte(tt.a)), p.RawContent([]byte(tt.b))
		if a.Equal(b) != tt.want || b.Equal(a) != tt.want {
			t.Errorf("%s equals %s: %t, want %t", tt.a, tt.b, a.Equal(b), tt.want)
		}
	}
	if !p.ContentOf(map[string]int{"a": 1}).Equal(p.RawContent([]byte(`{"a":1}`))) {
		t.Error("a Go value does not equal its JSON")
	}
	if c := p.ContentOf(func() {}); c.Equal(c) {
		t.Error("a function equals something")
	}
}

func TestContentKeepsACopy(t *testing.T) {
	buffer := []byte(`{"a":1}`)
	var c p.Content
	if err := c.UnmarshalJSON(buffer); err != nil {
		t.Fatal(err)
	}
	buffer[2] = 'z'
	if got := mustJSON(t, c); got != `{"a":1}` {
		t.Errorf("the content changed to %s", got)
	}
}

func TestMembersEqual(t *testing.T) {
	one := p.Members{"a": []byte(`{"x":[1]}`)}
	tests := []struct {
		other p.Members
		want  bool
	}{
		{p.Members{"a": []byte(` {"x": [1]}`)}, true},
		{p.Members{"a": []byte(`{"x":[1]}`), "status": nil}, true},
		{p.Members{"a": []byte(`{"x":[1]}`), "b": []byte(`null`)}, false},
		{p.Members{"b": []byte(`{"x":[1]}`)}, false},
		{nil, false},
	}
	for _, tt := range tests {
		if one.Equal(tt.other) != tt.want || tt.other.Equal(one) != tt.want {
			t.Errorf("%s: Equal %t, want %t", tt.other, one.Equal(tt.other), tt.want)
		}
	}
	if !(p.Members{}).Equal(nil) {
		t.Error("no members differ from no members")
	}
}
