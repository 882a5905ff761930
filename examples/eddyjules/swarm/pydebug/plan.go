package pydebug

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// fixFor repairs the mistake, or else inserts the hazard's condition at the place
// that the control flow allows. If there is no such place, it returns nil and the
// reason.
func (s *Module) fixFor(h *hazard) (*fix, string) {
	if f := s.rewrite(h); f != nil {
		return f, ""
	}
	switch inner := enclosing(h.node); {
	case h.safe == "":
		return nil, "the index is computed, and whether the index, the bound of a loop or the sequence is wrong can't be told from the code"
	case h.node == nil:
		return nil, "the division shares its line with other statements"
	case s.changesMissing(h):
		return nil, "it changes a value that isn't there, and what it has to begin with can't be told from the code"
	case inner.is(ExprLambda):
		return nil, "the lambda has to give a value, and nothing in the code tells which one would be right"
	case s.dependsOn(h, inner):
		return s.comprehensionFix(h, inner)
	case h.stmt.Keyword == "while", h.stmt.Keyword == "elif", s.isConditional(h.node), !h.stmt.StartsLine,
		h.stmt.Keyword == "if" && !(h.record && inForLoop(h)) && !s.readAgain(h):
		if f := s.andFix(h); f != nil {
			return f, ""
		}
	}
	return s.statementFix(h)
}

// changesMissing reports whether the statement of h stores in a missing value or
// calls a method of it, so that leaving the statement out would lose what it adds.
func (s *Module) changesMissing(h *hazard) bool {
	if h.kind.name == keyError && h.stmt.Keyword == "" && adder(h) != "" {
		return true
	}
	stored := func(t *Expr) bool { return h.node.within(t) }
	return h.stmt.Op != "" && slices.ContainsFunc(h.stmt.Targets, stored)
}

// canPrecede reports whether a statement can be inserted in front of st.
func canPrecede(st *Stmt, src string) bool {
	switch st.Keyword {
	case "", "return", "if", "for", "with", "assert", "raise", "del":
		walrus := st.has(func(n *Expr) bool { return n.Kind == ExprWalrus })
		return st.StartsLine && !walrus && !strings.HasPrefix(src[st.Start:], "@")
	}
	return false
}

// statementFix guards a whole statement. The block around it decides how: a loop
// continues, a function returns, the module skips the statement.
func (s *Module) statementFix(h *hazard) (*fix, string) {
	if s.isConditional(h.node) {
		return nil, "the expression is only evaluated sometimes, and nothing tells which value would be right instead"
	}
	if !canPrecede(h.stmt, s.Source) {
		return nil, "no condition can be inserted in front of this statement"
	}
	loop, function := h.stmt.loop(), h.stmt.Function()
	switch {
	case function != nil && h.node.is(ExprCall) && s.returnsValue(function):
		return nil, "the function returns something that depends on the element which isn't there"
	case loop != nil && loop.Keyword == "while":
		return nil, "leaving out this turn of the loop could make it run for ever"
	case s.losesChange(h, cmp.Or(loop, function)):
		return nil, "what would be left out gives the value that is missing"
	case loop != nil && !isMethod(h.node, "pop") && !h.operand().Has(func(n *Expr) bool { return n.is(ExprName) && loop.bindsDeep(n.Op) }):
		return nil, "it fails in every turn of the loop, which would do nothing any more"
	case loop != nil:
		return s.continueFix(h), ""
	case function != nil && (inClass(h.stmt) || function.Names[0] == "__init__"):
		return nil, "leaving early would leave an object or a class without its attributes"
	case function != nil && s.returnsValue(function):
		return nil, fmt.Sprintf("`%s` has to return something, and nothing in the code tells which value would be right", function.Names[0])
	case function != nil:
		return s.returnFix(h), ""
	case h.stmt.Keyword == "" && h.stmt.Op == "" && len(h.stmt.Names) == 0 && h.stmt.alone:
		return newFix(fmt.Sprintf("Line %d now runs only if `%s`.", h.stmt.Line, h.safe),
			fmt.Sprintf("When %s, there is nothing to do here and the script goes on behind it.", h.cause), s.wrap(h)...), ""
	}
	return nil, "the rest of the script needs a value from here, and nothing in the code tells which one would be right when there is none"
}

// losesChange reports whether a statement that a guard in front of h leaves out,
// up to the end of scope, changes what the guard asks for. The guard could then
// leave it out for ever.
func (s *Module) losesChange(h *hazard, scope *Stmt) bool {
	operands := []*Expr{h.base}
	if h.kind.name == zeroError {
		operands = nil
		h.base.walk(func(n *Expr) bool {
			if n.is(ExprName) || n.is(ExprAttr) {
				operands = append(operands, n)
			}
			return true
		})
	}
	changes := func(st *Stmt) bool {
		return slices.ContainsFunc(operands, func(n *Expr) bool { return s.changes(st, n, h.node) })
	}
	if changes(h.stmt) {
		return true
	}
	for st := h.stmt; st != scope && scope != nil; st = st.Parent {
		if slices.ContainsFunc(st.After(), func(next *Stmt) bool { return next.Keyword != "elif" && next.Keyword != "else" && changes(next) }) {
			return true
		}
	}
	return false
}

// inClass reports whether st is in the body of a class, outside of its methods.
func inClass(st *Stmt) bool {
	for p := st.Parent; p != nil && p.Keyword != "def"; p = p.Parent {
		if p.Keyword == "class" {
			return true
		}
	}
	return false
}

// enclosing returns the innermost lambda or comprehension that evaluates n each
// time it is called or each time it takes an element, or nil.
func enclosing(n *Expr) *Expr {
	for ; n != nil && n.parent != nil; n = n.parent {
		p := n.parent
		if p.Kind == ExprLambda && n == p.Kids[len(p.Kids)-1] {
			return p
		}
		if p.Kind == ExprComp && !(len(p.Kids) > 1 && n == p.Kids[1]) {
			return p
		}
	}
	return nil
}

