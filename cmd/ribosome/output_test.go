package main

import (
	"bytes"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
)

func TestResultText(t *testing.T) {
	for name, tt := range map[string]struct {
		result performatives.InformResult
		want   string
	}{
		"bare":    {performatives.InformResult{Status: "success"}, "success\n"},
		"summary": {performatives.InformResult{Status: "failure", Summary: "No.\n"}, "failure: No.\n"},
		"details": {
			performatives.InformResult{Status: "success", Summary: "Yes.", Details: performatives.RawContent([]byte(`{"a":"<b>","n":9007199254740993}`))},
			"success: Yes.\n\n{\n  \"a\": \"<b>\",\n  \"n\": 9007199254740993\n}\n",
		},
		"needs more": {
			performatives.InformResult{Status: "partial_success", Details: performatives.RawContent([]byte(`{"request_for_user":"the log"}`))},
			"partial_success\n\nneeded: the log\n\n{\n  \"request_for_user\": \"the log\"\n}\n",
		},
		"artifacts": {
			performatives.InformResult{Status: "success", Artifacts: []performatives.Artifact{{Type: "file", Path: "a/long\nname.py", Content: "é\n"}, {Type: "log"}}},
			"success\n\nartifacts:\n  a/long name.py    file  2 characters\n  (without a name)  log   0 characters\n",
		},
	} {
		if got := resultText(tt.result); got != tt.want {
			t.Errorf("%s: got\n%s, want\n%s", name, got, tt.want)
		}
	}
}

// What a peer says can neither begin a line of its own nor speak to the terminal.
func TestClean(t *testing.T) {
	if got := oneLine("a\r\nb\x1b[2J\t c\u202e" + strings.Repeat("d", 500)); !strings.HasPrefix(got, "a b[2J cd") || len([]rune(got)) != 400 || !strings.HasSuffix(got, "…") {
		t.Errorf("got %q", got)
	}
	var out bytes.Buffer
	for terminal, want := range map[bool]string{true: "a\tb[31m\n", false: "a\tb\x1b[31m\n"} {
		out.Reset()
		(&printer{newPrinter(&out).Output, terminal}).text("a\tb\x1b[31m\n")
		if out.String() != want {
			t.Errorf("terminal %v: got %q", terminal, out.String())
		}
	}
}

func TestPosition(t *testing.T) {
	text := []byte("a\né,b\n")
	for offset, want := range map[int][2]int{0: {1, 1}, 1: {1, 1}, 2: {1, 2}, 3: {2, 1}, 5: {2, 2}, 6: {2, 3}, 99: {3, 1}} {
		if line, column := position(text, offset); [2]int{line, column} != want {
			t.Errorf("%d: got %d:%d, want %v", offset, line, column, want)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"grpc", "tcp", "ws", "ws-origin", "tls-cert", "tls-key"}
	for written, want := range map[string]string{"tpc": "tcp", "TCP": "tcp", "ws_origi": "ws-origin", "tls_key": "tls-key", "w": "ws", "": "ws", "grcp": "grpc"} {
		if got := nearest(written, names); got != want {
			t.Errorf("%q: got %s, want %s", written, got, want)
		}
	}
}

func TestParseAddress(t *testing.T) {
	for text, want := range map[string]address{
		"ws://h":           {"ws", false, "h:80", "ws://h:80/mcp", "/mcp"},
		"wss://h/":         {"ws", true, "h:443", "wss://h:443/mcp", "/mcp"},
		"ws://h:1/a/b":     {"ws", false, "h:1", "ws://h:1/a/b", "/a/b"},
		"tcp://[::1]:8444": {"tcp", false, "[::1]:8444", "tcp://[::1]:8444", ""},
		"tcps://h:1/":      {"tcp", true, "h:1", "tcps://h:1", ""},
		"grpc://h:1":       {"grpc", false, "h:1", "grpc://h:1", ""},
		"grpcs://h:1":      {"grpc", true, "h:1", "grpcs://h:1", ""},
	} {
		if got, err := parseAddress("--addr", text); err != nil || got != want {
			t.Errorf("%s: %v, got %+v", text, err, got)
		}
	}
}

// A disk without room is told of; who stops to read, as head does, has seen enough.
func TestNowhereToWrite(t *testing.T) {
	n := open(t)
	for name, args := range map[string][]string{
		"version": {"version"},
		"agents":  {"agents", "--addr", n.at["tcp"]},
		"call":    {"call", "Jules", "debug_code", "-d", task, "-q", "--addr", n.at["ws"]},
		"JSON":    {"call", "Jules", "debug_code", "-d", task, "-q", "--json", "--addr", n.at["grpc"]},
	} {
		var stderr bytes.Buffer
		code := run(t.Context(), args, strings.NewReader(""), failing{syscall.ENOSPC}, &stderr)
		if want := "ribosome: the output is not complete: no space left on device; run it again where there is room for it\n"; code != exitFailed || stderr.String() != want {
			t.Errorf("%s: exit code %d, stderr %s", name, code, &stderr)
		}
		stderr.Reset()
		if code := run(t.Context(), args, strings.NewReader(""), failing{syscall.EPIPE}, &stderr); code != exitDone || stderr.Len() > 0 {
			t.Errorf("%s, nobody reads: exit code %d, stderr %s", name, code, &stderr)
		}
	}
}

// failing is where nothing can be written.
type failing struct{ why syscall.Errno }

func (f failing) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "/dev/stdout", Err: f.why}
}
