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
	case h.kind.name != keyError:
		return nil
	case isMethod(h.node, "remove"):
		return discard(h)
	case isMethod(h.node, "pop") && len(h.node.Kids) == 2 && h.node == h.stmt.Value && h.stmt.Op == "" && h.stmt.Keyword == "":
		return popDefault(h)
	case h.stmt.Keyword == "del" && len(h.stmt.Targets) == 1 && h.stmt.Targets[0] == h.node:
		return s.deleteKey(h)
	case h.stmt.Op != "" && h.stmt.Op != "=" && h.stmt.Targets[0] == h.node:
		return s.countKey(h)
	}
	return s.collectKey(h)
}

// rangeFix lowers the bound of `for i in range(len(x) + 1)` around x[i].
func (s *Module) rangeFix(h *hazard) *fix {
	loop := h.stmt.loop()
	base, index := h.base, h.key
	if loop == nil || !isCallTo(loop.Value, "range") || len(loop.Value.Kids) != 2 || !h.node.is(ExprSubscript) ||
		!index.is(ExprName) || !loop.Targets[0].is(ExprName) || loop.Targets[0].Op != index.Op || loop.bindsDeepIn(index.Op) {
		return nil
	}
	limit := loop.Value.Kids[1]
	if !limit.is(ExprBinary) || limit.Op != "+" || !isCallTo(limit.Kids[0], "len") || s.text(limit.Kids[0]) != "len("+s.text(base)+")" {
		return nil
	}
	if k, ok := s.integer(limit.Kids[1]); !ok || k < 1 || s.changes(loop, base, h.node) {
		return nil
	}
	return &fix{
		final:  true,
		edits:  []Edit{replace(limit, s.text(limit.Kids[0]))},
		change: fmt.Sprintf("The loop now ends at the last index of `%s`.", s.text(base)),
		effect: "The indices end at len - 1; the turn of the loop that went beyond is gone, and all the others do what they did.",
	}
}

// bindsDeepIn reports whether the body of the loop s assigns name.
func (s *Stmt) bindsDeepIn(name string) bool {
	return slices.ContainsFunc(s.Body, func(b *Stmt) bool { return b.bindsDeep(name) })
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
	return &fix{
		edits:  []Edit{s.insertBefore(h.stmt, "if "+h.unsafe+":", "\traise SystemExit(\"missing command-line argument\")")},
		change: "The script now says that an argument is missing and ends, when it is started without it.",
		effect: "Started with its arguments it does what it did; without them it ends with exit code 1 and a line that says so, since there is nothing sensible to go on with.",
		exit:   1,
	}
}

// divideInPlace guards x /= n, so that x keeps its value if n is zero.
func (s *Module) divideInPlace(h *hazard) *fix {
	if !h.stmt.StartsLine || !h.stmt.alone {
		return nil
	}
	target := s.text(h.stmt.Targets[0])
	return &fix{
		edits:  s.wrap(h),
		change: fmt.Sprintf("`%s` is now divided only if there is something to divide by.", target),
		effect: fmt.Sprintf("When %s, `%s` keeps the value that it has; otherwise nothing changes.", h.cause, target),
	}
}

// wrap puts a simple statement under the safe condition.
func (s *Module) wrap(h *hazard) []Edit {
	return append([]Edit{s.insertBefore(h.stmt, "if "+h.safe+":")}, s.indentLines(h.stmt.Line, h.stmt.EndLine)...)
}

// discard repairs set.remove(x), the only remove that raises KeyError.
func discard(h *hazard) *fix {
	name := h.node.Kids[0]
	return &fix{
		final:  true,
		edits:  []Edit{{name.End - len("remove"), name.End, "discard"}},
		change: "`discard` now takes the element out of the set if it is there.",
		effect: "For elements that are in the set, it does the same as `remove`.",
	}
}

// popDefault gives the statement dict.pop(k) a default, which it doesn't use.
func popDefault(h *hazard) *fix {
	end := h.node.Kids[1].End
	return &fix{
		final:  true,
		edits:  []Edit{{end, end, ", None"}},
		change: "`pop` now does nothing for a key that isn't there.",
		effect: "Keys that are there are taken out as before.",
	}
}

// deleteKey writes d.pop(k, None) for del d[k].
func (s *Module) deleteKey(h *hazard) *fix {
	base := s.grouped(h.node.Kids[0])
	return &fix{
		final:  true,
		edits:  []Edit{{h.stmt.Start, h.node.End, base + ".pop(" + s.keyText(h.node) + ", None)"}},
		change: fmt.Sprintf("The key is now taken out of `%s` only if it is there.", base),
		effect: "For keys that are there, it does the same as `del`.",
	}
}

// countKey repairs d[k] += v for a key that the dict doesn't have yet, if v is a
// number.
func (s *Module) countKey(h *hazard) *fix {
	st := h.stmt
	value := st.Value
	if value.is(ExprName) && len(s.bindings(value.Op)) == 1 {
		value = s.resolve(value, st)
	}
	number := value.is(ExprNumber) || isCallTo(value, "len") || isCallTo(value, "int") || isCallTo(value, "float")
	if st.Op != "+=" && st.Op != "-=" || !number {
		return nil
	}
	old := s.grouped(h.node.Kids[0]) + ".get(" + s.keyText(h.node) + ", 0)"
	return &fix{
		final:  true,
		edits:  []Edit{{h.node.End, st.Value.Start, " = " + old + " " + st.Op[:1] + " "}},
		change: fmt.Sprintf("A key that `%s` doesn't have yet now begins with `0`.", s.text(h.node.Kids[0])),
		effect: "Keys that are there are counted on exactly as before.",
	}
}

// keyText returns the key of the subscript n as an argument: a tuple without
// parentheses gets them.
func (s *Module) keyText(n *Expr) string {
	key := s.text(n.Kids[1])
	if n.Kids[1].is(ExprTuple) && n.Kids[1].Op == "" {
		return "(" + key + ")"
	}
	return key
}

// collected holds the initial value of a collection by the method that adds to it.
var collected = map[string]string{"append": "[]", "extend": "[]", "add": "set()"}

// collectKey repairs the statement d[k].append(v) for a key that the dict doesn't
// have yet.
func (s *Module) collectKey(h *hazard) *fix {
	p := h.node.parent
	if !h.node.is(ExprSubscript) || !p.is(ExprAttr) || !p.parent.is(ExprCall) || p.parent != h.stmt.Value || h.stmt.Op != "" || collected[p.Op] == "" {
		return nil
	}
	base, value := s.grouped(h.node.Kids[0]), collected[p.Op]
	return &fix{
		final:  true,
		edits:  []Edit{replace(h.node, base+".setdefault("+s.keyText(h.node)+", "+value+")")},
		change: fmt.Sprintf("A key that `%s` doesn't have yet now begins with `%s`.", base, value),
		effect: "Keys that are there go on with the value that they have.",
	}
}
