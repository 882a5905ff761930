package pydebug

// nodeKind is the kind of an expression.
type nodeKind uint8

const (
	nodeName nodeKind = iota
	nodeNumber
	nodeString
	nodeFString   // kids: interpolations
	nodeInterp    // {expr!r:spec}; kids: expr, and those of the spec
	nodeAttr      // kids: value; op is the attribute's name
	nodeSubscript // kids: base, index
	nodeSlice     // kids: start, stop and step, as far as given
	nodeCall      // kids: function, arguments
	nodeKeyword   // name=value in a call; kids: value
	nodeStar      // *x and **x; kids: value
	nodeUnary     // op and one kid: -x, +x, ~x, await x
	nodeNot
	nodeBinary  // arithmetic; op and two kids
	nodeCompare // op and two kids; a chain nests to the left
	nodeBool    // and, or; op and two kids
	nodeTernary // kids: then, condition, else
	nodeLambda  // kids: defaults, body (last)
	nodeWalrus  // kids: target, value
	nodeYield
	nodeParen  // a group (x); kids: x
	nodeTuple  // also a tuple without parentheses
	nodeList   // [a, b]
	nodeSet    // {a, b}
	nodeDict   // kids: pairs and stars
	nodePair   // key: value
	nodeComp   // a comprehension in its brackets; kids: element, clauses
	nodeCompIn // for target in iterable; kids: target, iterable
	nodeCompIf // if condition; kids: condition
)

// node is one expression; start and end are byte offsets, brackets included.
type node struct {
	kind       nodeKind
	op         string // the operator, the name, or the opening bracket; see nodeKind
	start, end int
	opAt       int // the offset of the operator of a nodeCompare
	kids       []*node
	parent     *node
}

func newNode(k nodeKind, start, end int, kids ...*node) *node {
	n := &node{kind: k, start: start, end: max(start, end), kids: kids}
	for _, kid := range kids {
		kid.parent = n
	}
	return n
}

// walk visits n and all nodes below it in source order, until visit returns false.
// It reports whether all were visited.
func (n *node) walk(visit func(*node) bool) bool {
	if !visit(n) {
		return false
	}
	for _, kid := range n.kids {
		if !kid.walk(visit) {
			return false
		}
	}
	return true
}

// kid returns the i-th kid, or nil.
func (n *node) kid(i int) *node {
	if i < len(n.kids) {
		return n.kids[i]
	}
	return nil
}

// is reports whether n is of the kind k. It is false for nil.
func (n *node) is(k nodeKind) bool { return n != nil && n.kind == k }

// childOf returns the child of a that n is, or is below of. n must be below a.
func (n *node) childOf(a *node) *node {
	for n.parent != a {
		n = n.parent
	}
	return n
}

// within reports whether n is a or below it.
func (n *node) within(a *node) bool {
	for ; n != nil; n = n.parent {
		if n == a {
			return true
		}
	}
	return false
}

// unparen strips parentheses that only group.
func (n *node) unparen() *node {
	for n.is(nodeParen) {
		n = n.kids[0]
	}
	return n
}

// has reports whether n or a node below it satisfies test.
func (n *node) has(test func(*node) bool) bool {
	return n != nil && !n.walk(func(m *node) bool { return !test(m) })
}
