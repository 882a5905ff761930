package pydebug

import (
	"slices"
	"strings"
)

// candidate is an operation that can raise the reported error.
type candidate struct {
	node *node // a subscript, a call or a division; nil for the statement x /= y
	stmt *stmt
}

// span returns the byte range of c, which a traceback of Python 3.11 marks.
func (c candidate) span() (start, end int) {
	if c.node == nil {
		return c.stmt.start, c.stmt.end
	}
	return c.node.start, c.node.end
}

// The kinds of error that can be debugged.
const (
	indexError = "IndexError"
	keyError   = "KeyError"
	zeroError  = "ZeroDivisionError"
)

// supported reports whether errors of this kind can be debugged.
func supported(kind string) bool {
	return kind == indexError || kind == keyError || kind == zeroError
}

// candidates lists the operations of st that can raise the error of tb.
func (s *script) candidates(st *stmt, tb *traceback) []candidate {
	var found []candidate
	if tb.kind == zeroError && divides(st.op) && zeroMessageFits(st.op, tb.message) && !s.isNonZero(st.value) {
		found = append(found, candidate{nil, st})
	}
	for _, e := range st.exprs {
		e.walk(func(n *node) bool {
			if s.canRaise(n, st, tb) {
				found = append(found, candidate{n, st})
			}
			return true
		})
	}
	return found
}

func (s *script) canRaise(n *node, st *stmt, tb *traceback) bool {
	switch tb.kind {
	case indexError:
		return s.canRaiseIndex(n, st, tb.message)
	case keyError:
		return s.canRaiseKey(n, st, tb.message)
	}
	return s.canRaiseZero(n, tb.message)
}

func (s *script) canRaiseIndex(n *node, st *stmt, message string) bool {
	switch {
	case strings.HasPrefix(message, "pop"), message == "" && isMethod(n, "pop") && len(n.kids) == 1:
		return isMethod(n, "pop") || isMethod(n, "popleft")
	case strings.HasPrefix(message, "Cannot choose"):
		return isCallTo(n, "choice")
	case strings.HasPrefix(message, "Replacement index"):
		return false
	case n.kind != nodeSubscript || n.kids[1].is(nodeSlice) || n.kids[1].is(nodeString):
		return false
	case strings.Contains(message, "assignment index"):
		return isStored(n, st)
	}
	return !isStored(n, st) || st.op != "=" && st.op != ""
}

func (s *script) canRaiseKey(n *node, st *stmt, message string) bool {
	switch {
	case message == "'pop from an empty set'":
		return isMethod(n, "pop") && len(n.kids) == 1
	case message == "'popitem(): dictionary is empty'":
		return isMethod(n, "popitem")
	case isMethod(n, "pop"), isMethod(n, "remove"):
		return len(n.kids) == 2 && keyFits(s, n.kids[1], message)
	case n.kind != nodeSubscript || n.kids[1].is(nodeSlice):
		return false
	case isStored(n, st) && st.keyword != "del" && (st.op == "=" || st.op == ""):
		return false
	}
	return keyFits(s, n.kids[1], message)
}

// keyFits reports whether index can be the missing key, whose repr is the message
// of the KeyError. An index that isn't a literal always can.
func keyFits(s *script, index *node, message string) bool {
	if !index.is(nodeString) && !index.is(nodeNumber) {
		return true
	}
	return message == "" || unquote(s.text(index)) == unquote(message)
}

// unquote strips the prefix and quotes of a literal; numbers are unchanged.
func unquote(literal string) string {
	t := strings.TrimLeft(literal, "rRuUbB")
	if len(t) < 2 || t[0] != '"' && t[0] != '\'' || t[len(t)-1] != t[0] {
		return literal
	}
	if len(t) >= 6 && strings.HasPrefix(t, strings.Repeat(t[:1], 3)) {
		return t[3 : len(t)-3]
	}
	return t[1 : len(t)-1]
}

func (s *script) canRaiseZero(n *node, message string) bool {
	switch {
	case n.kind == nodeBinary && (n.op == "/" || n.op == "//" || n.op == "%"):
		return !isFormat(n) && zeroMessageFits(n.op, message) && !s.isNonZero(n.kids[1])
	case isCallTo(n, "divmod") && len(n.kids) == 3:
		return true
	}
	return false
}

// isNonZero reports whether n is a literal number other than zero.
func (s *script) isNonZero(n *node) bool {
	n = n.unparen()
	return n.is(nodeNumber) && strings.Trim(s.text(n), "0._jJeE") != ""
}

// zeroMessageFits reports whether the operator op can cause the message. Some
// messages of ZeroDivisionError name their operator.
func zeroMessageFits(op, message string) bool {
	op = strings.TrimSuffix(op, "=")
	switch message {
	case "integer modulo by zero", "float modulo", "float modulo by zero":
		return op == "%"
	case "float division by zero":
		return op == "/"
	case "integer division or modulo by zero":
		return op != "/"
	case "float floor division by zero":
		return op == "//"
	}
	return true
}

func divides(op string) bool { return op == "/=" || op == "//=" || op == "%=" }

// isMethod reports whether n is the call of a method of that name.
func isMethod(n *node, name string) bool {
	return n.is(nodeCall) && n.kids[0].is(nodeAttr) && n.kids[0].op == name
}

// isCallTo reports whether n calls a function of that name, with or without the
// name of its module.
func isCallTo(n *node, name string) bool {
	return n.is(nodeCall) && (n.kids[0].is(nodeName) || n.kids[0].is(nodeAttr)) && n.kids[0].op == name
}

// isStored reports whether n is assigned or deleted by st, not read.
func isStored(n *node, st *stmt) bool {
	top := n
	for top.parent != nil && (top.parent.is(nodeTuple) || top.parent.is(nodeList) || top.parent.is(nodeParen) || top.parent.is(nodeStar)) {
		top = top.parent
	}
	return slices.Contains(st.targets, top)
}
