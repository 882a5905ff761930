package main

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/internal/terminal" //nolint:depguard // a terminal is no part of the API of a runtime
)

// printer prints the output of a command, and stores the first error. Any goroutine may use
// it.
type printer struct {
	to       io.Writer
	terminal bool // escape sequences in the texts of peers must be removed

	mu  sync.Mutex
	err error
}

func newPrinter(w io.Writer) *printer { return &printer{to: w, terminal: terminal.Is(w)} }

// line prints the text of a peer as one line.
func (p *printer) line(text string) { p.text(oneLine(text) + "\n") }

// Write prints text, and returns the first error of the printer.
func (p *printer) Write(text []byte) (int, error) {
	p.text(string(text))
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(text), p.err
}

// text prints text. For a terminal it removes control characters.
func (p *printer) text(text string) {
	if p.terminal {
		text = clean(text)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		_, p.err = io.WriteString(p.to, text)
	}
}

// json prints a value as one line of JSON.
func (p *printer) json(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		p.failed(err)
		return
	}
	p.text(string(plainJSON(text)) + "\n")
}

func (p *printer) failed(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = err
	}
}

// broken reports whether the output takes no more.
func (p *printer) broken() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err != nil
}

// end returns the error of an incomplete output.
func (p *printer) end() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return printing(p.err)
}

// clean removes control characters, and characters that change the direction of text.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' && r != '\n' || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, text)
}

// oneLine returns text without line breaks and control characters, cut to a readable
// length.
func oneLine(text string) string {
	const limit = 400 // characters
	text = clean(strings.Join(strings.Fields(text), " "))
	if utf8.RuneCountInString(text) > limit {
		text = string([]rune(text)[:limit-1]) + "…"
	}
	return text
}

// table aligns rows in columns, two spaces apart. The last column is not padded.
func table(rows [][]string) string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			line += cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
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

// escapes are the escape sequences by which encoding/json writes <, > and & for web pages.
var escapes = []struct {
	text  string // lower case, without the backslash
	plain byte
}{{"u003c", '<'}, {"u003e", '>'}, {"u0026", '&'}}

// plainJSON returns a JSON text with <, > and & as they are: code contains them. The result is JSON
// of the same value. It may share the memory of text.
func plainJSON(text []byte) []byte {
	if !bytes.Contains(text, []byte(`\u00`)) {
		return text
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			out = append(out, text[i])
			continue
		}
		if c, ok := unescaped(text[i+1:]); ok {
			out = append(out, c)
			i += len(escapes[0].text)
			continue
		}
		out = append(out, '\\', text[i+1]) // also the backslash of \\, which begins no other sequence
		i++
	}
	return out
}

// unescaped returns the character of the sequence at the beginning of text, if it is one of
// escapes.
func unescaped(text []byte) (byte, bool) {
	for _, e := range escapes {
		if len(text) >= len(e.text) && bytes.EqualFold(text[:len(e.text)], []byte(e.text)) && text[0] == 'u' {
			return e.plain, true
		}
	}
	return 0, false
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
