package observe

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The reference masks as Mask does, without any of its short cuts.

var (
	assignedReference = regexp.MustCompile(`([\pL\pN_.-]+)(["']?\s*[:=]\s*)`)
	userinfoReference = regexp.MustCompile(`://[^\s/?#@"']+@`)
)

func textReference(m Mask, text string) string {
	text = userinfoReference.ReplaceAllString(text, "://"+Masked+"@")
	var b strings.Builder
	for {
		at := assignedReference.FindStringSubmatchIndex(text)
		if at == nil {
			return b.String() + text
		}
		b.WriteString(text[:at[1]])
		name := text[at[2]:at[3]]
		text = text[at[1]:]
		value := assignedValue.FindString(text)
		if _, err := strconv.ParseFloat(value, 64); value != "" && m.hidesWords(wordsOf(name), err == nil) {
			b.WriteString(Masked)
			text = text[len(value):]
		}
	}
}

func valueReference(m Mask, v any) (masked any, changed bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if _, number := member.(json.Number); m.hidesWords(wordsOf(name), number) {
				v[name], changed = Masked, true
				continue
			}
			one, is := valueReference(m, member)
			v[name], changed = one, changed || is
		}
		hides := false
		for member, name := range v {
			text, is := name.(string)
			hides = hides || is && slices.Contains(pairNames, normal(member)) && m.hidesWords(wordsOf(text), false)
		}
		for member := range v {
			if hides && slices.Contains(pairValues, normal(member)) {
				v[member], changed = Masked, true
			}
		}
	case []any:
		for i := range v {
			one, is := valueReference(m, v[i])
			v[i], changed = one, changed || is
		}
	case string:
		if trimmed := strings.TrimSpace(v); len(trimmed) > 1 && (trimmed[0] == '{' || trimmed[0] == '[') {
			if inner, err := decode([]byte(trimmed)); err == nil {
				inner, changed = valueReference(m, inner)
				if !changed {
					return v, false
				}
				text, err := json.Marshal(inner)
				return string(text), err == nil
			}
		}
		text := textReference(m, v)
		return text, text != v
	}
	return v, changed
}

// FuzzMaskReference compares masks with the reference: of a text, of JSON, and of JSON in a text.
func FuzzMaskReference(f *testing.F) {
	for _, text := range []string{
		`{"password":"x"}`, `{"pass\u0077ord":1}`, `{"pass_word":1,"max_tokens":2,"tokens":[3]}`, `{"a":"pin=1\npin = 2, \"pin\": 3"}`, `{"name":"Authorization","value":"v"}`,
		`[{"Key":"ssh_key"},{"values":[1]}]`, `{"\u212aey":"otp","VAL":1}`, `{"to\"token":1,"token ":2,"my pin":3,"x(pin":4}`, `{"u":"https://a:b@c/?token=d&e=f"}`,
		`{"u":"https:\/\/ann@c"}`, `{oops "x(pin": 5, 'pin' : 6`, `passwordHash=1 password_text: 2 token1:3 hash=4 text: 5`, `a=b=c token==d : pin ='e`, `://x@://y@ z://@://"@`,
		`[[["{\"a\":\"{\\\"token\\\":1}\"}"]]]`, `OPENAI-KEY: x AIKey=y HFKey: z compass=1 COMPASS=2 myPASS=3`, `größe=1 ключ_token=2 tokenß=3`, "\xfftoken=1 \xc3=2", `{"content":"x","field":"y"}`,
		` {"a b":" [1, {\"n\": \"t:=\"}] "} `, `{"token=text":1,"a:pin":2,"a:b":3}`,
	} {
		f.Add(text, "a:b")
		f.Add(text, "ren.te")
	}
	f.Fuzz(checkReference)
}

func checkReference(t *testing.T, text, name string) {
	for _, m := range []Mask{NewMask(DefaultMask()), NewMask([]string{normal(name), "name"})} {
		if len(m.paths) > 0 || len(m.names) == 0 {
			return // a path is the same with and without the short cuts
		}
		if got, want := m.Text(text), textReference(m, text); got != want {
			t.Errorf("the text %q: %q, want %q", text, got, want)
		}
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range []string{text, `{"in":` + string(quoted) + `}`} {
			value, err := decode([]byte(in))
			if err != nil {
				continue
			}
			value, _ = valueReference(m, value)
			want, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := m.JSON([]byte(in)); err != nil || string(got) != string(want) {
				t.Errorf("%q: %q, %v; want %q", in, got, err, want)
			}
		}
		if m.hides(text, false) != m.hidesWords(wordsOf(text), false) || m.hides(text, true) != m.hidesWords(wordsOf(text), true) {
			t.Errorf("the name %q", text)
		}
	}
}

// A text in which nothing is masked is not copied.
func TestMaskAllocatesNothing(t *testing.T) {
	m := NewMask(DefaultMask())
	for _, text := range []string{"a text of words", "Note: x = 1, see https://example.org/?a=b", `{"a": [1, "x: y"], "n": "line\n"}`} {
		w := walk{mask: m}
		if n := testing.AllocsPerRun(100, func() { w.text(text) }); n != 0 {
			t.Errorf("%q: %v allocations", text, n)
		}
	}
}
