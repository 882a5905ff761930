package jsonscan_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
)

func TestText(t *testing.T) {
	for v, want := range map[string]string{
		`"a b"`: "a b", `""`: "", `"a\n\u00e4"`: "a\nä", `"a\ud800"`: "a\ufffd", `1`: "", `null`: "", `{}`: "", ``: "", `"`: "",
	} {
		if got := jsonscan.Text([]byte(v)); got != want {
			t.Errorf("Text(%s) = %q, want %q", v, got, want)
		}
	}
}

func TestKinds(t *testing.T) {
	for _, tt := range []struct {
		v                             string
		null, none, boolean, isNumber bool
	}{
		{v: "", none: true},
		{v: "null", null: true, none: true},
		{v: "true", boolean: true},
		{v: "false", boolean: true},
		{v: "-1", isNumber: true},
		{v: "0.5", isNumber: true},
		{v: `"1"`},
		{v: "{}"},
		{v: "[]"},
	} {
		v := []byte(tt.v)
		got := [...]bool{jsonscan.IsNull(v), jsonscan.IsNone(v), jsonscan.IsBool(v), jsonscan.IsNumber(v)}
		if want := [...]bool{tt.null, tt.none, tt.boolean, tt.isNumber}; got != want {
			t.Errorf("%q is null, none, true or false, a number: %v, want %v", tt.v, got, want)
		}
	}
}

func TestRead(t *testing.T) {
	const object = ` {"a": 1, "b":{"c":[2]}, "\u0061" :3, "d\ud800":"x", "b":null}`
	var a, b, absent []byte
	rest := map[string]string{}
	jsonscan.Read([]byte(object), func(name string, v []byte) { rest[name] = string(v) },
		jsonscan.Find("a", &a), jsonscan.Find("b", &b), jsonscan.Find("c", &absent))
	if string(a) != "3" || string(b) != "null" || absent != nil {
		t.Errorf("a, b, c = %s, %s, %s, want 3, null and nothing", a, b, absent)
	}
	if len(rest) != 1 || rest["d\ufffd"] != `"x"` {
		t.Errorf("the others are %v", rest)
	}
	if got := jsonscan.Member([]byte(object), "a"); string(got) != "3" {
		t.Errorf("Member returns %s, want the last", got)
	}
	for _, other := range []string{`[1]`, `"a"`, ``, `{"a`} {
		jsonscan.Read([]byte(other), func(name string, _ []byte) { t.Errorf("%s has a member %s", other, name) })
	}
}

func TestElements(t *testing.T) {
	var got []string
	for v := range jsonscan.Elements([]byte(`[1, "a", {"b":[]}]`)) {
		got = append(got, string(v))
	}
	if want := []string{"1", `"a"`, `{"b":[]}`}; !slices.Equal(got, want) {
		t.Errorf("the elements are %q, want %q", got, want)
	}
	for range jsonscan.Elements([]byte(`{"a":1}`)) {
		t.Error("an object has an element")
	}
}

func TestTexts(t *testing.T) {
	for _, tt := range []struct {
		v     string
		want  []string
		wrong int
	}{
		{`["a","b"]`, []string{"a", "b"}, -1}, {`[]`, []string{}, -1}, {`["a",1,"b"]`, []string{"a"}, 1}, {`"a"`, nil, -1},
	} {
		got, wrong := jsonscan.Texts([]byte(tt.v))
		if !slices.Equal(got, tt.want) || (got == nil) != (tt.want == nil) || wrong != tt.wrong {
			t.Errorf("Texts(%s) = %q, %d, want %q, %d", tt.v, got, wrong, tt.want, tt.wrong)
		}
	}
}

func TestBuilder(t *testing.T) {
	b := jsonscan.OpenObject([]byte("before "))
	empty := b.Empty()
	b.Text("a", `<"`)
	b.TextOrNull("b", "")
	b.Open("c")
	b.Sorted(map[string]json.RawMessage{"y": json.RawMessage("2"), "x": json.RawMessage("1"), "z": nil, "w": json.RawMessage("0")}, "w")
	b.End()
	b.Value("d", []string{"<"})
	got, err := b.Close()
	if want := `before {"a":"<\"","b":null,"c":{"x":1,"y":2},"d":["<"]}`; string(got) != want || err != nil || !empty {
		t.Errorf("wrote %s, %v (empty at first: %t), want %s", got, err, empty, want)
	}
	if got := jsonscan.WithMember([]byte(`{}`), "a", []byte("1")); string(got) != `{"a":1}` {
		t.Errorf("WithMember returns %s", got)
	}
}

func TestBuilderStoresTheFirstError(t *testing.T) {
	b := jsonscan.Builder{JSON: []byte("{"), Depth: 1}
	b.Checked("a", []byte("[]"))
	b.Checked("deep", []byte("[[]]"))
	b.Checked("broken", []byte("{"))
	b.Value("func", func() {})
	if _, err := b.Close(); err == nil || err.Error() != "deep: at byte 1: want no deeper nesting, got '['" {
		t.Errorf("the error is %v", err)
	}
}
