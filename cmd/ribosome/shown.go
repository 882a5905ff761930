package main

import (
	"regexp"
	"strings"
)

const (
	// longName is from where on a name without an extension is taken for a secret, in
	// bytes. A token of a node has 22 or more.
	longName = 20
	// longPath is what no path that people write is longer than, in bytes.
	longPath = 100

	notShown = "(not shown: it looks like a secret)"
)

var extension = regexp.MustCompile(`[^.]\.[A-Za-z0-9]{1,5}$`)

// shown is text for an error, if it may be: somebody who takes a flag for another puts a
// token where the name of a file belongs, and tokens are never printed. What is long
// without looking like a path is not shown.
func shown(text string) string {
	if len(text) > longPath || len(text) >= longName && strings.ContainsAny(text, "+=") {
		return notShown
	}
	for name := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '/' || r == '\\' }) {
		if len(name) >= longName && (!extension.MatchString(name) || strings.Contains(name, "eyJ")) {
			return notShown
		}
	}
	return text
}

// hide is an error of the parser without the arguments that are not to be shown.
func hide(text string, args []string) string {
	for _, arg := range args {
		name, value, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if strings.HasPrefix(arg, "-") && flagLike.MatchString(name) {
			arg = value
		}
		if arg != "" && shown(arg) != arg {
			text = strings.ReplaceAll(text, arg, notShown)
		}
	}
	return text
}
