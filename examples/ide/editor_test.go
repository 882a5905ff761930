// Package ide has no code: the example is editor.mjs, and these tests run it.
package ide

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm"
	"github.com/ribosome-agents/ribosome/internal/leakcheck"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
	"github.com/ribosome-agents/ribosome/wire/dialect/bridge"
	"github.com/ribosome-agents/ribosome/wire/ws"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// startSwarm starts what ribosome node --swarm eddyjules --ws does, and returns the address.
func startSwarm(t *testing.T) string {
	t.Helper()
	n, err := runtime.New(runtime.Options{Name: "node"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := (runtime.Swarms{swarm.New(swarm.Options{})}).Host(t.Context(), n, "eddyjules"); err != nil {
		t.Fatal(err)
	}
	peers, err := runtime.NewPeers(n, runtime.PeerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	server, err := wire.NewServer(wire.Options{Handler: peers, Dialects: []wire.Dialect{acl.Dialect{}, bridge.Dialect{}}, Anonymous: true})
	if err != nil {
		t.Fatal(err)
	}
	l, err := ws.Listen(server, ws.Options{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(l.Stop(context.Background()), server.Stop(context.Background())); err != nil {
			t.Error(err)
		}
	})
	return l.URL()
}

// edit runs the editor.
func edit(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil && os.Getenv("CI") != "" {
		t.Fatal(err)
	} else if err != nil {
		t.Skip(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", append([]string{"editor.mjs"}, args...)...)
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), complaints.String(), cmd.ProcessState.ExitCode()
}

func TestSuggestions(t *testing.T) {
	racetest.Skip(t)
	const file = "testdata/report.py"
	stdout, stderr, code := edit(t, file, "--url", startSwarm(t))
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	const messages = "→ Jules: TASK_REQUEST refactor_code_snippet\n← Jules: TASK_ACCEPT Starting now.\n← Jules: INFORM_RESULT Refactoring suggestions provided.\n"
	if !strings.HasSuffix(stderr, messages) {
		t.Errorf("the messages are\n%s", stderr)
	}
	for _, want := range []string{
		"Refactoring suggestions provided.\n", "1. rename_variable (90 %)\n   Rename variable 'r' to 'row'", "2. extract_method", "3. rename_variable", "4. introduce_guard_clause",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is not in\n%s", want, stdout)
		}
	}
	parts := strings.Split(stdout, "--- a/snippet.py\n")
	if len(parts) != 5 {
		t.Fatalf("%d diffs", len(parts)-1)
	}
	for _, part := range parts[1:] {
		diff, _, _ := strings.Cut(part, "\n\n2. ")
		diff, _, _ = strings.Cut(diff, "\n\n3. ")
		diff, _, _ = strings.Cut(diff, "\n\n4. ")
		patch(t, file, "--- a/snippet.py\n"+strings.TrimSuffix(diff, "\n")+"\n")
	}
}

// patch checks that a diff applies to a file, where patch is installed.
func patch(t *testing.T, file, diff string) {
	t.Helper()
	if _, err := exec.LookPath("patch"); err != nil {
		return
	}
	code, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "snippet.py"), code, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "patch", "-p1", "--fuzz=0")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(diff)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s\n%s", err, out, diff)
	}
}

// TestSelection sends some lines of the file.
func TestSelection(t *testing.T) {
	racetest.Skip(t)
	stdout, stderr, code := edit(t, "testdata/report.py:1-6", "--url", startSwarm(t), "--outcome", "improve readability")
	if code != 0 || !strings.Contains(stdout, "rename_variable") || strings.Contains(stdout, "guard") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

func TestComplaints(t *testing.T) {
	racetest.Skip(t)
	url := startSwarm(t)
	for name, tt := range map[string]struct {
		args []string
		code int
		says string
	}{
		"help":          {[]string{"--help"}, 0, "Usage: node editor.mjs FILE"},
		"no file":       {nil, 2, "want one file, such as report.py"},
		"missing file":  {[]string{"testdata/none.py"}, 2, "no such file"},
		"no such lines": {[]string{"testdata/report.py:90-95"}, 2, "has 14 lines, and none of 90 to 95"},
		"kind of file":  {[]string{"README.md"}, 2, "want a file of one of the types .py"},
		"unknown flag":  {[]string{"testdata/report.py", "--fast"}, 2, "Unknown option '--fast'"},
		"not Python":    {[]string{"editor_test.go", "--url", url}, 1, "Only Python is refactored here."},
		"no node":       {[]string{"testdata/report.py", "--url", "ws://127.0.0.1:1/mcp"}, 1, "no node answers: ws://127.0.0.1:1/mcp: "},
	} {
		t.Run(name, func(t *testing.T) {
			if stdout, stderr, code := edit(t, tt.args...); code != tt.code || !strings.Contains(stdout+stderr, tt.says) {
				t.Errorf("exit code %d, and it says %s%s", code, stdout, stderr)
			}
		})
	}
}