// dependsOn reports whether the hazard's condition uses a variable of comp or of a
// comprehension around it. It is false for nil.
func (s *Module) dependsOn(h *hazard, comp *Expr) bool {
	for ; comp != nil; comp = enclosing(comp) {
		for _, kid := range comp.Kids[1:] {
			if kid.Kind != ExprCompIn {
				continue
			}
			if slices.ContainsFunc(targetNames(kid.Kids[0]), h.node.Mentions) {
				return true
			}
		}
	}
	return false
}

// isConditional reports whether a run of the statement of n may not evaluate n.
func (s *Module) isConditional(n *Expr) bool {
	for ; n != nil && n.parent != nil; n = n.parent {
		p := n.parent
		if p.Kind == ExprTernary && n != p.Kids[1] || p.Kind == ExprBool && n == p.Kids[1] || p.Kind == ExprLambda {
			return true
		}
	}
	return false
}

// readAgain reports whether a later statement of the block reads the same element.
// A guard of the condition alone would only move the error there.
func (s *Module) readAgain(h *hazard) bool {
	text := s.text(h.node)
	return slices.ContainsFunc(h.stmt.After(), func(next *Stmt) bool {
		return next.hasDeep(func(n *Expr) bool { return n.Kind == h.node.Kind && s.text(n) == text })
	})
}

func inForLoop(h *hazard) bool {
	loop := h.stmt.loop()
	return loop != nil && loop.Keyword == "for"
}

// continueFix makes a for loop continue with its next element.
func (s *Module) continueFix(h *hazard) *fix {
	h = s.extendRecord(h)
	what := "this turn of the loop"
	if h.record {
		what = "the record"
	}
	return newFix(fmt.Sprintf("The loop now skips %s when %s.", what, h.cause),
		"All other turns do exactly what they did. What is skipped is skipped silently; print or log it there if you want to know about it.",
		s.insertIf(h.stmt, h.unsafe, "continue"))
}

// returnFix returns from a function without a result early.
func (s *Module) returnFix(h *hazard) *fix {
	h = s.extendRecord(h)
	return newFix(fmt.Sprintf("The function now does `return` when %s.", h.cause),
		"In every other case it does exactly what it did.",
		s.insertIf(h.stmt, h.unsafe, "return"))
}

// returnsValue reports whether the function returns anything but None. For a
// generator, which a bare return ends, it is false.
func (s *Module) returnsValue(function *Stmt) bool {
	found, generator := false, false
	function.walk(func(b *Stmt) bool {
		if b.Function() != function {
			return true
		}
		generator = generator || b.has(func(n *Expr) bool { return n.Kind == ExprYield })
		found = found || b.Keyword == "return" && b.Value != nil && s.text(b.Value) != "None"
		return true
	})
	return found && !generator
}

// andFix inserts the safe condition and an `and` in front of the operand of an if
// or while condition that fails. It returns nil elsewhere.
func (s *Module) andFix(h *hazard) *fix {
	n, st := h.node, h.stmt
	if st.Keyword != "if" && st.Keyword != "elif" && st.Keyword != "while" || st.Value == nil || !n.within(st.Value) || s.losesChange(h, nil) {
		return nil
	}
	for n.parent != nil && n.parent.Kind != ExprBool {
		switch n.parent.Kind {
		case ExprLambda, ExprTernary, ExprComp, ExprInterp:
			return nil
		}
		n = n.parent
	}
	for p := n.parent; p != nil; p = p.parent {
		if p.Kind != ExprBool && p.Kind != ExprParen {
			return nil // such as a not around it, which would turn false into true
		}
	}
	return newFix(fmt.Sprintf("The condition now asks for `%s` first.", h.safe),
		"Where that isn't so, the condition is false, as for any other case that doesn't match; otherwise it is what it was.",
		Edit{n.Start, n.Start, h.safe + " and "})
}

// comprehensionFix filters out the elements that can't be computed.
func (s *Module) comprehensionFix(h *hazard, comp *Expr) (*fix, string) {
	f := &fix{
		change: fmt.Sprintf("The comprehension now takes only what satisfies `%s`.", h.safe),
		effect: fmt.Sprintf("What it leaves out is where %s; the result for everything else is unchanged.", h.cause),
	}
	last := comp.Kids[len(comp.Kids)-1]
	switch clause := h.node.childOf(comp); {
	case clause.Kind == ExprCompIf:
		f.edits = conjoin(clause.Kids[0], h.safe, true)
	case clause.Kind == ExprCompIn:
		f.edits = []Edit{{clause.Start, clause.Start, "if " + h.safe + " "}}
	case h.kind.name == zeroError:
		return nil, "the comprehension has to give a value for each element, and nothing in the code tells which one would be right"
	case last.Kind == ExprCompIf:
		f.edits = conjoin(last.Kids[0], h.safe, false)
	default:
		f.edits = []Edit{{last.End, last.End, " if " + h.safe}}
	}
	return f, ""
}

// conjoin writes `safe and cond` if first, else `cond and safe`.
func conjoin(cond *Expr, safe string, first bool) []Edit {
	open, closing := "", ""
	if cond.Kind == ExprBool && cond.Op == "or" || cond.Kind == ExprTernary || cond.Kind == ExprLambda {
		open, closing = "(", ")"
	}
	if first {
		return []Edit{{cond.Start, cond.Start, safe + " and " + open}, {cond.End, cond.End, closing}}
	}
	return []Edit{{cond.Start, cond.Start, open}, {cond.End, cond.End, closing + " and " + safe}}
}
