package pydebug

import (
	"slices"
	"strconv"
	"strings"
)

// operation is an operation that can raise the reported error.
type operation struct {
	kind *errorKind
	stmt *Stmt
	node *Expr // a subscript, a call or a division; nil for the statement x /= y
	base *Expr // the sequence, the mapping or the divisor
	key  *Expr // the index or the key; nil for that of an element that any sequence with elements has
}

// errorKind is a kind of error that can be debugged.
type errorKind struct {
	name     string
	handlers []string // the exceptions whose except handles it, besides those that handle every error
	// find returns the base and the key of n; no base if n can't raise the error.
	find func(s *Module, n *Expr, st *Stmt, message string) (base, key *Expr)
	// implies reports whether o is safe if the condition n has the value truth.
	implies func(s *Module, n *Expr, truth bool, o operation) bool
	// complete sets the conditions of the hazard, or returns the reason why there are none.
	complete func(s *Module, h *hazard) (reason string)
}

const (
	indexError = "IndexError"
	keyError   = "KeyError"
	zeroError  = "ZeroDivisionError"
)

var errorKinds = map[string]*errorKind{
	indexError: {indexError, []string{"LookupError"}, findIndex, (*Module).impliesIndex, (*Module).indexHazard},
	keyError:   {keyError, []string{"LookupError"}, findKey, (*Module).impliesKey, (*Module).keyHazard},
	zeroError:  {zeroError, []string{"ArithmeticError"}, findDivision, (*Module).impliesNonZero, (*Module).zeroHazard},
}

// span returns the byte range of o, which a traceback of Python 3.11 marks.
func (o operation) span() (start, end int) {
	if o.node == nil {
		return o.stmt.Start, o.stmt.End
	}
	return o.node.Start, o.node.End
}

// sourceOf returns the source of o.
func (s *Module) sourceOf(o operation) string {
	start, end := o.span()
	return s.Source[start:end]
}

// operand returns what decides whether the operation fails: the divisor of a
// division, or the operation itself.
func (o operation) operand() *Expr {
	if o.kind.name == zeroError {
		return o.base
	}
	return o.node
}

// operations lists the operations of st that can raise the error.
func (s *Module) operations(st *Stmt, kind *errorKind, message string) []operation {
	var found []operation
	if kind.name == zeroError && (st.Op == "/=" || st.Op == "//=" || st.Op == "%=") && !s.isNonZero(st.Value) {
		found = append(found, operation{kind, st, nil, st.Value, nil})
	}
	for _, e := range st.Exprs {
		e.walk(func(n *Expr) bool {
			if base, key := kind.find(s, n, st, message); base != nil {
				found = append(found, operation{kind, st, n, base, key})
			}
			return true
		})
	}
	return found
}

func findIndex(_ *Module, n *Expr, st *Stmt, message string) (base, key *Expr) {
	switch {
	case strings.HasPrefix(message, "pop"), message == "" && isMethod(n, "pop") && len(n.Kids) == 1:
		if isMethod(n, "pop", "popleft") {
			return n.Kids[0].Kids[0], n.kid(1)
		}
		return nil, nil
	case strings.HasPrefix(message, "Cannot choose"):
		if isCallTo(n, "choice") {
			return n.kid(1), nil
		}
		return nil, nil
	case strings.HasPrefix(message, "Replacement index"), !n.is(ExprSubscript), n.Kids[1].is(ExprSlice), n.Kids[1].is(ExprString):
		return nil, nil
	}
	stores := strings.Contains(message, "assignment index")
	if isStored(n, st) == stores || !stores && reads(st) {
		return n.Kids[0], n.Kids[1]
	}
	return nil, nil
}

// reads reports whether the assignment st reads its targets, too.
func reads(st *Stmt) bool { return st.Op != "=" && st.Op != "" }

func findKey(s *Module, n *Expr, st *Stmt, message string) (base, key *Expr) {
	switch {
	case message == "'pop from an empty set'" || message == "'popitem(): dictionary is empty'":
		if isMethod(n, "pop", "popitem") && len(n.Kids) == 1 {
			return n.Kids[0].Kids[0], nil
		}
		return nil, nil
	case isMethod(n, "pop", "remove") && len(n.Kids) == 2:
		base, key = n.Kids[0].Kids[0], n.Kids[1]
	case n.is(ExprSubscript) && !n.Kids[1].is(ExprSlice) && (!isStored(n, st) || st.Keyword == "del" || reads(st)):
		base, key = n.Kids[0], n.Kids[1]
	}
	if base == nil || !keyFits(s, key, message) {
		return nil, nil
	}
	return base, key
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

func findDivision(s *Module, n *Expr, _ *Stmt, _ string) (divisor, key *Expr) {
	switch {
	case isCallTo(n, "divmod") && len(n.Kids) == 3:
		return n.Kids[2], nil
	case n.Kind != ExprBinary || n.Op != "/" && n.Op != "//" && n.Op != "%" || s.isNonZero(n.Kids[1]):
		return nil, nil
	}
	if left := n.Kids[0].Unparen(); n.Op == "%" && (left.is(ExprString) || left.is(ExprFString)) {
		return nil, nil // it formats a string
	}
	return n.Kids[1], nil
}

// isNonZero reports whether n is a literal number other than zero.
func (s *Module) isNonZero(n *Expr) bool {
	n = n.Unparen()
	return n.is(ExprNumber) && strings.Trim(s.text(n), "0._jJeE") != ""
}

// isMethod reports whether n is the call of a method with one of the names.
func isMethod(n *Expr, names ...string) bool {
	return n.is(ExprCall) && n.Kids[0].is(ExprAttr) && slices.Contains(names, n.Kids[0].Op)
}

// isCallTo reports whether n calls a function with one of the names, with or without
// the name of its module.
func isCallTo(n *Expr, names ...string) bool {
	return isMethod(n, names...) || n.is(ExprCall) && n.Kids[0].is(ExprName) && slices.Contains(names, n.Kids[0].Op)
}

// isStored reports whether n is assigned or deleted by st, not read.
func isStored(n *Expr, st *Stmt) bool {
	top := n
	for top.parent.is(ExprTuple) || top.parent.is(ExprList) || top.parent.is(ExprParen) || top.parent.is(ExprStar) {
		top = top.parent
	}
	return slices.Contains(st.Targets, top)
}

// need returns the length that the base of an IndexError must have; 0 if that depends
// on a computed index.
func (s *Module) need(o operation) int {
	if o.key == nil {
		return 1
	}
	k, ok := s.integer(o.key)
	switch {
	case !ok:
		return 0
	case k < 0:
		return -k
	}
	return k + 1
}

// maxInteger bounds the literals, so that sums of them don't overflow.
const maxInteger = 1 << 30

// integer returns the value of a literal int, with or without a sign.
func (s *Module) integer(n *Expr) (int, bool) {
	n = n.Unparen()
	if n.is(ExprUnary) && n.Op == "-" {
		k, ok := s.integer(n.Kids[0])
		return -k, ok
	}
	if !n.is(ExprNumber) {
		return 0, false
	}
	k, err := strconv.ParseInt(strings.ReplaceAll(s.text(n), "_", ""), 0, 32)
	return int(k), err == nil && k <= maxInteger
}
