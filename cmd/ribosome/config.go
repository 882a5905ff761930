package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"
)

// configKey is the only flag that is no key of the configuration file.
const configKey = "config"

// maxConfig is the longest configuration file, in bytes.
const maxConfig = 1 << 20

// configFile is a configuration file: a flat mapping from names of flags to their values.
// One file can serve all commands; each command reads the keys of its flags.
type configFile struct {
	name     string
	settings map[string]setting
}

// setting is one entry of a [configFile].
type setting struct {
	line  int
	words []string
	list  bool
}

// readConfig reads a file whose keys must be among flags. Its errors contain no value of the
// file, which may be a secret.
func readConfig(name string, flags map[string]*kong.Flag) (configFile, error) {
	file := configFile{name: name, settings: make(map[string]setting)}
	text, err := readFile("--config", name, maxConfig)
	if err != nil {
		return file, err
	}
	top, err := topOf(name, text)
	if err != nil || top == nil {
		return file, err
	}
	for i := 0; i < len(top.Content); i += 2 {
		if err := file.add(top.Content[i], top.Content[i+1], flags); err != nil {
			return file, err
		}
	}
	return file, nil
}

// topOf returns the mapping of a file; nil for an empty file.
func topOf(name string, text []byte) (*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc, second yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil //nolint:nilnil // an empty file says nothing
	case err != nil:
		return nil, usagef("%s is not YAML%s; write one key and its value a line, such as tcp: 127.0.0.1:8444", name, lineOf(err))
	}
	if err := dec.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, usagef("%s holds more than one YAML document; leave one", name)
	}
	top := doc.Content[0]
	if top.Kind == yaml.ScalarNode && top.Tag == "!!null" {
		return nil, nil //nolint:nilnil // nor does one with comments only
	}
	if top.Kind != yaml.MappingNode {
		return nil, usagef("%s is no mapping; write one key and its value a line, such as tcp: 127.0.0.1:8444", name)
	}
	return top, nil
}

var yamlLine = regexp.MustCompile(`^yaml: (line \d+)`)

// lineOf returns the line of a YAML error. The rest of the error may quote the file.
func lineOf(err error) string {
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		return " from " + m[1] + " on"
	}
	return ""
}

// add adds one entry.
func (c *configFile) add(key, value *yaml.Node, flags map[string]*kong.Flag) error {
	at := fmt.Sprintf("%s, line %d", c.name, key.Line)
	if key.Value == configKey {
		return usagef("%s: %s names this file, and cannot be in it; leave it out", at, configKey)
	}
	if _, ok := flags[key.Value]; !ok {
		return unknownKey(at, key.Value, flags)
	}
	if first, twice := c.settings[key.Value]; twice {
		return usagef("%s: %s is given twice, first in line %d; leave one", at, key.Value, first.line)
	}
	s := setting{line: key.Line}
	if value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	items := []*yaml.Node{value}
	if s.list = value.Kind == yaml.SequenceNode; s.list {
		items = value.Content
	}
	for _, item := range items {
		if item.Kind != yaml.ScalarNode || item.Tag == "!!null" {
			return usagef("%s: %s wants a value, or a list of values; see ribosome node --help", at, key.Value)
		}
		s.words = append(s.words, item.Value)
	}
	c.settings[key.Value] = s
	return nil
}

var flagLike = regexp.MustCompile(`^[A-Za-z][A-Za-z_-]{0,23}$`)

// unknownKey returns the error of an unknown key. It names the key, unless that may be a
// secret, and the nearest known key.
func unknownKey(at, key string, flags map[string]*kong.Flag) error {
	if !flagLike.MatchString(key) {
		return usagef("%s: this key is no flag; the keys are the flags without their dashes, see ribosome node --help", at)
	}
	known := slices.Sorted(maps.Keys(flags))
	known = slices.DeleteFunc(known, func(k string) bool { return k == configKey })
	return usagef("%s: there is no key %s; the nearest is %s, and ribosome node --help lists the others", at, key, nearest(key, known))
}

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
	where := fmt.Sprintf("%s, line %d: %s", s.file.name, setting.line, flag.Name)
	s.found(flag, where)
	s.words = append(s.words, setting.words...)
	switch {
	case flag.IsSlice():
		var list []any // kong wants one
		for _, w := range setting.words {
			list = append(list, w)
		}
		return list, nil
	case setting.list:
		return nil, usagef("%s wants one value, not a list", where)
	}
	return setting.words[0], nil
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
	if own, ok := errors.AsType[*commandError](err); ok {
		return own
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
