package pyrefactor

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm/pydebug"
)

// maxWidth is the length of the longest line that a comprehension may become.
const maxWidth = 100

// appending is a loop that only appends to a list.
type appending struct {
	list      string
	loop      *pydebug.Stmt
	element   *pydebug.Expr
	condition *pydebug.Expr // nil for none
}

// comprehension suggests a list comprehension in place of
//
//	list = []
//	for target in iterable:
//	    if condition:
//	        list.append(element)
func (w *work) comprehension(loop *pydebug.Stmt) {
	a, ok := w.appendingLoop(loop)
	if !ok {
		return
	}
	if why := w.keepsLoop(a); why != "" {
		w.refuse(loop, "the loop that fills %s stays: %s", a.list, why)
		return
	}
	text := fmt.Sprintf("%s = [%s for %s in %s", a.list, w.Text(a.element), w.Text(loop.Targets[0]), w.Text(loop.Value))
	if a.condition != nil {
		text += " if " + w.Text(a.condition)
	}
	text += "]"
	if utf8.RuneCountInString(loop.Indent+text) > maxWidth {
		w.refuse(loop, "the loop that fills %s stays: the comprehension would be longer than %d characters", a.list, maxWidth)
		return
	}
	w.suggest(found{
		kind: UseComprehension, line: loop.Previous().Line, confidence: 0.85,
		edits:       []pydebug.Edit{{Start: loop.Previous().Start, End: loop.Deepest().End, Text: text}},
		description: fmt.Sprintf("Replace the loop that fills '%s' by a list comprehension, which is shorter and faster.", a.list),
	})
}

// appendingLoop returns the parts of a loop if it has that form.
func (w *work) appendingLoop(loop *pydebug.Stmt) (a appending, ok bool) {
	first := loop.Previous()
	if first == nil || len(loop.Body) != 1 || loop.Value == nil || len(loop.Targets) != 1 || w.Tokens[loop.First].Text != "for" {
		return a, false
	}
	a.loop = loop
	if first.Keyword != "" || first.Op != "=" || len(first.Targets) != 1 || first.Targets[0].Kind != pydebug.ExprName ||
		first.Last-first.First != 4 || w.Tokens[first.First+2].Text != "[" {
		return a, false
	}
	a.list = first.Targets[0].Op
	st := loop.Body[0]
	if st.Keyword == "if" && len(st.Body) == 1 && st.Value != nil {
		a.condition, st = st.Value, st.Body[0]
	}
	if st.Keyword != "" || st.Op != "" || st.Value == nil {
		return a, false
	}
	call := st.Value
	if call.Kind != pydebug.ExprCall || len(call.Kids) != 2 || call.Kids[0].Kind != pydebug.ExprAttr || call.Kids[0].Op != "append" {
		return a, false
	}
	a.element = call.Kids[1]
	base := call.Kids[0].Kids[0]
	return a, base.Kind == pydebug.ExprName && base.Op == a.list
}

// keepsLoop returns the reason for which a loop cannot be replaced; empty for none. The list and
// the targets must be known to the function's statements alone, because a comprehension binds the
// list later and its targets not at all.
func (w *work) keepsLoop(a appending) string {
	function := a.loop.Function()
	switch {
	case function == nil:
		return "it is not in a function, so that other code may use its variables"
	case len(a.loop.After()) > 0 && a.loop.After()[0].Keyword == "else":
		return "it has an else"
	case !w.plainLines(a):
		return "it has a comment, or an expression of several lines, or shares a line"
	}
	for p := a.loop.Parent; p != function; p = p.Parent {
		if head := headOf(p); head.Keyword == "try" || head.Keyword == "with" {
			return "after an error in the loop, code around it could see a part of the list"
		}
	}
	if why := w.keepsForm(a); why != "" {
		return why
	}
	return w.keepsNames(a, function)
}

// headOf returns the first statement of a compound of several, such as the try of a finally.
func headOf(st *pydebug.Stmt) *pydebug.Stmt {
	for st.Previous() != nil {
		switch st.Keyword {
		case "elif", "else", "except", "finally":
			st = st.Previous()
			continue
		}
		break
	}
	return st
}

