package performatives

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzEachMember compares with what encoding/json makes of the same object.
func FuzzEachMember(f *testing.F) {
	for _, seed := range []string{
		`{}`, ` { } `, `{"a":1}`, "{\n\"a\" : [ {\"b\":\"]}\"} , 2 ] ,\t\"c\":\"\\\"\"\r}", `{"a":1,"a":null,"":true}`,
		`{"\u0061\\":-1.5e3,"é":{"x":{}},"z":[[],[]]}`, `{"a":"\\","b":"}"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var want map[string]json.RawMessage
		if json.Unmarshal(b, &want) != nil || want == nil {
			return
		}
		got := map[string]json.RawMessage{}
		if err := eachMember(b, func(name, value []byte) error {
			got[string(name)] = value
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", b, diff)
		}
	})
}

// FuzzIsCompact compares with what encoding/json writes of a raw value.
func FuzzIsCompact(f *testing.F) {
	for _, seed := range []string{`{"a":[1,"b c"]}`, `"<"`, `">"`, `"&"`, `{ }`, `"\u003e"`, `"é"`, `"a\"> b"`, "[1,\t2]", `"\\"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if !json.Valid(b) || !isCompact(b) {
			return
		}
		if text, err := json.Marshal(json.RawMessage(b)); err != nil || string(text) != string(b) {
			t.Fatalf("%s is written as %s: %v", b, text, err)
		}
	})
}
