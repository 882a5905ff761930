//go:build unix

package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// A node whose disk is full goes on, and writes its files again when there is space. Both say how much they lack, and so does the node at its end.
func TestFilesOnAFullDisk(t *testing.T) {
	t.Chdir(t.TempDir())
	n := hosts(t, "--no-auth", "--swarm", "eddyjules", "--message-log", "messages", "--audit", "audit.jsonl")
	call := func() {
		t.Helper()
		if r := runs(t, "call", "Jules", "debug_code", "-d", task, "-q", "--addr", n.at["tcp"]); r.code != exitDone {
			t.Fatalf("got %+v", r)
		}
	}
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	set := func(size uint64) {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: before.Max}); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { set(before.Cur) })
	set(1)
	call()
	n.shows(&n.stderr, `"a line of a file is missing","file":"messages"`)
	n.shows(&n.stderr, `"a line of a file is missing","file":"audit.jsonl"`)
	set(before.Cur)
	call()
	n.shows(&n.stderr, `"lines of a file are missing","file":"messages"`)
	n.shows(&n.stderr, `"lines of a file are missing","file":"audit.jsonl"`)
	end := n.end()
	for file, want := range map[string][2]string{
		"messages":    {"\nMCP_MESSAGES_LOST: {\"lines\":", "the log of messages lacks "},
		"audit.jsonl": {"\n{\"kind\":\"audit.lost\",", "the audit trail lacks "},
	} {
		text, err := os.ReadFile(file)
		if err != nil || strings.Count("\n"+string(text), want[0]) != 1 || !strings.Contains(end.stderr, "ribosome: "+want[1]) {
			t.Errorf("%s: %v; want %q once, and %q at the end:\n%s", file, err, want[0], want[1], text)
		}
	}
}
