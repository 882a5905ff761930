package pydebug

import "strings"

// A filler is the Python literal that replaces a value which can't be computed:
// 0, "" or []. The script's uses of the value determine the filler. The empty
// string means that they don't.
const (
	fillZero  = "0"
	fillText  = `""`
	fillList  = "[]"
	fillDict  = "{}"
	fillNone  = "None"
	fillFalse = "False"
	fillShown = `"unknown"` // for a value that is only printed
)

// maxFillerDepth bounds the number of assignments and calls through which a value
// is followed.
const maxFillerDepth = 4

// slotFiller returns the filler for the slot of a conditional expression.
func (s *script) slotFiller(h *hazard, slot *node) string {
	if h.kind == zeroError {
		return s.zeroFiller(h, slot)
	}
	if isCallTo(slot, "int") {
		return fillZero
	}
	if isCallTo(slot, "float") {
		return "0.0"
	}
	filler := s.filler(slot, h.stmt, 0)
	switch inner := enclosing(slot); {
	case filler == "" && inner.is(nodeLambda) && inner.kids[len(inner.kids)-1] == slot:
		filler = s.keyKind(h, slot)
	case filler == fillShown && h.stmt.keyword == "return" && slot.parent == nil:
		filler = fillNone
	}
	return s.fitQuotes(filler, slot)
}

// keyKind returns the filler for the whole body of a lambda, such as a sort key,
// whose results must all have one type.
func (s *script) keyKind(h *hazard, slot *node) string {
	if slot == h.node && h.node.is(nodeSubscript) && isMethod(h.node.kids[0], "split") {
		return fillText
	}
	return s.valueKind(slot, h.stmt, 0)
}

// zeroFiller returns the filler for a division whose divisor is zero.
func (s *script) zeroFiller(h *hazard, slot *node) string {
	switch {
	case isCallTo(h.node, "divmod"):
		return "(0, 0)"
	case s.dividesLater(h, slot):
		return ""
	case slot.has(func(n *node) bool { return n.kind == nodeBinary && n.op == "/" }):
		return "0.0"
	}
	return fillZero
}

// dividesLater reports whether the script divides by the result, so that a zero
// would only move the error.
func (s *script) dividesLater(h *hazard, slot *node) bool {
	if isDivided(slot) {
		return true
	}
	if h.stmt.keyword == "return" {
		return s.dividedByCalls(h.stmt.function())
	}
	if h.stmt.op != "=" || len(h.stmt.names) == 0 {
		return false
	}
	return s.has(func(n *node) bool {
		d := divisorOf(n).unparen()
		return n.start >= h.stmt.end && (d.is(nodeName) && h.stmt.binds(d.op) || isCallTo(n, "log"))
	})
}

// isDivided reports whether n, or an expression that contains it, is a divisor.
func isDivided(n *node) bool {
	for ; n.parent != nil; n = n.parent {
		if divisorOf(n.parent) == n {
			return true
		}
	}
	return false
}

// dividedByCalls reports whether a call of the function is a divisor.
func (s *script) dividedByCalls(function *stmt) bool {
	if function == nil || len(function.names) == 0 || !s.allowPass() {
		return false
	}
	return s.has(func(n *node) bool { return isCallTo(divisorOf(n).unparen(), function.names[0]) })
}

// divisorOf returns the divisor of n if n is a division, else nil.
func divisorOf(n *node) *node {
	if n.is(nodeBinary) && (n.op == "/" || n.op == "//" || n.op == "%") && !isFormat(n) {
		return n.kids[1]
	}
	return nil
}

// fitQuotes returns the filler with quotes that fit the place n.
func (s *script) fitQuotes(filler string, n *node) string {
	quote := s.quoteFor(n)
	if len(filler) >= 2 && filler[0] == '"' {
		return quote + filler[1:len(filler)-1] + quote
	}
	return filler
}

// quoteFor returns the quote for a new string at n: the one that the script uses
// most or, in an f-string, the one that does not end the f-string.
func (s *script) quoteFor(n *node) string {
	for p := n; p != nil; p = p.parent {
		if !p.is(nodeFString) {
			continue
		}
		opener := strings.TrimLeft(s.src[p.start:min(p.start+3, p.end)], "rRfFtTbBuU")
		if strings.HasPrefix(opener, `"`) {
			return "'"
		}
		return `"`
	}
	return s.quoted("")[:1]
}

