package main

import (
	"strings"
	"testing"
)

// One address serves all commands, and an error names the variable that it came from.
func TestOneAddress(t *testing.T) {
	n := startMember(t, "n1", "--http", "127.0.0.1:0", "--swarm", "eddyjules")
	n.lists("agents", "Eddy n1", "Eliza n1", "Jules n1")
	t.Setenv("RIBOSOME_ADDR", n.http)
	for _, args := range [][]string{{"agents"}, {"members"}, {"conversations"}, {"call", "Jules", "debug_code", "-q", "-d", "@testdata/task.json"}} {
		if r := runs(t, args...); r.code != exitDone || r.stdout == "" {
			t.Errorf("%q: %+v", args, r)
		}
	}
	t.Setenv("RIBOSOME_ADDR", n.tcp)
	if r := runs(t, "conversations"); r.code != exitUsage || !strings.Contains(r.stderr, "RIBOSOME_ADDR is where agents connect") {
		t.Errorf("%+v", r)
	}
}
