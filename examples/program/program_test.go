package program_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/examples/program"
	"github.com/ribosome-agents/ribosome/internal/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

func TestParseAndRefuse(t *testing.T) {
	for _, tt := range []struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		{[]string{"--help"}, program.ExitDone, "usage\n", ""},
		{[]string{"--fast"}, program.ExitUsage, "", "x: flag provided but not defined: -fast; --help lists the flags\n"},
	} {
		err := program.Parse(flag.NewFlagSet("x", flag.ContinueOnError), tt.args)
		var stdout, stderr bytes.Buffer
		code := program.Refuse("x", "usage\n", err, &stdout, &stderr)
		if code != tt.code || stdout.String() != tt.stdout || stderr.String() != tt.stderr {
			t.Errorf("%v: code %d, stdout %q, stderr %q", tt.args, code, &stdout, &stderr)
		}
	}
	if err := program.Parse(flag.NewFlagSet("x", flag.ContinueOnError), nil); err != nil {
		t.Errorf("without arguments: %v", err)
	}
}

func TestReadFile(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("three", []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := program.ReadFile("three", "a file", 3); err != nil || string(text) != "abc" {
		t.Errorf("got %q, %v", text, err)
	}
	if _, err := program.ReadFile("three", "a file", 2); err == nil || err.Error() != "larger than 2 bytes; shorten it" {
		t.Errorf("too large: %v", err)
	}
	if _, err := program.ReadFile("nope", "a text file", 2); !errors.Is(err, os.ErrNotExist) || err.Error() != "no such file or directory; name a text file that can be read" {
		t.Errorf("missing: %v", err)
	}
}

func TestOneLine(t *testing.T) {
	if got := program.OneLine(" a\r\n  b\tc "); got != "a b c" {
		t.Errorf("got %q", got)
	}
	if got := []rune(program.OneLine(strings.Repeat("é", 1000))); len(got) != 400 || got[399] != '…' {
		t.Errorf("got %d characters", len(got))
	}
}
