package pydebug

import (
	"slices"
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

// tracebackReader reads a pasted text line by line. Each line may begin with a
// prefix: white space, quotation marks or the fields of a log line.
type tracebackReader struct {
	current  traceback  // the exception that is being read
	complete *traceback // the last exception that ended with its error line
	prefix   string
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
	return scanForError(text)
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

// unprefixed strips the prefix of the traceback's first line from line. Digits may
// differ, as the time of a log line does.
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

// readFrame reads `File "x.py", line 3, in f` anywhere in a line, and returns the
// offset at which it begins.
func readFrame(line string) (frame, int, bool) {
	at := strings.Index(line, `File "`)
	if at < 0 {
		return frame{}, 0, false
	}
	file, rest, ok := strings.Cut(line[at+len(`File "`):], `", line `)
	if !ok {
		return frame{}, 0, false
	}
	number, _, _ := strings.Cut(rest, ",")
	n, err := strconv.Atoi(strings.TrimSpace(number))
	if err != nil || n < 0 {
		return frame{}, 0, false
	}
	return frame{file: file, line: n}, at, true
}

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

// errorSuffixes are the conventional endings of exception names.
var errorSuffixes = []string{"Error", "Exception", "Iteration", "Interrupt", "Exit"}

// scanForError returns the last `SomeError: message` in a text without frames,
// with the line number that pytest writes in front of it: `x.py:3: IndexError`.
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

// errorIn returns the error that begins at the first word of line that ends like
// the name of an exception, or nil.
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
	return slices.ContainsFunc(errorSuffixes, func(suffix string) bool { return strings.HasSuffix(kind, suffix) })
}
