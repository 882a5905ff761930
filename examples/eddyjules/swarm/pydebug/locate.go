package pydebug

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxCandidates bounds the operations that are examined when the traceback names
// no line.
const maxCandidates = 40

// site is the place in the source where the error was raised.
type site struct {
	line       int
	candidates []candidate // the operations that can have raised it
	moved      int         // line minus the line number in the traceback
	guessed    bool        // the traceback names no line
	caller     []*stmt     // the statements that called the failing function, innermost first
}

// mismatch is the reason why the traceback can't be matched to the source, with
// the request to the user that follows from it.
type mismatch struct{ summary, request string }

// locate finds the failing operation. Exactly one result is not nil.
func (s *script) locate(tb *traceback) (*site, *mismatch) {
	if len(tb.frames) == 0 {
		return s.locateByReason(tb)
	}
	for i := len(tb.frames) - 1; i >= 0; i-- {
		f := &tb.frames[i]
		line := s.matchFrame(f)
		if line == 0 {
			if isLibrary(f.file) && i > 0 {
				continue
			}
			return nil, s.noMatch(f, tb.frames[:i])
		}
		at := &site{line: line, moved: line - f.line}
		at.candidates = s.candidatesOn(line, f, tb)
		at.caller = s.callers(tb.frames[:i], at.moved)
		return at, nil
	}
	return nil, &mismatch{"The traceback has no frame of this script.", "Please send the complete traceback and the script that it is about."}
}

// matchFrame returns the line of the source that frame f refers to, or 0.
func (s *script) matchFrame(f *frame) int {
	if f.text == "" {
		if f.line <= len(s.lines) && !isLibrary(f.file) {
			return f.line
		}
		return 0
	}
	if strings.TrimSpace(s.lineText(f.line)) == f.text {
		return f.line
	}
	if len(f.text) < 4 || f.text[0] == '#' || isLibrary(f.file) {
		return 0
	}
	return s.onlyLine(f.text)
}

