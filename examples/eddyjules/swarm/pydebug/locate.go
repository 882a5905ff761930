package pydebug

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxOperations bounds the operations of a line that are examined.
const maxOperations = 40

// site is the place in the source where the error was raised.
type site struct {
	line       int
	operations []operation // the operations that can have raised it
}

// locate finds the failing operation, or returns the diagnosis for a traceback that can't be
// matched to the source.
func (s *Module) locate(tb *traceback) (*site, *Diagnosis) {
	for i := len(tb.frames) - 1; i >= 0; i-- {
		f := &tb.frames[i]
		line := s.matchFrame(f)
		if line == 0 {
			if isLibrary(f.file) && i > 0 {
				continue
			}
			return nil, s.noMatch(f, tb.frames[:i])
		}
		return &site{line: line, operations: s.operationsOn(line, f, tb)}, nil
	}
	return nil, needsInput("The traceback names no line of the script.", "Please send the complete traceback, with the lines that begin with File.")
}

// matchFrame returns the line of the source that frame f refers to, or 0.
func (s *Module) matchFrame(f *frame) int {
	if f.text == "" {
		if f.line <= len(s.lines) && !isLibrary(f.file) {
			return f.line
		}
		return 0
	}
	if strings.TrimSpace(s.LineText(f.line)) == f.text {
		return f.line
	}
	return 0
}

// isLibrary reports whether a file belongs to Python or an installed package.
func isLibrary(file string) bool {
	if file == "<stdin>" || file == "<string>" {
		return false
	}
	file = strings.ReplaceAll(file, "\\", "/")
	parts := []string{"site-packages/", "dist-packages/", "/lib/python", "/lib64/python", "/Lib/"}
	return strings.HasPrefix(file, "<") || slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(file, part) })
}

// noMatch describes why frame f refers to no line of the source. If an outer
// frame does, the user is asked for the file of f.
func (s *Module) noMatch(f *frame, outer []frame) *Diagnosis {
	for i := len(outer) - 1; i >= 0 && f.text != ""; i-- {
		if baseName(outer[i].file) != baseName(f.file) && s.matchFrame(&outer[i]) != 0 {
			return needsInput(fmt.Sprintf("The error was raised in %s, which the code that was sent calls.", baseName(f.file)),
				fmt.Sprintf("Please send %s as well: its line %d failed.", baseName(f.file), f.line))
		}
	}
	what := fmt.Sprintf("line %d of %s", f.line, baseName(f.file))
	if f.text == "" {
		return needsInput(fmt.Sprintf("The traceback speaks of %s, and the code has %d lines.", what, len(s.lines)),
			"Please send the code and the traceback of the same run.")
	}
	return needsInput(fmt.Sprintf("The traceback failed at `%s` (%s), which is not in the code.", f.text, what),
		fmt.Sprintf("Please send the version of %s that produced this traceback, or run the code that you sent again and send the new traceback.", baseName(f.file)))
}

func baseName(file string) string {
	return file[strings.LastIndexAny(file, `/\`)+1:]
}

// operationsOn lists the operations of a line that can have raised the error, as
// far as the markers under the line leave them possible.
func (s *Module) operationsOn(line int, f *frame, tb *traceback) []operation {
	var found []operation
	for _, st := range s.All {
		if st.Line <= line && line <= st.EndLine {
			found = append(found, s.operations(st, errorKinds[tb.kind], tb.message)...)
		}
	}
	if marked := s.marked(found, line, f); marked != nil {
		return marked
	}
	return s.startingOn(found, line)
}

// marked returns the operation above the markers ~~~^^^ of the traceback, or nil.
func (s *Module) marked(all []operation, line int, f *frame) []operation {
	if f.marks == nil {
		return nil
	}
	text := s.LineText(line)
	trimmed := strings.TrimSpace(text)
	lineAt := s.lines[line-1] + strings.Index(text, trimmed)
	start, end := lineAt+runeOffset(trimmed, f.marks.start), lineAt+runeOffset(trimmed, f.marks.end)
	for _, o := range all {
		from, to := o.span()
		// Python marks an expression of several lines up to the end of its first line.
		if from == start && (to == end || to > lineAt+len(trimmed) && end == lineAt+len(strings.TrimRight(trimmed, " \t\\"))) {
			return []operation{o}
		}
	}
	return nil
}

func runeOffset(s string, runes int) int {
	at := 0
	for ; runes > 0 && at < len(s); runes-- {
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return at
}

// startingOn returns the operations that begin on the reported line, or all of
// them if none does: in a statement of several lines, Python reports the line on
// which the expression begins.
func (s *Module) startingOn(all []operation, line int) []operation {
	found := slices.DeleteFunc(slices.Clone(all), func(o operation) bool {
		start, _ := o.span()
		return s.lineOf(start) != line
	})
	if len(found) == 0 {
		return all
	}
	return found
}

// describe returns the error of a traceback for use in a sentence.
func describe(tb *traceback) string {
	if tb.message == "" {
		return tb.kind
	}
	return "\"" + tb.kind + ": " + tb.message + "\""
}
