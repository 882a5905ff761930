package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/tabwriter"

	examples "github.com/ribosome-agents/ribosome/examples/program"
	"github.com/ribosome-agents/ribosome/internal/terminal" //nolint:depguard // a terminal is no part of the API of a runtime
)

// printer prints the output of a command, and stores the first error. Any goroutine may use
// it.
type printer struct {
	*examples.Output
	terminal bool // escape sequences in the texts of peers must be removed
}

func newPrinter(w io.Writer) *printer { return &printer{examples.NewOutput(w), terminal.Is(w)} }

// line prints the text of a peer as one line.
func (p *printer) line(text string) { p.text(oneLine(text) + "\n") }

// Write prints text, and returns the first error of the printer.
func (p *printer) Write(text []byte) (int, error) {
	p.text(string(text))
	return len(text), p.Err()
}

// text prints text. For a terminal it removes control characters.
func (p *printer) text(text string) {
	if p.terminal {
		text = examples.Clean(text)
	}
	_, _ = p.Output.Write([]byte(text)) // end returns the error
}

// json prints a value as one line of JSON.
func (p *printer) json(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		p.Fail(err)
		return
	}
	p.text(string(plainJSON(text)) + "\n")
}

// broken reports whether the output takes no more.
func (p *printer) broken() bool { return p.Err() != nil }

// end returns the error of an incomplete output.
func (p *printer) end() error { return examples.Printing(p.Err()) }

// oneLine returns text without line breaks and control characters, cut to a readable
// length.
func oneLine(text string) string {
	return examples.OneLine(examples.Clean(strings.Join(strings.Fields(text), " ")))
}

var trailing = regexp.MustCompile(` +\n`)

// table aligns rows of as many cells in columns, two spaces apart.
func table(rows [][]string) string {
	var b strings.Builder
	columns := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		_, _ = fmt.Fprintln(columns, strings.Join(row, "\t")) // a builder takes everything
	}
	_ = columns.Flush()
	return trailing.ReplaceAllString(b.String(), "\n")
}

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

// plainly replaces the escape sequences by which encoding/json writes <, > and & for web pages. An
// escaped backslash begins no other sequence.
var plainly = strings.NewReplacer(`\\`, `\\`, `\u003c`, "<", `\u003C`, "<", `\u003e`, ">", `\u003E`, ">", `\u0026`, "&")

// plainJSON returns a JSON text with <, > and & as they are: code contains them. The result is JSON
// of the same value. It may share the memory of text.
func plainJSON(text []byte) []byte {
	if !bytes.Contains(text, []byte(`\u00`)) {
		return text
	}
	return []byte(plainly.Replace(string(text)))
}

// plainJSONWriter is a writer of lines with JSON in them: it writes <, > and & as they are. Each
// Write is one line.
type plainJSONWriter struct{ to io.Writer }

func (w plainJSONWriter) Write(line []byte) (int, error) {
	if _, err := w.to.Write(plainJSON(line)); err != nil {
		return 0, err
	}
	return len(line), nil
}
