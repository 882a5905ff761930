package pydebug

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// traceback is Python's report of one exception: the last one, if several are
// chained.
type traceback struct {
	frames  []frame
	kind    string // "IndexError"; empty if the last line is missing
	message string
	header  bool // it begins with tracebackHeader
}

// frame is one `File "x.py", line 3, in f` with the source line under it.
type frame struct {
	file   string
	line   int
	text   string // the source line, trimmed; empty if not shown
	textAt int    // the column of text in the pasted line, in runes
	marks  *marks
}

// marks are the ~~~^^^ under a source line, in runes from the beginning of the
// frame's text.
type marks struct{ start, end int }

const tracebackHeader = "Traceback (most recent call last):"

// tracebackReader reads a pasted text line by line. The whole of it may be indented.
type tracebackReader struct {
	current  traceback  // the exception that is being read
	complete *traceback // the last exception that ended with its error line
}

// readTraceback returns the last exception in text, or nil if there is none. An
// exception that is cut off before its last line counts.
func readTraceback(text string) *traceback {
	r := &tracebackReader{}
	for line := range strings.SplitSeq(text, "\n") {
		r.line(strings.TrimRight(line, "\r \t"))
	}
	switch {
	case len(r.current.frames) > 0:
		return &r.current
	case r.complete != nil:
		return r.complete
	}
	return lastError(text)
}

// lastError returns the last `SomeError: message` that begins a line of a text
// without frames, or nil.
func lastError(text string) *traceback {
	var found *traceback
	for line := range strings.SplitSeq(text, "\n") {
		if kind, message, ok := errorLine(strings.TrimSpace(line)); ok && errorSuffix.MatchString(kind) {
			found = &traceback{kind: kind, message: message}
		}
	}
	return found
}

func (r *tracebackReader) line(line string) {
	if strings.Contains(line, tracebackHeader) {
		r.current = traceback{header: true}
		return
	}
	if m := frameLine.FindStringSubmatch(line); m != nil {
		if n, err := strconv.Atoi(m[2]); err == nil {
			r.current.frames = append(r.current.frames, frame{file: m[1], line: n})
			return
		}
	}
	if r.current.header || len(r.current.frames) > 0 {
		r.detail(line)
	}
}

// frameLine is `File "x.py", line 3, in f` anywhere in a line.
var frameLine = regexp.MustCompile(`File "(.*?)", line +(\d+)`)

// detail reads a line of a traceback that begins no frame: a source line, its
// markers or the error line.
func (r *tracebackReader) detail(line string) {
	trimmed := strings.TrimSpace(line)
	if trimmed == "" || strings.HasPrefix(trimmed, "[Previous line repeated") {
		return
	}
	var last *frame
	if n := len(r.current.frames); n > 0 {
		last = &r.current.frames[n-1]
	}
	kind, message, isError := errorLine(trimmed)
	switch {
	case isError && (last == nil || last.text != "" || errorSuffix.MatchString(kind)):
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

// namedError is `package.SomeError: message`.
var namedError = regexp.MustCompile(`^(?:builtins\.)?((?:[\w\x{80}-\x{10FFFF}]*\.)*[A-Z][\w\x{80}-\x{10FFFF}]*)(?::(.*))?$`)

// errorLine reads a line that names an error.
func errorLine(line string) (kind, message string, ok bool) {
	m := namedError.FindStringSubmatch(line)
	if m == nil {
		return "", "", false
	}
	return m[1], strings.TrimSpace(m[2]), true
}

// errorSuffix matches the conventional endings of exception names.
var errorSuffix = regexp.MustCompile(`(?:Error|Exception|Iteration|Interrupt|Exit)$`)
