package pydebug

import (
	"slices"
	"strings"
)

// candidate is an operation that can raise the reported error.
type candidate struct {
	node *Expr // a subscript, a call or a division; nil for the statement x /= y
	stmt *Stmt
}

// span returns the byte range of c, which a traceback of Python 3.11 marks.
func (c candidate) span() (start, end int) {
	if c.node == nil {
		return c.stmt.Start, c.stmt.End
	}
	return c.node.Start, c.node.End
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
func (s *Module) candidates(st *Stmt, tb *traceback) []candidate {
	var found []candidate
	if tb.kind == zeroError && divides(st.Op) && !s.isNonZero(st.Value) {
		found = append(found, candidate{nil, st})
	}
	for _, e := range st.Exprs {
		e.walk(func(n *Expr) bool {
			if s.canRaise(n, st, tb) {
				found = append(found, candidate{n, st})
			}
			return true
		})
	}
	return found
}

func (s *Module) canRaise(n *Expr, st *Stmt, tb *traceback) bool {
	switch tb.kind {
	case indexError:
		return s.canRaiseIndex(n, st, tb.message)
	case keyError:
		return s.canRaiseKey(n, st, tb.message)
	}
	return s.canRaiseZero(n)
}

func (s *Module) canRaiseIndex(n *Expr, st *Stmt, message string) bool {
	switch {
	case strings.HasPrefix(message, "pop"), message == "" && isMethod(n, "pop") && len(n.Kids) == 1:
		return isMethod(n, "pop") || isMethod(n, "popleft")
	case strings.HasPrefix(message, "Cannot choose"):
		return isCallTo(n, "choice")
	case strings.HasPrefix(message, "Replacement index"):
		return false
	case n.Kind != ExprSubscript || n.Kids[1].is(ExprSlice) || n.Kids[1].is(ExprString):
		return false
	case strings.Contains(message, "assignment index"):
		return isStored(n, st)
	}
	return !isStored(n, st) || st.Op != "=" && st.Op != ""
}

func (s *Module) canRaiseKey(n *Expr, st *Stmt, message string) bool {
	switch {
	case message == "'pop from an empty set'":
		return isMethod(n, "pop") && len(n.Kids) == 1
	case message == "'popitem(): dictionary is empty'":
		return isMethod(n, "popitem")
	case isMethod(n, "pop"), isMethod(n, "remove"):
		return len(n.Kids) == 2 && keyFits(s, n.Kids[1], message)
	case n.Kind != ExprSubscript || n.Kids[1].is(ExprSlice):
		return false
	case isStored(n, st) && st.Keyword != "del" && (st.Op == "=" || st.Op == ""):
		return false
	}
	return keyFits(s, n.Kids[1], message)
}

// keyFits reports whether index can be the missing key, whose repr is the message
// of the KeyError. An index that isn't a literal always can.
func keyFits(s *Module, index *Expr, message string) bool {
	if !index.is(ExprString) && !index.is(ExprNumber) {
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

func (s *Module) canRaiseZero(n *Expr) bool {
	switch {
	case n.Kind == ExprBinary && (n.Op == "/" || n.Op == "//" || n.Op == "%"):
		return !isFormat(n) && !s.isNonZero(n.Kids[1])
	case isCallTo(n, "divmod") && len(n.Kids) == 3:
		return true
	}
	return false
}

// isNonZero reports whether n is a literal number other than zero.
func (s *Module) isNonZero(n *Expr) bool {
	n = n.unparen()
	return n.is(ExprNumber) && strings.Trim(s.text(n), "0._jJeE") != ""
}

func divides(op string) bool { return op == "/=" || op == "//=" || op == "%=" }

// isMethod reports whether n is the call of a method of that name.
func isMethod(n *Expr, name string) bool {
	return n.is(ExprCall) && n.Kids[0].is(ExprAttr) && n.Kids[0].Op == name
}

// isCallTo reports whether n calls a function of that name, with or without the
// name of its module.
func isCallTo(n *Expr, name string) bool {
	return n.is(ExprCall) && (n.Kids[0].is(ExprName) || n.Kids[0].is(ExprAttr)) && n.Kids[0].Op == name
}

// isStored reports whether n is assigned or deleted by st, not read.
func isStored(n *Expr, st *Stmt) bool {
	top := n
	for top.parent != nil && (top.parent.is(ExprTuple) || top.parent.is(ExprList) || top.parent.is(ExprParen) || top.parent.is(ExprStar)) {
		top = top.parent
	}
	return slices.Contains(st.Targets, top)
}

// isFormat reports whether n formats a string: "…" % value.
func isFormat(n *Expr) bool {
	left := n.Kids[0].unparen()
	return n.Op == "%" && (left.is(ExprString) || left.is(ExprFString))
}
