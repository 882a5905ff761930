package main

import (
	"bytes"
	"context"
	_ "embed" // for task
	"os"
	"strings"
	"testing"

	ragswarm "github.com/ribosome-agents/ribosome/examples/rag/swarm"
	"github.com/ribosome-agents/ribosome/internal/exhaustive"
	"github.com/ribosome-agents/ribosome/internal/leakcheck"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/runtime"
)

// task is a task that Jules performs.
//
//go:embed testdata/task.json
var task string

// asProgram has the test binary be the program itself.
const asProgram = "TEST_AS_RIBOSOME" // not RIBOSOME_…, which are flags

// long says whether tests run their long forms: TestMain takes the variable away.
var long = exhaustive.Enabled()

func TestMain(m *testing.M) {
	receiptTime = 2 * patience.Time / 3 // a busy machine may take longer than a user waits
	if os.Getenv(asProgram) != "" {
		offered := swarms
		swarms = func(c *nodeCmd) runtime.Swarms { return append(offered(c), notes) }
		main()
	}
	ragswarm.ReadPDFs()
	for _, v := range os.Environ() { // whoever tests may use the program, too
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "RIBOSOME_") {
			_ = os.Unsetenv(name)
		}
	}
	leakcheck.Main(m)
}

// ran is what a run left behind.
type ran struct {
	code           int
	stdout, stderr string
}

// runs runs the program until it ends.
func runs(t *testing.T, args ...string) ran {
	t.Helper()
	return runsWith(t.Context(), "", args...)
}

func runsWith(ctx context.Context, stdin string, args ...string) ran {
	var stdout, stderr bytes.Buffer
	code := run(ctx, args, strings.NewReader(stdin), &stdout, &stderr)
	return ran{code, stdout.String(), stderr.String()}
}

// writeFile writes a file into a folder of the test's own, and returns its name.
func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
