package main

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// model returns the grammar as kong sees it.
func model(t *testing.T) *kong.Application {
	t.Helper()
	k, err := newParser(new(cli), io.Discard, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	return k.Model
}

// The help of each command has its flags with their variables, and nothing that is
// secret.
func TestHelp(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("RIBOSOME_CONFIG", writeFile(t, "c.yaml", "token: s3cret\n"))
	t.Setenv("RIBOSOME_TOKEN", "s3cret")
	for _, cmd := range model(t).Children {
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
	for _, cmd := range model(t).Children {
		for name, f := range flagsOf(cmd) {
			kind := f.Target.Type().String()
			if other, ok := kinds[name]; ok && other != kind {
				t.Errorf("--%s is a %s and a %s", name, kind, other)
			}
			kinds[name] = kind
		}
	}
}

// docs/cli.md has a row for each flag of each command.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := strings.Split(string(text), "\n## ")
	for _, cmd := range model(t).Children {
		section := ""
		for _, s := range sections {
			if strings.HasPrefix(s, "ribosome "+cmd.Name+"\n") {
				section = s
			}
		}
		if section == "" {
			t.Errorf("docs/cli.md has no section about ribosome %s", cmd.Name)
		}
		for name, f := range flagsOf(cmd) {
			row := "| `--" + name + "`"
			if name == "addr" || f.Group != nil && f.Group.Key == "The node:" { // in a section of its own, of all clients
				continue
			}
			if !strings.Contains(section, row) {
				t.Errorf("docs/cli.md does not say what --%s of ribosome %s is", name, cmd.Name)
			}
		}
	}
}

func TestVersion(t *testing.T) {
	if r := runs(t, "version"); r.code != exitDone || !strings.HasPrefix(r.stdout, "ribosome ") || strings.Count(r.stdout, "\n") != 1 {
		t.Errorf("got %+v", r)
	}
}
