package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/cluster/placement"
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
		`three nodes know one another's agents after T\n`,
		`  Jules runs on n2\n`,
		`Jules on n2 has debugged a script for n1: `,
		`9 reviewers, placed on \[n1 n2 n3\], have done a review each, which took T\n` +
			`  on n1: ` + placedOn("n1") + `\n  on n2: ` + placedOn("n2") + `\n  on n3: ` + placedOn("n3") + `\n`,
		`n2 was killed while its 4 reviewers worked\n  n1 noticed it after T\n(  reviewer/[a-z]+ answered again on n[13] after T; .*\n){4}n2 was started again`,
		`n2 was started again, and Jules and a share of the reviewers are back after T\n`,
		`n3 has drained and left, and each reviewer has gone on counting its reviews after T\n(  on n[12]: reviewer.*\n)+$`,
	} {
		if !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("got\n%s\nwant %s", got, want)
		}
	}
	for _, id := range strings.Split(placedOn("n2"), ", ") {
		want := "  " + id + ` answered again on (n1|n3) after T; its asker was told after T: task-delegation with ` + id + `: failed: the node n2 of the agent cannot be reached \(disconnected\)\n`
		if all := regexp.MustCompile(want).FindAllString(got, -1); len(all) != 1 {
			t.Errorf("got\n%s\nwant once %s", got, want)
		}
	}
}

// placedOn lists the reviewers that a node of three gets.
func placedOn(node string) string {
	var all []string
	for _, id := range reviewers {
		if placement.Pick(id, []string{"n1", "n2", "n3"}) == node {
			all = append(all, string(id))
		}
	}
	return strings.Join(all, ", ")
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
