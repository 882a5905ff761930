package main

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix" //nolint:depguard // the limit of another process

	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/internal/racetest"
)

// A node whose disk is full goes on, and writes its files again when there is space. Both say how
// much they lack, and so does the node at its end. The bound is that of the node's process: this
// one has files of the test's program to write.
func TestFilesOnAFullDisk(t *testing.T) {
	racetest.Skip(t)
	t.Chdir(t.TempDir())
	n := startMember(t, "node", "--swarm", "eddyjules", "--message-log", "messages", "--audit", "audit.jsonl")
	call := func() {
		t.Helper()
		if r := runs(t, "call", "Jules", "debug_code", "-d", task, "-q", "--addr", n.tcp); r.code != exitDone {
			t.Fatalf("got %+v", r)
		}
	}
	var before unix.Rlimit
	if err := unix.Prlimit(n.Process.Pid, unix.RLIMIT_FSIZE, nil, &before); err != nil {
		t.Fatal(err)
	}
	set := func(size uint64) {
		if err := unix.Prlimit(n.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: size, Max: before.Max}, nil); err != nil {
			t.Fatal(err)
		}
	}
	await := func(texts ...string) { // in any order
		t.Helper()
		for late := time.After(patience.Time); len(texts) > 0; {
			select {
			case line, ok := <-n.log:
				if !ok {
					t.Fatalf("it ended without a word of %q", texts)
				}
				texts = slices.DeleteFunc(texts, func(text string) bool { return strings.Contains(line, text) })
			case <-late:
				t.Fatalf("it says nothing of %q", texts)
			}
		}
	}
	set(1)
	call()
	await(`"a line of a file is missing","file":"messages"`, `"a line of a file is missing","file":"audit.jsonl"`)
	set(before.Cur)
	call()
	await(`"lines of a file are missing","file":"messages"`, `"lines of a file are missing","file":"audit.jsonl"`)
	if err := n.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	await("ribosome: the log of messages lacks ", "ribosome: the audit trail lacks ")
	_ = n.Wait() // what it lacks is an error, which was looked at
	for file, want := range map[string]string{"messages": "\nMCP_MESSAGES_LOST: {\"lines\":", "audit.jsonl": "\n{\"kind\":\"audit.lost\","} {
		text, err := os.ReadFile(file)
		if err != nil || strings.Count("\n"+string(text), want) != 1 {
			t.Errorf("%s: %v; want %q once:\n%s", file, err, want, text)
		}
	}
}
