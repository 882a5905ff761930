package main

import (
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

const description = `Runs a node of agents, and talks to one.

Each flag has a variable in the environment, and a key of its own name in the YAML file that --config names: --tcp, RIBOSOME_TCP and tcp are the same. A flag goes before the environment, which goes before the file.`

// newParser returns the parser of g. The parser calls exit after it has printed help.
func newParser(g *cli, stdout io.Writer, exit func(int), more ...kong.Option) (*kong.Kong, error) {
	return kong.New(g, append([]kong.Option{
		kong.Name("ribosome"),
		kong.Description(description),
		kong.Writers(stdout, stdout),
		kong.Exit(exit),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.ValueFormatter(helpOf),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(decodeDuration)),
	}, more...)...)
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
