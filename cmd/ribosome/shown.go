package main

import (
	"regexp"
	"strings"
)

const (
	// longName is the least length of a name without an extension that may be a secret,
	// in bytes. A token of a node has 22 or more.
	longName = 20
	// longPath is the longest text that may be a path, in bytes.
	longPath = 100

	notShown = "(not shown: it looks like a secret)"
)

var extension = regexp.MustCompile(`[^.]\.[A-Za-z0-9]{1,5}$`)

// shown returns text for an error message, or notShown for a text that may be a secret: a
// user who confuses two flags gives a token as the name of a file, and tokens are never
// printed. A long text that does not look like a path may be a secret.
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

// hide returns an error of the parser without the arguments that may be secrets.
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
