package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/internal/racetest"
)

// model returns the grammar as kong sees it.
func model() *kong.Application { return newParser(new(cli), io.Discard, func(int) {}).Model }

// The help of each command has its flags with their variables, and nothing that is
// secret.
func TestHelp(t *testing.T) {
	racetest.Skip(t)
	t.Chdir(t.TempDir())
	t.Setenv("RIBOSOME_CONFIG", writeFile(t, "c.yaml", "token: s3cret\n"))
	t.Setenv("RIBOSOME_TOKEN", "s3cret")
	for _, cmd := range model().Children {
		r := runs(t, cmd.Name, "--help")
		if r.code != exitDone || r.stderr != "" || !strings.HasPrefix(r.stdout, "Usage: ribosome "+cmd.Name) {
			t.Errorf("%s --help: %+v", cmd.Name, r)
		}
		for name := range flagsOf(cmd) {
			if !strings.Contains(r.stdout, "--"+name) || !strings.Contains(r.stdout, "$"+variable(name)) {
				t.Errorf("%s --help says nothing of --%s", cmd.Name, name)
			}
		}
		if strings.Contains(r.stdout, "s3cret") {
			t.Errorf("%s --help tells a secret", cmd.Name)
		}
	}
	if r := runs(t, "--help"); r.code != exitDone || !strings.Contains(r.stdout, "Commands:") {
		t.Errorf("--help: %+v", r)
	}
}

// Flags of the same name are of the same kind in all commands, since they share a key
// and a variable.
func TestSharedFlags(t *testing.T) {
	kinds := make(map[string]string)
	for _, cmd := range model().Children {
		for name, f := range flagsOf(cmd) {
			kind := f.Target.Type().String()
			if other, ok := kinds[name]; ok && other != kind {
				t.Errorf("--%s is a %s and a %s", name, kind, other)
			}
			kinds[name] = kind
		}
	}
}

var update = flag.Bool("update", false, "write the tables of docs/cli.md")

// The tables of docs/cli.md are those of the grammar.
func TestDocumented(t *testing.T) {
	const name = "../../docs/cli.md"
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	want := string(text)
	for _, cmd := range model().Children {
		for title, table := range tables(cmd) {
			begin, end := "<!-- "+title+" -->\n", "<!-- end -->"
			before, rest, ok := strings.Cut(want, begin)
			_, after, ok2 := strings.Cut(rest, end)
			if !ok || !ok2 {
				t.Fatalf("docs/cli.md has no table %q", title)
			}
			want = before + begin + table + end + after
		}
	}
	if *update {
		writeFile(t, name, want)
	} else if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("docs/cli.md is not up to date, run the test with -update: %s", diff)
	}
}

// tables are the flags of a command in Markdown: its own, and those of all clients.
func tables(cmd *kong.Node) map[string]string {
	all := make(map[string]string)
	for _, f := range cmd.Flags {
		title := "flags of " + cmd.Name
		if f.Group != nil && f.Group.Key == "The node:" {
			title = "flags of clients"
		}
		if f.Group != nil && f.Group.Key == operatorGroup {
			title = "flags of operators"
		}
		if all[title] == "" {
			all[title] = "| flag and key | variable | default | |\n|---|---|---|---|\n"
		}
		name := "`--" + f.Name + "`"
		if f.Short != 0 {
			name += ", `-" + string(f.Short) + "`"
		}
		value := ""
		if f.HasDefault {
			value = "`" + f.Default + "`"
		}
		all[title] += fmt.Sprintf("| %s | `%s` | %s | %s |\n", name, variable(f.Name), value, strings.ReplaceAll(f.Help, "|", "\\|"))
	}
	return all
}

func TestVersion(t *testing.T) {
	for _, arg := range []string{"version", "--version"} {
		if r := runs(t, arg); r.code != exitDone || r.stderr != "" || !strings.HasPrefix(r.stdout, "ribosome ") || strings.Count(r.stdout, "\n") != 1 {
			t.Errorf("%s: got %+v", arg, r)
		}
	}
}
