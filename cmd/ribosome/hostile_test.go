package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/observe"
)

// hostileText has terminal escapes in C0 and C1, line ends, and characters that change the
// direction of text.
const hostileText = "EVIL\x1b]0;title\x1b\\\x1b[2J\x1b[31m\r\nFAKE \u009b31m\u0085\u202e\u2066\x7f"

// hostile is an agent whose texts have escapes.
type hostile struct{}

func (hostile) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"topic " + hostileText}, Actions: []performatives.Action{{Name: "boom", Description: hostileText}}}
}

func (hostile) ConsiderTask(_ context.Context, t delegation.Task) delegation.Decision {
	if t.TaskType == "reject" {
		return delegation.Reject(performatives.CodeIncapable, hostileText)
	}
	return delegation.Accept()
}

func (hostile) PerformTask(_ context.Context, t delegation.Task) (performatives.InformResult, error) {
	if err := t.Report(performatives.StatusUpdate{Description: hostileText}); err != nil {
		return performatives.InformResult{}, err
	}
	return performatives.InformResult{}, errors.New(hostileText)
}

// Nothing that a command prints or a node logs of a peer's texts has control characters. JSON that
// is printed to a pipe is data for programs: it has those that a JSON string may have unescaped
// (RFC 8259 §7), which are all above U+001F; a terminal gets none of them.
func TestNoEscapesOfPeers(t *testing.T) {
	for _, format := range []string{"json", "tint"} {
		n := hosts(t, "--no-auth", "--http", "127.0.0.1:0", "--log-format", format, "--log-messages")
		url := served(n.running)
		joins(t, n.at["tcp"], "Evil", hostile{})
		printed := map[string]string{}
		tail, tailJSON := begins(t, "tail", "--addr", url), begins(t, "tail", "--json", "--addr", url)
		for _, args := range [][]string{
			{"call", "Evil", "boom", "--addr", url},
			{"call", "Evil", "boom", "--json", "--addr", url},
			{"call", "Evil", "reject", "--addr", url},
			{"agents", "--addr", url},
			{"agents", "--json", "--addr", url},
			{"conversations", "--addr", url},
			{"conversations", "--json", "--addr", url},
			{"top", "--addr", url},
			{"top", "--json", "--addr", url},
			{"members", "--addr", url},
		} {
			r := runs(t, args...)
			printed[strings.Join(args[:len(args)-2], " ")] = r.stdout + r.stderr
		}
		for _, name := range []string{"call Evil boom", "call Evil boom --json", "call Evil reject", "agents", "agents --json"} {
			if !strings.Contains(printed[name], "EVIL") {
				t.Errorf("%s does not show the text: %q", name, printed[name])
			}
		}
		var all []observe.Conversation
		if err := json.Unmarshal([]byte(printed["conversations --json"]), &all); err != nil || len(all) == 0 {
			t.Fatalf("%v: %s", err, printed["conversations --json"])
		}
		for _, c := range all {
			for _, args := range [][]string{{"trace", string(c.ID)}, {"trace", string(c.ID), "--json"}} {
				r := runs(t, append(args, "--addr", url)...)
				printed[strings.Join(args, " ")] = r.stdout + r.stderr
			}
		}
		both := func() bool {
			return strings.Contains(tail.stdout.String(), "EVIL") && strings.Contains(tailJSON.stdout.String(), "EVIL")
		}
		for late := time.Now().Add(patience.Time); !both() && time.Now().Before(late); { // they may have begun after the tasks above
			runs(t, "call", "Evil", "boom", "--addr", url)
		}
		if !both() {
			t.Error("tail does not show the text")
		}
		for name, r := range map[string]*running{"tail": tail, "tail --json": tailJSON, "node, " + format: n.running} {
			end := r.end()
			printed[name] = end.stdout + end.stderr
		}
		for name, text := range printed {
			for _, r := range text {
				bad := r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
				if bad && (r < ' ' || !strings.HasSuffix(name, " --json")) {
					t.Errorf("%s has %U: %q", name, r, text)
					break
				}
			}
		}
	}
}
