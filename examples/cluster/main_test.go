package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/internal/leakcheck"
)

// TestMain is also the other nodes, which are processes of this program.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "node" {
		os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	leakcheck.Main(m)
}

func TestCluster(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run(nil, strings.NewReader(""), &stdout, &stderr); code != 0 || stderr.Len() > 0 {
		t.Fatalf("got %d: %s\n%s", code, &stderr, &stdout)
	}
	got := regexp.MustCompile(`(after|took) [0-9][0-9.a-zµ]*`).ReplaceAllString(stdout.String(), "$1 T")
	for _, want := range []string{
		"three nodes know one another's agents after T\n",
		"  Jules runs on n2\n",
		"Jules on n2 has debugged a script for n1: ",
		"  review 1 was done by Reviewer-n2\n  review 2 was done by Reviewer-n3\n",
		"n2 was killed while Reviewer-n2 worked\n  n1 noticed it after T\n  the asker was told after T: task-delegation with Reviewer-n2: failed: the agent disconnected (disconnected)\n",
		"  Reviewer-n3 took over, after T\nn2 was started again, and its agents are back after T\n",
		"12 topics, placed on [n1 n2 n3], got a note each, which took T\n",
		"n3 has drained and left, and each topic has got its second note after T\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant %q", got, want)
		}
	}
}

func TestUsage(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run([]string{"--help"}, nil, &stdout, &stderr); code != 0 || !strings.HasPrefix(stdout.String(), "usage: cluster") {
		t.Errorf("got %d: %s%s", code, &stdout, &stderr)
	}
	if code := run([]string{"x"}, nil, &stdout, &stderr); code != 2 || !strings.Contains(stderr.String(), `unknown argument "x"`) {
		t.Errorf("got %d: %s", code, &stderr)
	}
}
