package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// fakeNode serves what it says of the nodes and of the agents.
func fakeNode(t *testing.T, nodes, agents string) (url string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(map[string]string{"/api/nodes": nodes, "/api/agents": agents}[r.URL.Path]))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// troubled has an overloaded node without one of its links, another one that does not answer, and
// an agent that blocks.
const (
	troubledNodes  = `{"nodes":[{"node":"n1","overloaded":true,"overload_refused":7,"queued_handlers":5,"links":2,"links_up":1},{"node":"n2","links":1,"links_up":1}],"missing":[{"node":"n3","why":"silent\u001b[2J"}]}`
	troubledAgents = `{"agents":[{"agent":"Jules","node":"n2","busy_since":"2026-01-02T03:04:05Z","busy_with":"REQUEST of Eddy"},{"agent":"Eddy","node":"n1"}]}`
)

// What an operator has to look at is printed, and is a failure.
func TestCheck(t *testing.T) {
	if r := operates(t, fakeNode(t, `{"nodes":[{"node":"n1","overload_refused":7}]}`, `{"agents":[{"agent":"Eddy","node":"n1"}]}`), "check"); r.stdout != "nothing found\n" {
		t.Errorf("%+v", r)
	}
	url := fakeNode(t, troubledNodes, troubledAgents)
	r := runs(t, "check", "--addr", url)
	lines := strings.Split(r.stdout, "\n")
	for i, want := range []string{
		"n3: missing: silent", "n1: overloaded: it refuses new work that its processors cannot do in time: 7 requests refused for this since it started, 5 handlers wait",
		"n1: links_down: 1 of its 2 links", "n2: blocked: the code of the agent Jules has blocked its actor since ", "",
	} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], want) {
			t.Errorf("line %d is not %q: %+v", i, want, r)
		}
	}
	if r.code != exitFailed || r.stderr != "" || len(lines) != 5 || strings.Contains(r.stdout, "\x1b") {
		t.Errorf("%+v", r)
	}
	var all []finding
	r = runs(t, "check", "--json", "--addr", url)
	if err := json.Unmarshal([]byte(r.stdout), &all); err != nil || r.code != exitFailed || len(all) != 4 || all[1].What != "overloaded" || all[3].Agent != "Jules" {
		t.Errorf("%v: %+v", err, r)
	}
}

// The list of the agents that have the most to do says on stderr which nodes refuse work.
func TestTopOfOverloaded(t *testing.T) {
	for _, args := range [][]string{{"top"}, {"top", "--json"}} {
		r := runs(t, append(args, "--addr", fakeNode(t, troubledNodes, troubledAgents))...)
		if r.code != exitDone || !strings.HasPrefix(r.stderr, "ribosome: the node n1: it refuses new work ") || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stdout, "Jules") {
			t.Errorf("%+v", r)
		}
	}
}
