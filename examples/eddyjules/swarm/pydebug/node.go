package pydebug

// nodeKind says what an expression is.
type nodeKind uint8

const (
	nodeName nodeKind = iota
	nodeNumber
	nodeString
	nodeFString   // kids: interpolations
	nodeInterp    // {expr!r:spec}; kids: expr, and those of the spec
	nodeAttr      // kids: value; op is the attribute's name
	nodeSubscript // kids: base, index
	nodeSlice     // kids: what is given of start, stop and step
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
	nodeParen  // kids: the one inside
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
	op         string
	start, end int
	opAt       int // where the operator or the opening bracket of a trailer is
	line       int
	kids       []*node
	parent     *node
}

func newNode(k nodeKind, start, end, line int, kids ...*node) *node {
	n := &node{kind: k, start: start, end: max(start, end), opAt: start, line: line, kids: kids}
	for _, kid := range kids {
		kid.parent = n
	}
	return n
}

// walk visits n and everything below it, in the order of the source, until
// visit returns false.
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

// is reports whether n is of the kind k; nil is of none.
func (n *node) is(k nodeKind) bool { return n != nil && n.kind == k }

// within reports whether n is a or lies below it.
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

// has reports whether anything in n satisfies test.
func (n *node) has(test func(*node) bool) bool {
	return n != nil && !n.walk(func(m *node) bool { return !test(m) })
}

// kid1 is the index of a subscript or the right side of an operator; for other
// nodes an empty one, so that it can be looked at without a test.
func (n *node) kid1() *node {
	if k := n.kid(1); k != nil {
		return k
	}
	return &node{}
}
