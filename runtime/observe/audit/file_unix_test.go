//go:build unix

package audit_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/runtime/observe/audit"
)

// limitFiles bounds the size of the files that this process writes, as a full disk does: a write
// that crosses the bound is cut there, and the next one fails. The function that it returns ends
// the bound.
func limitFiles(t *testing.T, size uint64) (end func()) {
	t.Helper()
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	set := func(l syscall.Rlimit) {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
			t.Fatal(err)
		}
	}
	set(syscall.Rlimit{Cur: size, Max: before.Max})
	end = func() { set(before) }
	t.Cleanup(end)
	return end
}

func openFile(t *testing.T, o audit.FileOptions) *audit.File {
	t.Helper()
	o.Lost = func(n uint64) []byte { return fmt.Appendf(nil, "LOST %d", n) }
	f, err := audit.OpenFile(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// A disk is full, has a little space, is full again, and then has space: the half lines have an
// end, and a line says how many are missing.
func TestFileOnAFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	var log bytes.Buffer
	f := openFile(t, audit.FileOptions{Path: path, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	line := []byte(strings.Repeat("x", 9))
	write := func(times int, want bool) {
		t.Helper()
		for range times {
			if err := f.Append(line); (err == nil) != want {
				t.Fatalf("%v, want success: %v", err, want)
			}
		}
	}
	write(2, true)
	end := limitFiles(t, 25)
	write(3, false)
	end()
	end = limitFiles(t, 27) // for the end of the half line, and for a part of the next one
	write(2, false)
	end()
	write(1, true)
	end = limitFiles(t, 45) // as long as the file is: nothing is written, not even a part
	write(1, false)
	end()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if want := "xxxxxxxxx\nxxxxxxxxx\nxxxxx\nL\nLOST 5\nxxxxxxxxx\nLOST 1\n"; err != nil || string(text) != want {
		t.Errorf("%q, %v; want %q", text, err, want)
	}
	if got := f.Counts(); got != (audit.Counts{Written: 5, Failed: 6}) {
		t.Errorf("%+v", got)
	}
	if n := strings.Count(log.String(), "a line of a file is missing"); n != 2 || strings.Count(log.String(), "lines=5") != 1 {
		t.Errorf("%d errors, want one for each row of them:\n%s", n, &log)
	}
}

// The trail says how many events a full disk has cost, and each of its whole lines is JSON.
func TestTrailOnAFullDisk(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	n := newNode(t)
	trail := open(t, n, audit.Options{FileOptions: audit.FileOptions{Path: file}, Kinds: []events.Kind{runtime.KindMemberLost}})
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	end := limitFiles(t, uint64(info.Size())+10)
	for range 193 {
		n.Events().Publish(runtime.MemberLost{})
	}
	if err := trail.Close(t.Context()); err == nil {
		t.Error("the trail lacks lines, and Close says nothing")
	}
	end()
	if got := trail.Counts(); got.Failed != 193 {
		t.Errorf("%+v", got)
	}
	// The process ends here. The next one ends the half line.
	again := open(t, n, audit.Options{FileOptions: audit.FileOptions{Path: file}, Kinds: []events.Kind{runtime.KindMemberLost}})
	if err := again.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(file)
	all := strings.Split(string(text), "\n")
	if len(all) != 4 || !strings.HasPrefix(all[0], `{"kind":"audit.opened"`) || len(all[1]) != 10 || !strings.HasPrefix(all[2], `{"kind":"audit.opened"`) {
		t.Errorf("%q", all)
	}
}

// A rotation that fails costs no line, is logged once, and is tried again.
func TestRotationThatFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	f := openFile(t, audit.FileOptions{Path: filepath.Join(dir, "log"), Megabytes: 1, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	line := bytes.Repeat([]byte("x"), 1<<19)
	for i := range 6 {
		switch i {
		case 1: // there is no place for a new file
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		case 4:
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Append(line); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(got) != 2 {
		t.Errorf("%v, %v; want two files: the last two lines do not go into one", got, err)
	}
	if n := strings.Count(log.String(), "a file is not rotated"); n != 1 {
		t.Errorf("%d errors of the rotation, want the first:\n%s", n, &log)
	}
	if got := f.Counts(); got != (audit.Counts{Written: 6}) {
		t.Errorf("%+v\n%s", got, &log)
	}
}

// What is no regular file is not rotated.
func TestFileThatIsADevice(t *testing.T) {
	link := filepath.Join(t.TempDir(), "null")
	if err := os.Symlink(os.DevNull, link); err != nil {
		t.Fatal(err)
	}
	f := openFile(t, audit.FileOptions{Path: link, Megabytes: 1})
	line := make([]byte, 1<<20)
	for range 3 {
		if err := f.Append(line); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.Readlink(link); err != nil || got != os.DevNull {
		t.Errorf("%q, %v", got, err)
	}
}

// A half line that a killed process has left is ended, and the Logger is told.
func TestHalfLineAtTheEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("whole\nhal"), 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	for range 2 {
		f := openFile(t, audit.FileOptions{Path: path, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if _, err := f.Write([]byte("new\n")); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "whole\nhal\nnew\nnew\n" {
		t.Errorf("%q, %v", text, err)
	}
	if n := strings.Count(log.String(), "was not complete"); n != 1 {
		t.Errorf("%d warnings:\n%s", n, &log)
	}
}

// The end of a half line goes into the file that has the line, not into the one after a rotation.
func TestHalfLineBeforeARotation(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "log")
	if err := os.WriteFile(path, bytes.Repeat([]byte("x"), 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	f := openFile(t, audit.FileOptions{Path: path, Megabytes: 1})
	if err := f.Append([]byte("new")); err != nil {
		t.Fatal(err)
	}
	old, err := filepath.Glob(filepath.Join(dir, "log-*-size"))
	if err != nil || len(old) != 1 {
		t.Fatalf("%v, %v", old, err)
	}
	if text, err := os.ReadFile(old[0]); err != nil || !bytes.HasSuffix(text, []byte("x\n")) {
		t.Errorf("the old file ends with %q, %v", text[len(text)-5:], err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "new\n" {
		t.Errorf("%q, %v", text, err)
	}
}
