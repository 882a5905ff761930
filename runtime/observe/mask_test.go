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
		{
			`{"secretKey":1,"signing_key":1,"openai_key":1,"openAIKey":1,"ssh_key":1,"passwordHash":1,"session":1,"otp":1,"pin":1,"pass":1,"auth":1,"HF_KEY":1,"cardPIN":1,"new_password_confirmation":1}`,
			`{"HF_KEY":"***","auth":"***","cardPIN":"***","new_password_confirmation":"***","openAIKey":"***","openai_key":"***","otp":"***","pass":"***","passwordHash":"***","pin":"***","secretKey":"***","session":"***","signing_key":"***","ssh_key":"***"}`,
		},
		{
			`{"author":1,"bypass":1,"compass":1,"key":1,"monkey":1,"passenger":1,"pinned":1,"primary_key":1,"public_key":1,"session_id":1,"spin":1,"token_type":1}`,
			`{"author":1,"bypass":1,"compass":1,"key":1,"monkey":1,"passenger":1,"pinned":1,"primary_key":1,"public_key":1,"session_id":1,"spin":1,"token_type":1}`,
		},
		{`{"body":"{\"password\":\"x\",\"n\":1}","deep":"[\"{\\\"otp\\\":1}\"]"}`, `{"body":"{\"n\":1,\"password\":\"***\"}","deep":"[\"{\\\"otp\\\":\\\"***\\\"}\"]"}`},
		{
			`{"headers":[{"name":"Authorization","value":"Bearer x"},{"name":"Accept","value":"y"},{"Key":"api_key","Values":["x"]}]}`,
			`{"headers":[{"name":"Authorization","value":"***"},{"name":"Accept","value":"y"},{"Key":"api_key","Values":"***"}]}`,
		},
		{`{"url":"https://ann:x@h/p?token=y&q=1","text":"use password=x now"}`, `{"text":"use password=*** now","url":"https://***@h/p?token=***\u0026q=1"}`},
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

// A path masks the members at it and no others.
func TestMaskOfPaths(t *testing.T) {
	for _, test := range []struct{ mask, in, want string }{
		{"payload.card.number", `{"card":{"number":1,"name":"n"},"number":2}`, `{"card":{"name":"n","number":"***"},"number":2}`},
		{"payload.card.number", `{"deep":{"card":{"number":1}}}`, `{"deep":{"card":{"number":1}}}`},
		{"card.number", `{"deep":[{"Card":[[{"num_ber":{"a":1}}]]}],"cards":{"number":1}}`, `{"cards":{"number":1},"deep":[{"Card":[[{"num_ber":"***"}]]}]}`},
		{"payload.*.id", `{"a":{"id":1},"b":[{"id":2}],"id":3,"c":{"d":{"id":4}}}`, `{"a":{"id":"***"},"b":[{"id":"***"}],"c":{"d":{"id":4}},"id":3}`},
		{"a.b", `{"a":{"b":{"c":1}},"x":{"a":{"c":{"b":1}}},"a.b":1}`, `{"a":{"b":"***"},"a.b":1,"x":{"a":{"c":{"b":1}}}}`},
		{"a.b", `{"a":{"x":1,"b":2,"c":{"b":3}},"b":{"a":{"b":4}}}`, `{"a":{"b":"***","c":{"b":3},"x":1},"b":{"a":{"b":"***"}}}`},
		{"a.", `{"b":{"a":1}}`, `{"b":{"a":"***"}}`},
		{".", `{"a":1}`, `{"a":1}`},
	} {
		got, err := observe.NewMask([]string{test.mask}).JSON([]byte(test.in))
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %s: %s, %v; want %s", test.mask, test.in, got, err, test.want)
		}
	}
}

// In a text, what stands behind a masked name is masked.
func TestMaskOfText(t *testing.T) {
	for in, want := range map[string]string{
		"password=x, user: u":                       "password=***, user: u",
		`want {"api_key": "a \" b", "max": 3}`:      `want {"api_key": ***, "max": 3}`,
		"the header Authorization: Bearer abc.d is": "the header Authorization: *** is",
		"max_tokens: 5, tokens: x":                  "max_tokens: 5, tokens: ***",
		"no token":                                  "no token",
		"GET https://h:80/a?x=1&api_key=y#z":        "GET https://h:80/a?x=1&api_key=***",
		"postgres://u:p%40@h/db and https://tok@g/": "postgres://***@h/db and https://***@g/",
		`token: "unfinished one`:                    `token: ***`,
	} {
		if got := observe.NewMask(observe.DefaultMask()).Text(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := (observe.Mask{}).Text("password=x"); got != "password=x" {
		t.Error(got)
	}
}

// The time for a text is linear: one of many assignments is no way to stop a node.
func BenchmarkMaskOfText(b *testing.B) {
	m := observe.NewMask(observe.DefaultMask())
	for name, text := range map[string]string{
		"assignments": strings.Repeat("a=", 8<<10), "names": strings.Repeat("a", 16<<10), "prose": strings.Repeat("a text of words, and no more. ", 550), "masked": strings.Repeat("pin=1&", 2700),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				m.Text(text)
			}
		})
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
		inside, err := json.Marshal(`{` + string(key) + `:"` + canary + `"}`)
		if err != nil {
			t.Fatal(err)
		}
		text := `{"around":` + around + `,"in":[{` + string(key) + `:["` + canary + `"]}],"text":` + string(inside) + `,"pair":{"name":` + string(key) + `,"value":"` + canary + `"}}`
		got, err := observe.NewMask(observe.DefaultMask()).JSON([]byte(text))
		if err != nil {
			return // deeper than the decoder reads
		}
		if !json.Valid(got) || strings.Contains(string(got), canary) {
			t.Errorf("%s: %s", text, got)
		}
	})
}
