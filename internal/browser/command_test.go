package browser

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// program builds the program ribosome, and returns its file.
func program(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ribosome")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", file, "./cmd/ribosome")
	build.Dir = "../.."
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return file
}

// The command of the README for looking at conversations is enough: one of the swarm is in the
// list, and grows while one looks at it.
func testCommand(t *testing.T, browser context.Context) {
	node := exec.CommandContext(context.WithoutCancel(t.Context()), program(t), "node", "--swarm", "eddyjules", "--http", "127.0.0.1:0")
	out, err := node.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = node.Process.Signal(syscall.SIGTERM)
		if err := node.Wait(); err != nil {
			t.Errorf("the node: %v", err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	fields := strings.Fields(line)
	if err != nil || len(fields) < 2 || fields[0] != "serving" {
		t.Fatalf("%q, %v", line, err)
	}
	b := open(t, browser, fields[1])
	const messages = "document.querySelectorAll('.message').length"
	for grown := ""; grown != "yes"; { // one that ends first is followed by the next task
		b.goTo("#/conversations?live=true&agent=Jules")
		b.goTo(await[string](b, `document.querySelector('.list .row a').getAttribute('href')`)) // a click could miss one that ends
		b.shows(".agent", "Jules")
		before := await[int](b, messages)
		grown = await[string](b, fmt.Sprintf("%s > %d ? 'yes' : document.querySelector('.facts').textContent.includes('ended') ? 'no' : ''", messages, before))
	}
}
