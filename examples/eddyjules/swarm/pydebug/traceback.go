package pydebug

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// traceback is what Python printed about one exception: the last one, if
// several are chained.
type traceback struct {
	frames  []frame
	kind    string // "IndexError"; empty if the last line is missing
	message string
	header  bool
	chained bool
}

// frame is one `File "x.py", line 3, in f` with the source line under it.
type frame struct {
	file, function string
	line           int
	text           string // the source line, trimmed; empty if not shown
	textAt         int    // where it begins in its line, in runes
	marks          *marks
}

// marks are the ~~~^^^ under a source line, in runes from the line's text.
type marks struct{ start, end int }

const tracebackHeader = "Traceback (most recent call last):"

// tracebackReader goes through a pasted text line by line. Lines may carry a
// prefix: white space, quotation marks or what a logger puts there.
type tracebackReader struct {
	current  traceback
	complete *traceback
	prefix   string
}

// readTraceback returns the last exception in text, or nil if there is none.
func readTraceback(text string) *traceback {
	r := &tracebackReader{}
	blocks := 0
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, "\r \t")
		if r.startsBlock(line) {
			blocks++
		}
		r.line(line)
	}
	tb := r.result()
	if tb == nil {
		tb = scanForError(text)
	}
	if tb != nil {
		tb.chained = blocks > 1
	}
	return tb
}

// result prefers the last exception that is complete, unless a newer one was
// cut off before its last line.
func (r *tracebackReader) result() *traceback {
	if len(r.current.frames) > 0 {
		return &r.current
	}
	return r.complete
}

func (r *tracebackReader) startsBlock(line string) bool {
	return strings.Contains(line, tracebackHeader)
}

func (r *tracebackReader) line(line string) {
	if i := strings.Index(line, tracebackHeader); i >= 0 {
		r.current = traceback{header: true}
		r.prefix = line[:i]
		return
	}
	if f, at, ok := readFrame(line); ok {
		if !r.current.header && len(r.current.frames) == 0 {
			r.prefix = strings.TrimSuffix(line[:at], "  ")
		}
		r.current.frames = append(r.current.frames, f)
		return
	}
	if r.current.header || len(r.current.frames) > 0 {
		r.detail(r.unprefixed(line))
	}
}

// unprefixed strips what looks like the block's prefix; digits may differ, as
// the time does from line to line.
func (r *tracebackReader) unprefixed(line string) string {
	p := r.prefix
	if len(line) < len(p) {
		return line
	}
	for i := range len(p) {
		if p[i] != line[i] && !(isDigit(p[i]) && isDigit(line[i])) {
			return line
		}
	}
	return line[len(p):]
}

// readFrame reads `File "x.py", line 3, in f` wherever it is in the line, and
// returns where it begins.
func readFrame(line string) (frame, int, bool) {
	at := strings.Index(line, `File "`)
	if at < 0 {
		return frame{}, 0, false
	}
	file, rest, ok := strings.Cut(line[at+len(`File "`):], `", line `)
	if !ok {
		return frame{}, 0, false
	}
	number, function, _ := strings.Cut(rest, ",")
	n, err := strconv.Atoi(strings.TrimSpace(number))
	if err != nil || n < 0 {
		return frame{}, 0, false
	}
	function = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(function), "in "))
	return frame{file: file, function: function, line: n}, at, true
}

// detail reads a line of a block that starts no frame.
func (r *tracebackReader) detail(line string) {
	trimmed := strings.TrimSpace(line)
	if trimmed == "" || strings.HasPrefix(trimmed, "[Previous line repeated") {
		return
	}
	var last *frame
	if n := len(r.current.frames); n > 0 {
		last = &r.current.frames[n-1]
	}
	kind, message, isError := errorLine(line)
	switch {
	case isError && (last == nil || last.text != "" || hasErrorSuffix(kind)):
		r.finish(kind, message)
	case last != nil && last.text == "":
		before, _, _ := strings.Cut(line, trimmed)
		last.text = trimmed
		last.textAt = utf8.RuneCountInString(before)
	case last != nil && strings.Trim(trimmed, "~^ ") == "":
		last.marks = readMarks(line, last.textAt)
	}
}

func (r *tracebackReader) finish(kind, message string) {
	done := r.current
	done.kind, done.message = kind, message
	r.complete = &done
	r.current = traceback{}
}

func readMarks(line string, textAt int) *marks {
	first := strings.IndexAny(line, "~^")
	last := strings.LastIndexAny(line, "~^")
	at := utf8.RuneCountInString(line[:first]) - textAt
	if at < 0 {
		return nil
	}
	return &marks{at, at + last + 1 - first}
}

// errorLine reads `package.SomeError: message`, which begins in the first column.
func errorLine(line string) (kind, message string, ok bool) {
	name, message, _ := strings.Cut(line, ":")
	if name == "" || strings.ContainsAny(name, " \t\"'()[]{}=") {
		return "", "", false
	}
	last := name[strings.LastIndex(name, ".")+1:]
	if last == "" || last[0] < 'A' || last[0] > 'Z' {
		return "", "", false
	}
	for i := range len(name) {
		if !isNamePart(name[i]) && name[i] != '.' {
			return "", "", false
		}
	}
	return strings.TrimPrefix(name, "builtins."), strings.TrimSpace(message), true
}

// errorSuffixes end the names of exceptions by convention.
var errorSuffixes = []string{"Error", "Exception", "Iteration", "Interrupt", "Exit"}

// scanForError finds the last `SomeError: message` in a text without frames,
// and the line number that pytest puts in front of it: `x.py:3: IndexError`.
func scanForError(text string) *traceback {
	var found *traceback
	for line := range strings.SplitSeq(text, "\n") {
		tb := errorIn(line)
		if tb == nil {
			continue
		}
		if found != nil && tb.message == "" && tb.kind == found.kind {
			tb.message = found.message
		}
		found = tb
	}
	return found
}

// errorIn finds the first word of line that is the name of an exception.
func errorIn(line string) *traceback {
	for at := 0; at < len(line); {
		word, _, _ := strings.Cut(line[at:], " ")
		if name, _, _ := strings.Cut(word, ":"); hasErrorSuffix(name) {
			if tb := errorAt(line[at:], line); tb != nil {
				return tb
			}
		}
		at += len(word) + 1
	}
	return nil
}

func errorAt(rest, line string) *traceback {
	kind, message, ok := errorLine(rest)
	if !ok {
		return nil
	}
	tb := &traceback{kind: kind, message: message}
	before := strings.TrimSuffix(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(line), rest)), ":")
	if i := strings.LastIndex(before, ".py:"); i >= 0 {
		if n, err := strconv.Atoi(before[i+len(".py:"):]); err == nil && n > 0 {
			tb.frames = []frame{{file: before[:i+3], line: n}}
		}
	}
	return tb
}

func hasErrorSuffix(kind string) bool {
	for _, suffix := range errorSuffixes {
		if strings.HasSuffix(kind, suffix) {
			return true
		}
	}
	return false
}
