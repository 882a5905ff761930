package rule_test

import (
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/wire/dialect/internal/rule"
)

var rules = []rule.Member{
	rule.Required("name", rule.Name),
	rule.Optional("text", rule.Text),
	rule.Optional("count", rule.Count),
	rule.Optional("at", rule.Time),
	rule.Optional("names", rule.Texts),
	rule.Optional("truth", rule.Bool),
	rule.Optional("one", rule.Object, rule.Required("id", rule.Number)),
	rule.Optional("all", rule.Objects, rule.Required("id", rule.Array)),
}

func TestCheck(t *testing.T) {
	long := `"` + strings.Repeat("x", 70) + `"`
	for object, want := range map[string]string{
		`{"name":"a"}`: "",
		`{"name":"a","text":null,"count":1.0,"at":"2025-01-30T12:00:00Z","names":[],"truth":false,"one":{"id":-1},"all":[{"id":[]}],"x":1}`: "",
		`{}`:                    "p.name: want a non-empty string, got nothing",
		`{"name":null}`:         "p.name: want a non-empty string, got null",
		`{"name":""}`:           `p.name: want a non-empty string, got ""`,
		`{"name":"a","text":1}`: "p.text: want a string, got a number",
		`{"name":"a","count":1.5` + strings.Repeat("0", 61) + `}`: "p.count: want a whole number from 0, got 1.5" + strings.Repeat("0", 61),
		`{"name":"a","count":1.5` + strings.Repeat("0", 62) + `}`: "p.count: want a whole number from 0, got a number",
		`{"name":"a","count":1.5}`:                                "p.count: want a whole number from 0, got 1.5",
		`{"name":"a","count":-1}`:                                 "p.count: want a whole number from 0, got -1",
		`{"name":"a","count":1e3}`:                                "p.count: want a whole number from 0, got 1e3",
		`{"name":"a","at":` + long + `}`:                          "p.at: want an ISO 8601 time, got a string",
		`{"name":"a","at":"noon"}`:                                `p.at: want an ISO 8601 time, got "noon"`,
		`{"name":"a","names":["b",1]}`:                            `p.names: want an array of strings, got ["b",1]`,
		`{"name":"a","truth":"true"}`:                             "p.truth: want true or false, got a string",
		`{"name":"a","one":[]}`:                                   "p.one: want an object, got an array",
		`{"name":"a","one":{}}`:                                   "p.one.id: want a number, got nothing",
		`{"name":"a","all":{}}`:                                   "p.all: want an array of objects, got {}",
		`{"name":"a","all":[{"id":[]},{"id":1}]}`:                 "p.all[1].id: want an array, got a number",
	} {
		switch bad := rule.Check(rules, "p", []byte(object), false); {
		case want == "" && bad != nil, want != "" && (bad == nil || bad.Text != want || !strings.HasPrefix(want, bad.Field+": ")):
			t.Errorf("%s: %v, want %s", object, bad, want)
		}
	}
	if bad := rule.Check(rules, "p", []byte(`{"name":"a","text":1}`), true); bad == nil || bad.Text != "p.text: want a string, got 1" {
		t.Errorf("a short value is not shown: %v", bad)
	}
}
