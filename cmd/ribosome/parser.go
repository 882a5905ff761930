package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/aymanbagabas/go-udiff"

	"github.com/ribosome-agents/ribosome/wire"
)

const description = `Runs a node of agents, and talks to one.

Each flag has a variable in the environment, and a key of its own name in the YAML file that --config names: --tcp, RIBOSOME_TCP and tcp are the same. A flag goes before the environment, which goes before the file.`

// newParser returns the parser of g, which calls exit after it has printed help. A grammar that
// kong refuses is a mistake of this package.
func newParser(g *cli, stdout io.Writer, exit func(int), more ...kong.Option) *kong.Kong {
	return kong.Must(g, append([]kong.Option{
		kong.Name("ribosome"),
		kong.Description(description),
		kong.Writers(stdout, stdout),
		kong.Exit(exit),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.ValueFormatter(helpOf),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), decoder("duration", setDuration)),
		kong.NamedMapper("positive", decoder("number", setPositive)),
		kong.NamedMapper("name", decoder("name", setName)),
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

// nearest returns the name that is most similar to the written one, and the first of several.
func nearest(written string, names []string) string {
	written = strings.ReplaceAll(strings.ToLower(written), "_", "-")
	return slices.MinFunc(names, func(a, b string) int { return cmp.Compare(slips(written, a), slips(written, b)) })
}

// slips returns the number of letters to insert into a, or to remove from it, to make b of it.
func slips(a, b string) (n int) {
	for _, e := range udiff.Strings(a, b) {
		n += e.End - e.Start + len(e.New)
	}
	return n
}

// decoder returns the mapper of values that set reads.
func decoder(what string, set func(text string, target reflect.Value) error) kong.MapperFunc {
	return func(ctx *kong.DecodeContext, target reflect.Value) error {
		var text string
		if err := ctx.Scan.PopValueInto(what, &text); err != nil {
			return err
		}
		return set(text, target)
	}
}

// setDuration reads a length of time that is not negative.
func setDuration(text string, target reflect.Value) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return fmt.Errorf("want a length of time, such as 500ms, 30s or 5m, not %.40q", shown(text))
	}
	target.SetInt(int64(d))
	return nil
}

// setPositive reads a length of time, or a number, above zero.
func setPositive(text string, target reflect.Value) error {
	set := setNumber
	if target.Type() == reflect.TypeFor[time.Duration]() {
		set = setDuration
	}
	if err := set(text, target); err != nil {
		return err
	}
	if target.Int() <= 0 {
		return fmt.Errorf("want more than 0, not %v", target)
	}
	return nil
}

func setNumber(text string, target reflect.Value) error {
	n, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("want a number, not %.40q", shown(text))
	}
	target.SetInt(int64(n))
	return nil
}

// setName reads a name that is not empty.
func setName(text string, target reflect.Value) error {
	if text == "" {
		return errors.New("it may not be empty")
	}
	target.SetString(text)
	return nil
}

// rate is a [wire.Rate], written such as 100/1m.
type rate wire.Rate

// UnmarshalText reads a number of messages and a window.
func (r *rate) UnmarshalText(text []byte) error {
	number, window, _ := strings.Cut(string(text), "/")
	n, err := strconv.Atoi(number)
	d, err2 := time.ParseDuration(window)
	if err != nil || err2 != nil || n <= 0 || d <= 0 {
		return fmt.Errorf("want a number of messages and a window, such as 100/1m, not %.40q", shown(string(text)))
	}
	*r = rate{Messages: n, Window: d}
	return nil
}

// size is a number of bytes, written such as 65536, 64KiB or 16MiB.
type size int

// units are the suffixes of a [size].
var units = []struct {
	suffix string
	bytes  int
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"", 1}}

// UnmarshalText reads a positive number of bytes.
func (s *size) UnmarshalText(text []byte) error {
	for _, u := range units {
		number, ok := strings.CutSuffix(string(text), u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.Atoi(number)
		if err != nil || n <= 0 || n > math.MaxInt32/u.bytes {
			break
		}
		*s = size(n * u.bytes)
		return nil
	}
	return fmt.Errorf("want a number of bytes up to 2 GiB, such as 65536, 64KiB or 16MiB, not %.40q", shown(string(text)))
}
