package pydebug

import "slices"

// ExprKind is the kind of an [Expr].
type ExprKind uint8

// The kinds of expressions.
const (
	ExprName ExprKind = iota // Op is the name
	ExprNumber
	ExprString
	ExprFString   // Kids: interpolations
	ExprInterp    // {expr!r:spec}; kids: expr, and those of the spec
	ExprAttr      // Kids: value; Op is the attribute's name
	ExprSubscript // Kids: base, index
	ExprSlice     // Kids: start, stop and step, as far as given
	ExprCall      // Kids: function, arguments
	ExprKeyword   // name=value in a call; kids: value
	ExprStar      // *x and **x; kids: value
	ExprUnary     // Op and one kid: -x, +x, ~x, await x
	ExprNot
	ExprBinary  // arithmetic; Op and two Kids
	ExprCompare // Op and two kids; a chain nests to the left
	ExprBool    // and, or; Op and two Kids
	ExprTernary // Kids: then, condition, else
	ExprLambda  // Kids: defaults, body (last)
	ExprWalrus  // Kids: target, value
	ExprYield
	ExprParen  // a group (x); kids: x
	ExprTuple  // also a tuple without parentheses
	ExprList   // [a, b]
	ExprSet    // {a, b}
	ExprDict   // Kids: pairs and stars
	ExprPair   // key: value
	ExprComp   // a comprehension in its brackets; kids: element, clauses
	ExprCompIn // for target in iterable; kids: target, iterable
	ExprCompIf // if condition; kids: condition
)

// Expr is one expression; Start and End are byte offsets, brackets included.
type Expr struct {
	Kind       ExprKind
	Op         string // the operator, the name, or the opening bracket; see ExprKind
	Start, End int
	Kids       []*Expr
	parent     *Expr
}

func newNode(k ExprKind, start, end int, kids ...*Expr) *Expr {
	n := &Expr{Kind: k, Start: start, End: max(start, end), Kids: kids}
	for _, kid := range kids {
		kid.parent = n
	}
	return n
}

// walk visits n and all nodes below it in source order, until visit returns false.
// It reports whether all were visited.
func (n *Expr) walk(visit func(*Expr) bool) bool {
	return visit(n) && !slices.ContainsFunc(n.Kids, func(kid *Expr) bool { return !kid.walk(visit) })
}

// kid returns the i-th kid, or nil.
func (n *Expr) kid(i int) *Expr {
	if i < len(n.Kids) {
		return n.Kids[i]
	}
	return nil
}

// is reports whether n is of the kind k. It is false for nil.
func (n *Expr) is(k ExprKind) bool { return n != nil && n.Kind == k }

// childOf returns the child of a that n is, or is below of. n must be below a.
func (n *Expr) childOf(a *Expr) *Expr {
	for n.parent != a {
		n = n.parent
	}
	return n
}

// within reports whether n is a or below it.
func (n *Expr) within(a *Expr) bool {
	for ; n != nil; n = n.parent {
		if n == a {
			return true
		}
	}
	return false
}

// Unparen strips parentheses that only group.
func (n *Expr) Unparen() *Expr {
	for n.is(ExprParen) {
		n = n.Kids[0]
	}
	return n
}

// Mentions reports whether n or a node below it is the variable of that name.
func (n *Expr) Mentions(name string) bool {
	return n.Has(func(m *Expr) bool { return m.is(ExprName) && m.Op == name })
}

// Has reports whether n or a node below it satisfies test. A nil n has none.
func (n *Expr) Has(test func(*Expr) bool) bool {
	return n != nil && !n.walk(func(m *Expr) bool { return !test(m) })
}