// onlyLine returns the line whose trimmed text is text; 0 if there is none or
// more than one.
func (s *script) onlyLine(text string) int {
	found := 0
	for line := 1; line <= len(s.lines); line++ {
		if strings.TrimSpace(s.lineText(line)) != text || len(s.statementsOn(line)) == 0 {
			continue
		}
		if found != 0 {
			return 0
		}
		found = line
	}
	return found
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
func (s *script) noMatch(f *frame, outer []frame) *mismatch {
	for i := len(outer) - 1; i >= 0 && f.text != ""; i-- {
		if baseName(outer[i].file) != baseName(f.file) && s.matchFrame(&outer[i]) != 0 {
			return &mismatch{
				fmt.Sprintf("The error was raised in %s, which the code that was sent calls.", baseName(f.file)),
				fmt.Sprintf("Please send %s as well: its line %d failed.", baseName(f.file), f.line),
			}
		}
	}
	what := fmt.Sprintf("line %d of %s", f.line, baseName(f.file))
	if f.text == "" {
		return &mismatch{
			fmt.Sprintf("The traceback speaks of %s, and the code has %d lines.", what, len(s.lines)),
			"Please send the code and the traceback of the same run.",
		}
	}
	return &mismatch{
		fmt.Sprintf("The traceback failed at `%s` (%s), which is not in the code.", f.text, what),
		fmt.Sprintf("Please send the version of %s that produced this traceback, or run the code that you sent again and send the new traceback.", baseName(f.file)),
	}
}

func baseName(file string) string {
	return file[strings.LastIndexAny(file, `/\`)+1:]
}

// candidatesOn lists the operations of a line that can have raised the error, as
// far as the markers under the line leave them possible.
func (s *script) candidatesOn(line int, f *frame, tb *traceback) []candidate {
	var found []candidate
	for _, st := range s.statementsOn(line) {
		found = append(found, s.candidates(st, tb)...)
	}
	if marked := s.marked(found, line, f); marked != nil {
		return marked
	}
	return s.startingOn(found, line)
}

// marked returns the candidate above the markers ~~~^^^ of the traceback, or nil.
func (s *script) marked(all []candidate, line int, f *frame) []candidate {
	if f.marks == nil {
		return nil
	}
	text := s.lineText(line)
	trimmed := strings.TrimSpace(text)
	lineAt := s.lines[line-1] + strings.Index(text, trimmed)
	start, end := lineAt+runeOffset(trimmed, f.marks.start), lineAt+runeOffset(trimmed, f.marks.end)
	for _, c := range all {
		from, to := c.span()
		// Python marks an expression of several lines up to the end of its first line.
		if from == start && (to == end || to > lineAt+len(trimmed) && end == lineAt+len(strings.TrimRight(trimmed, " \t\\"))) {
			return []candidate{c}
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

// startingOn returns the candidates that begin on the reported line, or all of
// them if none does: in a statement of several lines, Python reports the line on
// which the expression begins.
func (s *script) startingOn(all []candidate, line int) []candidate {
	var found []candidate
	for _, c := range all {
		if start, _ := c.span(); s.lineOf(start) == line {
			found = append(found, c)
		}
	}
	if len(found) == 0 {
		return all
	}
	return found
}

// callers returns the statements of the outer frames, innermost first.
func (s *script) callers(outer []frame, moved int) []*stmt {
	var found []*stmt
	for i := len(outer) - 1; i >= 0; i-- {
		on := s.statementsOn(outer[i].line + moved)
		if len(on) == 0 {
			return found
		}
		found = append(found, on[len(on)-1])
	}
	return found
}

// locateByReason finds the failing operation without a line number: the only one
// in the source that can raise the error and isn't guarded against it.
func (s *script) locateByReason(tb *traceback) (*site, *mismatch) {
	var found []candidate
	for _, st := range s.all {
		found = append(found, s.candidates(st, tb)...)
		if len(found) > maxCandidates {
			break
		}
	}
	found = s.unsafeOnly(found, tb.kind)
	if len(found) == 0 {
		return nil, &mismatch{
			fmt.Sprintf("Nothing in the code can plainly raise %s.", describe(tb)),
			"Please send the complete traceback, with the lines that begin with File.",
		}
	}
	if one := s.sameHazard(found); one != nil {
		start, _ := one[0].span()
		return &site{line: s.lineOf(start), candidates: one, guessed: true}, nil
	}
	return nil, &mismatch{
		fmt.Sprintf("Several places in the code can raise %s: lines %s.", describe(tb), s.lineList(found)),
		"Please send the complete traceback, with the lines that begin with File; its last one says which of them it was.",
	}
}

// describe returns the error of a traceback for use in a sentence.
func describe(tb *traceback) string {
	if tb.message == "" {
		return tb.kind
	}
	return "\"" + tb.kind + ": " + tb.message + "\""
}

// sameHazard returns the candidates to fix if all of them are one mistake, else
// nil. They are one mistake if they are in one statement, or if they read literal
// indices of one sequence; the greatest index then covers all.
func (s *script) sameHazard(all []candidate) []candidate {
	last, same := all[0], true
	for _, c := range all {
		same = same && c.stmt == all[0].stmt
	}
	if same {
		return all
	}
	for _, c := range all {
		if !s.sameRecord(c, last) {
			return nil
		}
		if s.constantIndex(c) > s.constantIndex(last) {
			last = c
		}
	}
	return []candidate{last}
}

// sameRecord reports whether a and b read literal indices of the same variable in
// the same block.
func (s *script) sameRecord(a, b candidate) bool {
	return a.stmt.siblings == b.stmt.siblings && s.constantIndex(a) >= 0 && s.constantIndex(b) >= 0 &&
		a.node.kids[0].is(nodeName) && s.text(a.node.kids[0]) == s.text(b.node.kids[0])
}

// constantIndex returns the literal index of a subscript; -1 if c has none.
func (s *script) constantIndex(c candidate) int {
	if !c.node.is(nodeSubscript) {
		return -1
	}
	if k, ok := s.integer(c.node.kids[1]); ok {
		return k
	}
	return -1
}

// lineList returns the line numbers of candidates, at most the first six.
func (s *script) lineList(all []candidate) string {
	var names []string
	seen := map[int]bool{}
	for _, c := range all {
		start, _ := c.span()
		line := s.lineOf(start)
		if seen[line] {
			continue
		}
		if seen[line] = true; len(seen) > 6 {
			return strings.Join(names, ", ") + " and more"
		}
		names = append(names, fmt.Sprint(line))
	}
	return strings.Join(names, ", ")
}

// unsafeOnly returns the candidates that are not guarded and can fail.
func (s *script) unsafeOnly(all []candidate, kind string) []candidate {
	var found []candidate
	for _, c := range all {
		if !s.guarded(c, kind) && !s.cannotFail(c, kind) {
			found = append(found, c)
		}
	}
	return found
}

// cannotFail reports whether c can't raise the error although its form suggests
// it, such as the first field of a split by a separator.
func (s *script) cannotFail(c candidate, kind string) bool {
	if kind == keyError {
		return s.ownKey(c)
	}
	if kind != indexError || !c.node.is(nodeSubscript) {
		return false
	}
	k, ok := s.integer(c.node.kids[1])
	base := s.resolve(c.node.kids[0], c.stmt)
	if ok && (k == 0 || k == -1) && isMethod(base, "split") && len(base.kids) > 1 {
		return true // a split by a separator always gives a field
	}
	if ok && (base.is(nodeList) || base.is(nodeTuple)) {
		return s.fixedDisplay(c, base) && k < len(base.kids) && -k <= len(base.kids)
	}
	bound := s.boundOf(c.node.kids[1], c.stmt)
	return bound != nil && bound.last < 0 && bound.base != nil && s.text(bound.base) == s.text(c.node.kids[0]) && !s.shrinksInLoop(c)
}

// ownKey reports whether the key of c is the variable of a loop over the mapping
// that c reads.
func (s *script) ownKey(c candidate) bool {
	if !c.node.is(nodeSubscript) || !c.node.kids[1].is(nodeName) {
		return false
	}
	base, key := s.text(c.node.kids[0]), c.node.kids[1].op
	for p := c.stmt.parent; p != nil && p.keyword != "def"; p = p.parent {
		if p.keyword != "for" || !p.binds(key) || p.value == nil || len(p.targets) == 0 {
			continue
		}
		over := s.text(p.value)
		first := targetNames(p.targets[0])[0] == key
		return first && (over == base || over == base+".keys()" || over == base+".items()" || over == "sorted("+base+")")
	}
	return false
}

// fixedDisplay reports whether the list or tuple that c reads always has as many
// elements as its display [a, b] in the source.
func (s *script) fixedDisplay(c candidate, display *node) bool {
	name := c.node.kids[0]
	starred := display.has(func(n *node) bool { return n.kind == nodeStar })
	return !starred && (name == display || name.is(nodeName) && len(s.bindings[name.op]) == 1 && !s.mutated(name.op))
}

// mutated reports whether the script calls a method on name that may change it.
func (s *script) mutated(name string) bool {
	return s.has(func(n *node) bool {
		return n.is(nodeCall) && n.kids[0].is(nodeAttr) && !pureMethods[n.kids[0].op] &&
			n.kids[0].kids[0].is(nodeName) && n.kids[0].kids[0].op == name
	})
}
