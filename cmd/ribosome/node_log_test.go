package main

import (
	"strings"
	"testing"
)

// A client that only asks is logged for debugging. An agent that joins and leaves is logged at
// info.
func TestClientsInTheLog(t *testing.T) {
	n := begins(t, "node", "--name", "n1", "--tcp", "127.0.0.1:0", "--no-auth", "--swarm", "eddyjules")
	url := strings.TrimSpace(strings.TrimPrefix(n.shows(&n.stdout, "\n"), "listening on "))
	for _, args := range [][]string{{"agents"}, {"call", "Jules", "debug_code", "-d", task, "-q"}, {"send", "system", "QUERY_REF", "-d", `{"reference":"agents"}`}} {
		if r := runs(t, append(args, "--as", "Ana", "--addr", url)...); r.code != exitDone {
			t.Errorf("%v: got %+v", args, r)
		}
	}
	l := begins(t, "listen", "--addr", url, "--as", "Rubber", "--topic", "Ducks")
	l.shows(&l.stderr, "connected to ")
	n.shows(&n.stderr, `"msg":"agent announced","node":"n1","agent":"Rubber"`)
	l.end()
	n.shows(&n.stderr, `"msg":"agent stopped","node":"n1","agent":"Rubber"`)
	got := n.end()
	if !strings.Contains(got.stderr, `"msg":"agent started","node":"n1","agent":"Jules"`) || strings.Contains(got.stderr, `"agent":"Ana"`) {
		t.Errorf("the log is %s", got.stderr)
	}
}