// plainLines reports whether the statements have a line of their own each, without comments.
func (w *work) plainLines(a appending) bool {
	st := a.loop.Previous()
	end := a.loop.Deepest()
	for line := st.Line; line <= end.EndLine; line++ {
		if strings.TrimSpace(w.LineText(line)) == "" {
			return false
		}
	}
	if strings.Contains(w.Source[st.Start:w.LineStart(end.EndLine+1)], "#") || !st.StartsLine || !a.loop.StartsLine {
		return false
	}
	lines := 0
	for s := end; s != a.loop.Parent; s = s.Parent {
		if !s.StartsLine || s.Line != s.EndLine {
			return false
		}
		lines++
	}
	return end.EndLine-st.Line == lines && strings.TrimSpace(w.Source[end.End:w.LineStart(end.EndLine+1)]) == ""
}

// keepsForm returns the reason for which the expressions cannot stand in a comprehension.
func (w *work) keepsForm(a appending) string {
	parts := []*pydebug.Expr{a.loop.Value, a.element, a.loop.Targets[0]}
	if a.condition != nil {
		parts = append(parts, a.condition)
		if a.condition.Kind == pydebug.ExprTernary {
			return "its condition needs parentheses"
		}
	}
	for _, part := range parts {
		if part.Has(func(e *pydebug.Expr) bool {
			return e.Kind == pydebug.ExprYield || e.Kind == pydebug.ExprWalrus || e.Kind == pydebug.ExprLambda ||
				e.Kind == pydebug.ExprUnary && e.Op == "await" || e.Kind == pydebug.ExprName && e.Op == "super"
		}) {
			return "a yield, await, lambda, := or super means something else in a comprehension"
		}
	}
	switch a.loop.Value.Kind { //nolint:exhaustive // the others may need parentheses
	case pydebug.ExprName, pydebug.ExprAttr, pydebug.ExprCall, pydebug.ExprSubscript, pydebug.ExprParen, pydebug.ExprList, pydebug.ExprString, pydebug.ExprDict:
	default:
		return "its iterable needs parentheses"
	}
	bare := a.element.Kind == pydebug.ExprComp && a.element.Op == ""
	if a.element.Kind == pydebug.ExprStar || a.element.Kind == pydebug.ExprKeyword || bare {
		return "its argument is not one plain expression"
	}
	return ""
}

// keepsNames returns the reason for which the list or a target of the loop is needed elsewhere.
func (w *work) keepsNames(a appending, function *pydebug.Stmt) string {
	targets := a.loop.Names
	if len(targets) == 0 || a.loop.Targets[0].Has(func(e *pydebug.Expr) bool {
		return e.Kind != pydebug.ExprName && e.Kind != pydebug.ExprTuple && e.Kind != pydebug.ExprParen
	}) {
		return "it assigns something else than names"
	}
	first, last := w.span(function)
	loopFirst, loopLast := w.span(a.loop)
	for _, name := range append(slices.Clone(targets), a.list) {
		if why := w.shared(name, function); why != "" {
			return name + ": " + why
		}
	}
	for _, name := range targets {
		if name == a.list || w.hasText(name, first, loopFirst) || w.hasText(name, loopLast, last) || a.loop.Value.Mentions(name) {
			return name + " is used outside of the loop"
		}
	}
	if len(w.mentions(a.list, loopFirst, loopLast)) != 1 {
		return "it uses the list while it fills it"
	}
	if w.inGenerator(a, function) {
		return "a generator could look at the list while the loop fills it"
	}
	return ""
}

// inGenerator reports whether a generator that may exist while the loop runs mentions the list.
func (w *work) inGenerator(a appending, function *pydebug.Stmt) bool {
	again := false // the loop may run after the statements that follow it
	for p := a.loop.Parent; p != function; p = p.Parent {
		again = again || p.Keyword == "for" || p.Keyword == "while"
	}
	return slices.ContainsFunc(w.within(function), func(st *pydebug.Stmt) bool {
		return (again || st.First < a.loop.First) && slices.ContainsFunc(st.Exprs, func(e *pydebug.Expr) bool {
			return e.Has(func(e *pydebug.Expr) bool {
				return e.Kind == pydebug.ExprComp && (e.Op == "(" || e.Op == "") && e.Mentions(a.list)
			})
		})
	})
}
