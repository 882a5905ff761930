package clients_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ribosome-agents/ribosome/internal/leakcheck"
	"github.com/ribosome-agents/ribosome/internal/racetest"
)

func TestMain(m *testing.M) {
	if os.Getenv(nodeVariable) != "" {
		runNode()
		return
	}
	leakcheck.Main(m)
}

// needs skips a test if a program is not installed. It fails in CI, where a test that does not run
// would go unnoticed.
func needs(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil && os.Getenv("CI") != "" {
		t.Fatal(err)
	} else if err != nil {
		t.Skip(err)
	}
}

// runTests runs the tests of a package, in its folder. The output has to contain want.
func runTests(t *testing.T, dir, want string, env []string, program string, args ...string) {
	t.Helper()
	needs(t, program)
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte(want)) {
		t.Errorf("%v, without %q:\n%s", err, want, out)
	}
}

// TestPythonPackage runs the tests of the Python package.
func TestPythonPackage(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	runTests(t, "python", "\nOK\n", []string{"PYTHONPATH=src" + string(os.PathListSeparator) + "tests"},
		"python3", "-W", "error", "-B", "-m", "unittest", "discover", "-s", "tests")
}

// TestTypeScriptPackage runs the tests of the npm package.
func TestTypeScriptPackage(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	tests, err := filepath.Glob("typescript/test/*.test.mjs")
	if err != nil || len(tests) == 0 {
		t.Fatal("there are no tests", err)
	}
	args := []string{"--test"}
	for _, test := range tests {
		args = append(args, filepath.Join("test", filepath.Base(test)))
	}
	runTests(t, "typescript", "\n# fail 0\n", nil, "node", args...)
}

// TestDist checks that dist was compiled from the present sources. That it is what the compiler
// makes of them is checked by npm run check, in .ci/clients.
func TestDist(t *testing.T) {
	sources, err := os.ReadDir("typescript/src")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	for _, source := range sources {
		text, err := os.ReadFile(filepath.Join("typescript/src", source.Name()))
		if err != nil {
			t.Fatal(err)
		}
		sum.Write([]byte(source.Name() + "\n"))
		sum.Write(text)
	}
	compiled, err := os.ReadFile("typescript/dist/sources.sha256")
	if want := hex.EncodeToString(sum.Sum(nil)); err != nil || strings.TrimSpace(string(compiled)) != want {
		t.Errorf("clients/typescript/dist is of other sources: run npm ci && npm run build there (%s, %v)", compiled, err)
	}
}

// TestVersions checks that both packages have one version.
func TestVersions(t *testing.T) {
	for file, want := range map[string]string{
		"typescript/package.json": `"version": "` + version + `"`, "typescript/package-lock.json": `"version": "` + version + `"`,
		"python/src/ribosome_client/__init__.py": `__version__ = "` + version + `"`,
	} {
		if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %s (%v)", file, want, err)
		}
	}
}

const version = "0.1.0"

// output collects what a process says, and lets a test wait for a text.
type output struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{}
}

func newOutput() *output { return &output{changed: make(chan struct{}, 1)} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer func() {
		select {
		case o.changed <- struct{}{}:
		default:
		}
	}()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// line waits for a line that begins with prefix, and returns the rest.
func (o *output) line(ctx context.Context, t *testing.T, prefix string) string {
	t.Helper()
	for {
		for line := range strings.Lines(o.String()) {
			if rest, ok := strings.CutPrefix(line, prefix); ok && strings.HasSuffix(rest, "\n") {
				return strings.TrimSpace(rest)
			}
		}
		select {
		case <-o.changed:
		case <-ctx.Done():
			t.Fatalf("no line %q in %s", prefix, o)
		}
	}
}
