package main

import (
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/ribosome-agents/ribosome/internal/racetest"
)

// ourCommand matches a call of ribosome in a document; its first group has the arguments.
var ourCommand = regexp.MustCompile(`^\s*(?:\$ )?(?:[A-Z_]+=\S+ )*(?:\./|go run \./cmd/)?ribosome ((?:[a-z-]+|--[a-z-]+)(?: .*)?)$`)

// codeOfDocuments matches the places of a document that have commands: blocks, indented lines and
// spans.
var codeOfDocuments = regexp.MustCompile("(?s)```(?:sh|bash)\n(.*?)```|((?:\n    [^\n]*)+)|`([^`\n]+)`")

// Each command and flag of ribosome that a document names is one of the grammar.
func TestCommandsOfDocuments(t *testing.T) {
	racetest.Skip(t)
	root, grammar := os.DirFS("../.."), model().Node
	checked := 0
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || path != "." && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".md") || path == "CHANGELOG.md" || strings.HasPrefix(path, "docs/adr/"):
			return nil // what was decided or changed once
		}
		text, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		for _, command := range commandsOf(string(text)) {
			checked++
			if fault := commandFault(grammar, command); fault != "" {
				t.Errorf("%s: ribosome %s: %s", path, command, fault)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked < 100 {
		t.Errorf("found only %d commands", checked)
	}
}

// TestCommandFaults finds a wrong command and a wrong flag, also in the second line of a command.
func TestCommandFaults(t *testing.T) {
	text := "Start `ribosome nodes`.\n\n```sh\nribosome node --name n1 \\\n    --gosip x   # comment\nFOO=1 go run ./cmd/ribosome call A b --deadline 1s | head -n 3\n```\n\n    ribosome tail --nope=1\n"
	grammar := model().Node
	var faults []string
	for _, command := range commandsOf(text) {
		if fault := commandFault(grammar, command); fault != "" {
			faults = append(faults, fault)
		}
	}
	slices.Sort(faults)
	if want := []string{"there is no command nodes", "there is no flag --gosip", "there is no flag --nope"}; !slices.Equal(faults, want) {
		t.Errorf("got %q, want %q", faults, want)
	}
}

// commandsOf returns the arguments of the calls of ribosome in a document.
func commandsOf(text string) (commands []string) {
	for _, found := range codeOfDocuments.FindAllStringSubmatch(text, -1) {
		block := strings.ReplaceAll(found[1]+found[2]+found[3], "\\\n", " ")
		for line := range strings.Lines(block) {
			line, _, _ = strings.Cut(strings.TrimRight(line, "\n"), "  #")
			for part := range strings.SplitSeq(line, " | ") {
				if call := ourCommand.FindStringSubmatch(part); call != nil {
					commands = append(commands, call[1])
				}
			}
		}
	}
	return commands
}

var flagOfCall = regexp.MustCompile(`(?:^|[\s\[])--([a-z][a-z-]*)`)

// commandFault returns the first command or flag of a call that the grammar does not have, empty
// for none.
func commandFault(grammar *kong.Node, call string) string {
	command := grammar
	words := strings.Fields(call)
	for len(words) > 0 && len(command.Children) > 0 && !strings.HasPrefix(words[0], "-") {
		i := slices.IndexFunc(command.Children, func(n *kong.Node) bool { return n.Name == words[0] || slices.Contains(n.Aliases, words[0]) })
		if i < 0 {
			return "there is no command " + words[0]
		}
		command, words = command.Children[i], words[1:]
	}
	flags := flagsOf(command)
	for _, f := range flagOfCall.FindAllStringSubmatch(strings.Join(words, " "), -1) {
		if flags[f[1]] == nil && f[1] != "help" && f[1] != "config" && !(command == grammar && f[1] == "version") {
			return "there is no flag --" + f[1]
		}
	}
	return ""
}
