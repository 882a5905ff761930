package main

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
)

func TestPlainJSON(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":1}`:                                `{"a":1}`,
		`{"\u003ca\u003E":"\u0026\u00e9\n"}`:     `{"<a>":"&\u00e9\n"}`,
		`"\\u003c \\\u003c \\\\u003c \U003c"`:    `"\\u003c \\< \\\\u003c \U003c"`,
		`"\u0022\u003`:                           `"\u0022\u003`,
		`MCP_MESSAGE_SENT: {"a":"\u003c"}` + `\`: `MCP_MESSAGE_SENT: {"a":"<"}\`,
	} {
		if got := string(plainJSON([]byte(text))); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// The value of a JSON text stays the same.
func FuzzPlainJSON(f *testing.F) {
	f.Add([]byte(`{"\u003c":"\\u003e","b":["\\\u0026",1e3]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var before, after any
		plain := plainJSON(text)
		if json.Unmarshal(text, &before) != nil {
			return
		}
		if err := json.Unmarshal(plain, &after); err != nil || !reflect.DeepEqual(before, after) {
			t.Errorf("%v: %s became %s", err, text, plain)
		}
	})
}

// Each command prints <, > and & of a peer's JSON as they are, also if the peer has escaped them.
func TestPlainOutput(t *testing.T) {
	t.Chdir(t.TempDir())
	n := hosts(t, "--no-auth", "--message-log", "messages")
	url := n.at["ws"]
	for name, flags := range map[string][]string{"text": nil, "JSON": {"--json"}} {
		l := begins(t, append([]string{"listen", "--addr", url, "--as", "Rubber-" + name, "--answer", `{"said":"\u003cb\u003e"}`}, flags...)...)
		l.shows(&l.stderr, "connected to ")
		call := append([]string{"call", "Rubber-" + name, "explain", "-d", `{"why":"a \u0026 b"}`, "--addr", url}, flags...)
		if r := runs(t, call...); r.code != exitDone || !strings.Contains(r.stdout, `"<b>"`) {
			t.Errorf("call, %s: got %+v", name, r)
		}
		send := append([]string{"send", "Rubber-" + name, "INFORM", "-d", `{"why":"\u003cb\u003e"}`, "--addr", url}, flags...)
		if r := runs(t, send...); r.code != exitDone {
			t.Errorf("send, %s: got %+v", name, r)
		}
		l.shows(&l.stdout, `"<b>"`)
		if got := l.end(); !strings.Contains(got.stdout, `"a & b"`) || strings.Contains(got.stdout, `\u00`) {
			t.Errorf("listen, %s: got %+v", name, got)
		}
	}
	n.end()
	text, err := os.ReadFile("messages")
	if err != nil || !strings.Contains(string(text), `"a & b"`) || strings.Contains(string(text), `\u00`) {
		t.Errorf("%v: the log of messages is %s", err, text)
	}
}
