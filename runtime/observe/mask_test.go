package observe_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/runtime/observe"
)

func TestMask(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{`{"password":"x","user":"u"}`, `{"password":"***","user":"u"}`},
		{`{"X-Api-Key":"x","openaiApiKeys":["x"],"client.secret":{"a":1}}`, `{"X-Api-Key":"***","client.secret":"***","openaiApiKeys":"***"}`},
		{`[{"deep":[{"access_token":5}]}]`, `[{"deep":[{"access_token":"***"}]}]`},
		{`{"max_tokens":5,"tokens":["x"],"tokenizer":"bpe"}`, `{"max_tokens":5,"tokenizer":"bpe","tokens":"***"}`},
		{`{"AUTHORIZATION":null}`, `{"AUTHORIZATION":"***"}`},
		{`{"n":12345678901234567890.10}`, `{"n":12345678901234567890.10}`},
		{`"token"`, `"token"`},
	} {
		got, err := observe.NewMask(observe.DefaultMask()).JSON([]byte(test.in))
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %s, %v; want %s", test.in, got, err, test.want)
		}
	}
	for _, bad := range []string{``, `{`, `{} {}`, `{}x`} {
		if got, err := observe.NewMask(nil).JSON([]byte(bad)); err == nil {
			t.Errorf("%q: %s", bad, got)
		}
	}
	if got, err := (observe.Mask{}).JSON([]byte(`{"password":"x"}`)); err != nil || string(got) != `{"password":"x"}` {
		t.Errorf("the zero mask: %s, %v", got, err)
	}
}

// No value under a masked name survives, however deep it is and whatever stands around it.
func FuzzMask(f *testing.F) {
	f.Add(`{"a":[1,{"b":"x"}]}`, "password")
	f.Add(`[[]]`, "X-Api-Key")
	f.Fuzz(func(t *testing.T, around, name string) {
		const canary = "c4n4ry"
		if !json.Valid([]byte(around)) || strings.Contains(around, canary) || strings.Contains(name, canary) || len(name) == 0 {
			return
		}
		key, err := json.Marshal(name + "_token")
		if err != nil {
			t.Fatal(err)
		}
		text := `{"around":` + around + `,"in":[{` + string(key) + `:["` + canary + `"]}]}`
		got, err := observe.NewMask(observe.DefaultMask()).JSON([]byte(text))
		if err != nil {
			return // deeper than the decoder reads
		}
		if !json.Valid(got) || strings.Contains(string(got), canary) {
			t.Errorf("%s: %s", text, got)
		}
	})
}
