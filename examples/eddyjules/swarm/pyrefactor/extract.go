package pyrefactor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm/pydebug"
)

// A function of at least longFunction lines has a block of at least longBlock lines extracted.
const (
	longFunction  = 10
	longBlock     = 4
	maxParameters = 5
)

// extract suggests to make a function of the longest loop, with or if in a long function of the
// module. Only statements of the function's own block are looked at: all assignments before them
// are made in any case.
func (w *work) extract(function *pydebug.Stmt) {
	if function.Parent != nil || len(function.Body) < 2 || w.lines(function) < longFunction || !w.plainFunction(function) {
		return
	}
	var block *pydebug.Stmt
	for _, st := range function.Body {
		if w.extractable(st) && (block == nil || w.lines(st) > w.lines(block)) {
			block = st
		}
	}
	if block == nil {
		return
	}
	e := extraction{work: w, function: function, block: block}
	why := e.variables()
	var text string
	if why == "" {
		text, why = e.moved()
	}
	if why != "" {
		w.refuse(block, "the block is not extracted: %s", why)
		return
	}
	name := e.name()
	if w.hasText(name, 0, len(w.Tokens)) {
		w.refuse(block, "the block is not extracted: %s is in use", name)
		return
	}
	call := name + "(" + strings.Join(e.inputs, ", ") + ")"
	method := w.Newline + w.Newline + "def " + call + ":" + w.Newline + text
	if len(e.outputs) > 0 {
		results := strings.Join(e.outputs, ", ")
		method += w.Unit + "return " + results + w.Newline
		call = results + " = " + call
	}
	end := w.LineStart(function.Deepest().EndLine + 1)
	w.suggest(found{
		kind: ExtractMethod, line: block.Line, confidence: 0.75,
		edits:       []pydebug.Edit{{Start: block.Start, End: block.Deepest().End, Text: call}, {Start: end, End: end, Text: method}},
		description: fmt.Sprintf("Extract the block into a new method '%s'.", name),
	})
}

// lines returns how many lines a statement has with its body.
func (w *work) lines(st *pydebug.Stmt) int { return st.Deepest().EndLine - st.Line + 1 }

// plainFunction reports whether a def has no decorator, which may call it before the next def.
func (w *work) plainFunction(def *pydebug.Stmt) bool {
	before := def.Previous()
	return w.Tokens[def.First].Text == "def" && def.StartsLine && (before == nil || !strings.HasPrefix(w.Source[before.Start:], "@"))
}

// extractable reports whether a statement is a block that could stand in a function of its own.
func (w *work) extractable(st *pydebug.Stmt) bool {
	switch word := w.Tokens[st.First].Text; word {
	case "for", "while", "with", "if":
	default:
		return false
	}
	if w.lines(st) < longBlock || !st.StartsLine || len(st.After()) > 0 && continues[st.After()[0].Keyword] {
		return false
	}
	if slices.ContainsFunc(st.Within(), func(s *pydebug.Stmt) bool { return leaves[s.Keyword] }) {
		return false
	}
	first, last := w.span(st)
	return !slices.ContainsFunc(w.Tokens[first:last], func(t pydebug.Token) bool {
		return t.Kind == pydebug.TokenName && (t.Text == "yield" || t.Text == "await" || t.Text == "async") || t.Text == ":="
	})
}

// continues has the keywords of a later part of the same statement.
var continues = map[string]bool{"elif": true, "else": true}

// leaves has the keywords of statements that mean something else in another function.
var leaves = map[string]bool{"return": true, "def": true, "class": true, "global": true, "nonlocal": true, "import": true, "from": true, "del": true, "except": true}

// extraction is a block that becomes a function.
type extraction struct {
	*work

	function, block *pydebug.Stmt
	inputs, outputs []string // variables of the function, in the order of their first mention
}

// variables finds the inputs and outputs of the block, or returns the reason for which they cannot
// be passed.
func (e *extraction) variables() string {
	_, end := e.span(e.function)
	first, last := e.span(e.block)
	bound := map[string]bool{} // in the block
	local := map[string]bool{} // in the function
	for _, st := range e.function.Within() {
		for _, name := range st.Names {
			local[name] = true
			bound[name] = bound[name] || st.First >= first && st.First < last
		}
	}
	for i := first; i < last; i++ {
		name := e.Tokens[i].Text
		if !e.isVariable(i) || !local[name] && !e.function.HasParameter(name) || slices.Contains(e.inputs, name) || slices.Contains(e.outputs, name) {
			continue
		}
		before := len(e.mentions(name, e.function.Last, first)) > 0 || e.function.HasParameter(name)
		after := len(e.mentions(name, last, end)) > 0
		switch {
		case !before && !after:
			continue // it is the block's own
		case e.captured(name):
			return name + " is also used in a function, a lambda, a generator or a statement about its name"
		case !e.assigned(name):
			return name + " may have no value before the block"
		}
		e.inputs = append(e.inputs, name)
		if bound[name] && after {
			e.outputs = append(e.outputs, name)
		}
	}
	if len(e.inputs) > maxParameters {
		return fmt.Sprintf("it would have more than %d parameters", maxParameters)
	}
	return ""
}

// captured reports whether something that may run at another time than its statement knows a
// variable.
func (e *extraction) captured(name string) bool {
	if e.shared(name, e.function) != "" {
		return true
	}
	generator := func(x *pydebug.Expr) bool {
		return x.Kind == pydebug.ExprComp && (x.Op == "(" || x.Op == "") && x.Mentions(name)
	}
	return slices.ContainsFunc(append(e.function.Within(), e.function), func(st *pydebug.Stmt) bool {
		return st.Keyword == "del" && e.hasText(name, st.First, st.Last) ||
			slices.ContainsFunc(st.Exprs, func(x *pydebug.Expr) bool { return x.Has(generator) })
	})
}

// assigned reports whether a variable has a value before the block in any case.
func (e *extraction) assigned(name string) bool {
	return e.function.HasParameter(name) || slices.ContainsFunc(e.function.Body, func(st *pydebug.Stmt) bool {
		return st.First < e.block.First && st.Keyword == "" && st.Op == "=" && slices.Contains(st.Names, name)
	})
}

// moved returns the lines of the block as the body of a function, or the reason for which they
// cannot be moved.
func (e *extraction) moved() (text, why string) {
	last := e.block.Deepest().EndLine
	if len(e.LinesInStrings(e.block.Line, last)) > 0 {
		return "", "it has a string of several lines"
	}
	var b strings.Builder
	for line := e.block.Line; line <= last; line++ {
		rest, ok := strings.CutPrefix(e.LineText(line), e.block.Indent)
		switch {
		case strings.TrimSpace(rest) == "":
			rest = ""
		case !ok:
			return "", "its lines are indented less than its first one"
		default:
			rest = e.Unit + rest
		}
		b.WriteString(rest + e.Newline)
	}
	return b.String(), ""
}

// name returns a name for the new function by what it returns, or by what it loops over.
func (e *extraction) name() string {
	switch v := e.block.Value; {
	case len(e.outputs) == 1:
		return "calculate_" + e.outputs[0]
	case e.block.Keyword == "for" && v != nil && v.Unparen().Kind == pydebug.ExprName:
		return "process_" + v.Unparen().Op
	}
	return e.function.Names[0] + "_part"
}