// filler returns the filler for the value n, which st computes, by following it to
// its uses; empty if they don't determine one.
func (s *script) filler(n *node, st *stmt, depth int) string {
	if depth > maxFillerDepth {
		return ""
	}
	p := n.parent
	if p == nil {
		return s.statementFiller(n, st, depth)
	}
	switch p.kind {
	case nodeParen, nodeWalrus, nodeKeyword:
		return s.filler(p, st, depth+1)
	case nodeInterp:
		return s.interpFiller(p, n)
	case nodeCall:
		return s.argumentFiller(p, n, st, depth)
	case nodeAttr:
		return methodFiller(p.op)
	case nodeBinary:
		return s.arithmeticFiller(p, n, st)
	case nodeCompare:
		return s.compareFiller(p, n, st)
	case nodeNot, nodeBool, nodeCompIf:
		return fillNone
	case nodeUnary:
		return fillZero
	case nodeCompIn:
		return fillList
	case nodeTernary:
		if n == p.kids[1] {
			return fillNone
		}
		return s.filler(p, st, depth+1)
	case nodeComp:
		return s.elementFiller(p)
	}
	return ""
}

// elementFiller returns the filler for the element of a comprehension, by the
// function that takes the comprehension.
func (s *script) elementFiller(comp *node) string {
	for _, name := range []string{"sum", "max", "min"} {
		if isCallTo(comp.parent, name) {
			return fillZero
		}
	}
	if isMethod(comp.parent, "join") {
		return fillText
	}
	return ""
}

// interpFiller returns the filler for n in the {n:spec} of an f-string.
func (s *script) interpFiller(interp, n *node) string {
	rest := strings.TrimRight(s.src[n.end:max(n.end, interp.end-1)], " ")
	if i := strings.IndexByte(rest, ':'); i >= 0 && i+1 < len(rest) {
		if last := rest[len(rest)-1]; strings.IndexByte("dfFeEgGn%xXb,", last) >= 0 {
			return fillZero
		}
		return fillText
	}
	return fillShown
}

// numeric lists functions that take numbers.
var numeric = map[string]bool{
	"int": true, "float": true, "abs": true, "round": true, "sqrt": true, "range": true, "pow": true, "divmod": true,
}

// collecting lists functions and methods that take an iterable.
var collecting = map[string]bool{
	"len": true, "sum": true, "sorted": true, "list": true, "set": true, "tuple": true, "enumerate": true,
	"any": true, "all": true, "reversed": true, "join": true, "extend": true, "zip": true,
}

// argumentFiller returns the filler for the argument n of a call.
func (s *script) argumentFiller(call, n *node, st *stmt, depth int) string {
	f := call.kids[0]
	if n == f || f.kind != nodeName && f.kind != nodeAttr {
		return ""
	}
	switch {
	case numeric[f.op]:
		return fillZero
	case f.op == "join" && (len(call.kids) > 2 || strings.HasSuffix(s.text(f), "path.join")):
		return fillText
	case collecting[f.op]:
		return fillList
	case f.op == "print" || f.op == "str" || f.op == "repr":
		return fillShown
	case f.op == "max" || f.op == "min":
		return fillZero
	}
	return s.parameterFiller(f.op, call, n, depth)
}

// parameterFiller returns the filler for an argument of a function of the script,
// by the uses of the parameter.
func (s *script) parameterFiller(function string, call, n *node, depth int) string {
	position := -1
	for i, kid := range call.kids[1:] {
		if kid == n {
			position = i
		}
	}
	for _, def := range s.bindings[function] {
		if def.keyword == "def" && position >= 0 && position < len(def.targets) && len(def.body) > 0 && def.targets[0].op != "self" {
			return s.usesFiller(def.targets[position].op, def.body[0], depth+1)
		}
	}
	return ""
}

// methodFiller returns the filler for a value with a method of that name.
func methodFiller(name string) string {
	switch name {
	case "strip", "lower", "upper", "split", "startswith", "endswith", "replace", "title", "encode", "rstrip", "lstrip", "format", "splitlines", "isdigit", "capitalize", "ljust", "rjust", "center":
		return fillText
	case "items", "keys", "values", "get":
		return fillDict
	}
	return ""
}

// arithmeticFiller returns the filler for the operand n of the arithmetic operator p.
func (s *script) arithmeticFiller(p, n *node, st *stmt) string {
	other := p.kids[0]
	if other == n {
		other = p.kids[1]
	}
	switch {
	case divisorOf(p) == n:
		return ""
	case isFormat(p):
		return fillText
	case p.op == "-" || p.op == "*" || p.op == "/" || p.op == "//" || p.op == "**":
		return fillZero
	}
	return s.valueKind(other, st, 0)
}

// compareFiller returns the filler for the operand n of the comparison p.
func (s *script) compareFiller(p, n *node, st *stmt) string {
	switch p.op {
	case "in", "not in":
		if n == p.kids[1] {
			return fillList
		}
		return fillNone
	case "==", "!=", "is", "is not":
		return fillNone
	}
	other := p.kids[0]
	if other == n {
		other = p.kids[1]
	}
	return s.valueKind(other, st, 0)
}
