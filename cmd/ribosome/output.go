package main

import (
	"encoding/json"
	"io"
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
