package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// sources resolves the flags that are not on the command line: from the environment, or
// else from the configuration file. An empty variable does not count.
type sources struct {
	opened bool
	file   configFile
	from   map[string]string // the source of the value of each flag
	words  []string          // the resolved values, which may be secret
}

// Validate implements [kong.Resolver]; the file is checked as it is read.
func (*sources) Validate(*kong.Application) error { return nil }

// Resolve implements [kong.Resolver].
func (s *sources) Resolve(ctx *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if flag.Name == "help" {
		return nil, nil
	}
	if v := os.Getenv(variable(flag.Name)); v != "" {
		s.found(flag, variable(flag.Name))
		s.words = append(s.words, v)
		return listed(flag, v), nil
	}
	if flag.Name == configKey {
		return nil, nil
	}
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	setting, ok := s.file.settings[flag.Name]
	if !ok {
		return nil, nil
	}
	s.found(flag, fmt.Sprintf("%s, line %d: %s", s.file.name, setting.line, flag.Name))
	s.words = append(s.words, setting.words...)
	return setting.value(flag)
}

// open reads the configuration file, if there is one.
func (s *sources) open(ctx *kong.Context) (err error) {
	if s.opened {
		return nil
	}
	s.opened = true
	name := os.Getenv(variable(configKey))
	for _, path := range ctx.Path {
		if path.Flag != nil && path.Flag.Name == configKey && !path.Resolved {
			name = ctx.Value(path).String()
		}
	}
	if name != "" {
		s.file, err = readConfig(name, allFlags())
	}
	return err
}

// flagName matches the name of a flag in a text, with the command of which it is a part: that one
// is to be typed.
var flagName = regexp.MustCompile(`(ribosome [a-z]+ )?--[a-z][a-z0-9-]*`)

// named returns the text of an error with the source of a value in place of a flag that was not
// typed.
func (s *sources) named(text string) string {
	return flagName.ReplaceAllStringFunc(text, func(flag string) string {
		if where, ok := s.from[strings.TrimPrefix(flag, "--")]; ok {
			return where
		}
		return flag
	})
}

func (s *sources) found(flag *kong.Flag, where string) {
	if s.from == nil {
		s.from = make(map[string]string)
	}
	s.from[flag.Name] = where
}

// serviceLink matches the variables that Kubernetes sets for a service named ribosome.
var serviceLink = regexp.MustCompile(`^RIBOSOME_(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT(_[0-9]+_.*)?)$`)

// checkVariables returns an error for the first variable of the environment that is named like
// one of a flag, is not empty and belongs to no flag. The error does not contain its value.
func checkVariables(environ []string, flags map[string]*kong.Flag) error {
	known := make(map[string]bool, len(flags))
	for flag := range flags {
		known[variable(flag)] = true
	}
	slices.Sort(environ)
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		rest, ours := strings.CutPrefix(name, variable(""))
		if !ours || value == "" || known[name] || serviceLink.MatchString(name) {
			continue
		}
		near := variable(nearest(rest, slices.Sorted(maps.Keys(flags))))
		return usagef("no flag has the variable %.60q; the nearest is %s; correct or unset it", name, near)
	}
	return nil
}

// listed returns the value of a variable: a list for a flag that may occur more than once.
// Values that may contain commas have one line each.
func listed(flag *kong.Flag, v string) any {
	if !flag.IsSlice() {
		return v
	}
	sep := ","
	if flag.Tag.Sep == -1 {
		sep = "\n"
	}
	var list []any
	for part := range strings.SplitSeq(v, sep) {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// noValue is the end of kong's error for a last flag without a value.
const noValue = ` value but got "EOL" (<EOL>)`

// explain returns an error of the parser as one line with the source of the value and an
// advice. It leaves out arguments that may be secret.
func (s *sources) explain(err error, args []string) error {
	var usage *usageError
	if errors.As(err, &usage) {
		return usage
	}
	text := err.Error()
	for flag, where := range s.from {
		if rest, ok := strings.CutPrefix(text, "--"+flag); ok && (strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, " ")) {
			text = where + rest
		}
	}
	if flag, ok := strings.CutSuffix(text, noValue); ok {
		text = flag[:strings.LastIndexByte(flag, ':')] + " wants a value"
	}
	help := "ribosome --help"
	var at *kong.ParseError
	if errors.As(err, &at) && at.Context.Selected() != nil {
		help = "ribosome " + at.Context.Selected().Name + " --help"
	}
	return usagef("%s; see %s", strings.TrimSuffix(hide(hide(text, args), s.words), "?"), help)
}
