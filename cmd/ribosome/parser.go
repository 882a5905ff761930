package main

import (
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

const description = `Runs a node of agents, and talks to one.

Each flag has a variable in the environment, and a key of its own name in the YAML file that --config names: --tcp, RIBOSOME_TCP and tcp are the same. A flag goes before the environment, which goes before the file.`

// newParser returns the parser of g, which calls exit after it has printed help. A grammar that kong
// refuses is a mistake of this package.
func newParser(g *cli, stdout io.Writer, exit func(int), more ...kong.Option) *kong.Kong {
	return kong.Must(g, append([]kong.Option{
		kong.Name("ribosome"),
		kong.Description(description),
		kong.Writers(stdout, stdout),
		kong.Exit(exit),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.ValueFormatter(helpOf),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(decodeDuration)),
	}, more...)...)
}

// onlyCommand leaves all commands out of the grammar but the one that args begin with, because kong
// takes milliseconds to model all of them. Without such a command, it leaves out nothing.
func onlyCommand(args []string) kong.Option {
	var others []string
	found := false
	for f := range reflect.TypeFor[cli]().Fields() {
		switch {
		case f.Type.Kind() != reflect.Struct: // a flag
		case len(args) > 0 && args[0] == strings.ToLower(f.Name): //nolint:gocritic // kong minds the case
			found = true
		default:
			others = append(others, f.Name)
		}
	}
	if !found {
		return kong.IgnoreFields()
	}
	return kong.IgnoreFields(`^cli\.(` + strings.Join(others, "|") + ")$")
}

// helpOf returns the help of a flag, with its variable.
func helpOf(v *kong.Value) string {
	if v.Flag == nil || v.Name == "help" {
		return v.Help
	}
	return fmt.Sprintf("%s ($%s).", strings.TrimSuffix(v.Help, "."), variable(v.Name))
}

// variable returns the name of a flag in the environment.
func variable(flag string) string {
	return "RIBOSOME_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// allFlags returns the flags of all commands by their names, except --help.
func allFlags() map[string]*kong.Flag {
	return flagsOf(newParser(new(cli), io.Discard, os.Exit).Model.Node)
}

// flagsOf returns the flags of n and of its subcommands by their names, except --help.
func flagsOf(n *kong.Node) map[string]*kong.Flag {
	flags := make(map[string]*kong.Flag)
	for _, f := range n.Flags {
		if f.Name != "help" {
			flags[f.Name] = f
		}
	}
	for _, child := range n.Children {
		for name, f := range flagsOf(child) {
			flags[name] = f
		}
	}
	return flags
}
