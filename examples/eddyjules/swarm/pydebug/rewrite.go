package pydebug

import (
	"fmt"
	"slices"
	"strings"
)

// rewrite repairs the mistake itself, where the code tells what it was meant to
// do. It returns nil for any other operation.
func (s *Module) rewrite(h *hazard) *fix {
	switch {
	case h.kind.name == indexError && h.safe == "":
		return s.rangeFix(h)
	case h.kind.name == indexError && (strings.HasPrefix(h.safe, "len(sys.argv)") || strings.HasPrefix(h.safe, "len(argv)")):
		return s.missingArgument(h)
	case h.kind.name == zeroError && h.node == nil:
		return s.divideInPlace(h)
	case h.kind.name == keyError && h.key != nil:
		return s.keyFix(h)
	}
	return nil
}

// rangeFix lowers the bound of `for i in range(len(x) + 1)` around x[i].
func (s *Module) rangeFix(h *hazard) *fix {
	loop := h.stmt.loop()
	base, index := h.base, h.key
	if loop == nil || !isCallTo(loop.Value, "range") || len(loop.Value.Kids) != 2 || !h.node.is(ExprSubscript) ||
		!index.is(ExprName) || !loop.Targets[0].is(ExprName) || loop.Targets[0].Op != index.Op || slices.ContainsFunc(loop.Body, func(b *Stmt) bool { return b.bindsDeep(index.Op) }) {
		return nil
	}
	limit := loop.Value.Kids[1]
	if !limit.is(ExprBinary) || limit.Op != "+" || !isCallTo(limit.Kids[0], "len") || s.text(limit.Kids[0]) != "len("+s.text(base)+")" {
		return nil
	}
	if k, ok := s.integer(limit.Kids[1]); !ok || k < 1 || s.changes(loop, base, h.node) {
		return nil
	}
	return repair(fmt.Sprintf("The loop now ends at the last index of `%s`.", s.text(base)),
		"The indices end at len - 1; the turn of the loop that went beyond is gone, and all the others do what they did.",
		replace(limit, s.text(limit.Kids[0])))
}

// changes reports whether st or its body may change base: it assigns the variable
// or an element, deletes from it, or calls a method that isn't known to be pure.
// The operation itself doesn't count.
func (s *Module) changes(st *Stmt, base, operation *Expr) bool {
	text, root := s.text(base), rootName(base)
	isBase := func(n *Expr) bool { return s.text(n) == text }
	element := func(t *Expr) bool {
		return t != operation && t.Has(func(n *Expr) bool { return n.is(ExprSubscript) && isBase(n.Kids[0]) })
	}
	method := func(n *Expr) bool {
		return n != operation && n.is(ExprCall) && n.Kids[0].is(ExprAttr) && !isPure(n.Kids[0]) && isBase(n.Kids[0].Kids[0])
	}
	return !st.walk(func(b *Stmt) bool {
		return !b.binds(root) && !slices.ContainsFunc(b.Targets, element) && !b.has(method)
	})
}

// missingArgument ends the script with a message if a command-line argument is
// missing.
func (s *Module) missingArgument(h *hazard) *fix {
	if !canPrecede(h.stmt, s.Source) || s.isConditional(h.node) || enclosing(h.node) != nil {
		return nil
	}
	h = s.extendRecord(h)
	f := newFix("The script now says that an argument is missing and ends, when it is started without it.",
		"Started with its arguments it does what it did; without them it ends with exit code 1 and a line that says so, since there is nothing sensible to go on with.",
		s.insertIf(h.stmt, h.unsafe, `raise SystemExit("missing command-line argument")`))
	f.exit = 1
	return f
}

// divideInPlace guards x /= n, so that x keeps its value if n is zero.
func (s *Module) divideInPlace(h *hazard) *fix {
	if !h.stmt.StartsLine || !h.stmt.alone {
		return nil
	}
	target := s.text(h.stmt.Targets[0])
	return newFix(fmt.Sprintf("`%s` is now divided only if there is something to divide by.", target),
		fmt.Sprintf("When %s, `%s` keeps the value that it has; otherwise nothing changes.", h.cause, target), s.wrap(h)...)
}

// wrap puts a simple statement under the safe condition.
func (s *Module) wrap(h *hazard) []Edit {
	return append([]Edit{s.insertIf(h.stmt, h.safe, "")}, s.indentLines(h.stmt.Line, h.stmt.EndLine)...)
}

// collected holds the initial value of a collection by the method that adds to it.
var collected = map[string]string{"append": "[]", "extend": "[]", "add": "set()"}

// keyFix repairs set.remove(x), and a key that is popped, deleted, counted or collected
// into before the dict has it.
func (s *Module) keyFix(h *hazard) *fix {
	n, st := h.node, h.stmt
	base, key, end := s.grouped(h.base), s.text(h.key), h.key.End
	if h.key.is(ExprTuple) && h.key.Op == "" {
		key = "(" + key + ")" // as an argument
	}
	addTo := adder(h)
	switch {
	case isMethod(n, "remove"): // that of a set: no other remove raises KeyError
		end = n.Kids[0].End
		return repair("`discard` now takes the element out of the set if it is there.",
			"For elements that are in the set, it does the same as `remove`.", Edit{end - len("remove"), end, "discard"})
	case isMethod(n, "pop") && n == st.Value && st.Op == "" && st.Keyword == "":
		return repair("`pop` now does nothing for a key that isn't there.",
			"Keys that are there are taken out as before.", Edit{end, end, ", None"})
	case st.Keyword == "del" && st.Targets[0] == n:
		return repair(fmt.Sprintf("The key is now taken out of `%s` only if it is there.", base),
			"For keys that are there, it does the same as `del`.", Edit{st.Start, n.End, base + ".pop(" + key + ", None)"})
	case (st.Op == "+=" || st.Op == "-=") && st.Targets[0] == n && s.isNumber(st):
		return repair(fmt.Sprintf("A key that `%s` doesn't have yet now begins with `0`.", s.text(h.base)),
			"Keys that are there are counted on exactly as before.",
			Edit{n.End, st.Value.Start, " = " + base + ".get(" + key + ", 0) " + st.Op[:1] + " "})
	case n.is(ExprSubscript) && collected[addTo] != "":
		return repair(fmt.Sprintf("A key that `%s` doesn't have yet now begins with `%s`.", base, collected[addTo]),
			"Keys that are there go on with the value that they have.",
			replace(n, base+".setdefault("+key+", "+collected[addTo]+")"))
	}
	return nil
}

// repair returns a fix after which later uses of the same element don't fail.
func repair(change, effect string, edits ...Edit) *fix {
	f := newFix(change, effect, edits...)
	f.final = true
	return f
}

// isNumber reports whether the value of an assignment is known to be a number.
func (s *Module) isNumber(st *Stmt) bool {
	value := st.Value
	if value.is(ExprName) && len(s.bindings(value.Op)) == 1 {
		value = s.resolve(value, st)
	}
	return value.is(ExprNumber) || isCallTo(value, "len", "int", "float")
}

// adder returns the method of the missing value that the statement calls, as in
// d[k].append(v), and does nothing else; empty for any other statement.
func adder(h *hazard) string {
	method := h.node.parent
	if !method.is(ExprAttr) || !method.parent.is(ExprCall) || method.parent != h.stmt.Value || h.stmt.Op != "" {
		return ""
	}
	return method.Op
}
