package pydebug

// hoist assigns the expression n to a new variable in front of the statement, so
// that its value can be tested without a second evaluation: `rows()[0]` becomes
// `found = rows()` and `found[0]`. It returns nil if that would change the order
// in which the statement evaluates its calls.
func (s *script) hoist(n *node, c candidate, name string) *hoisting {
	st := c.stmt
	simple := st.keyword == "" || st.keyword == "return" || st.keyword == "if" || st.keyword == "for"
	walrus := n.has(func(m *node) bool { return m.kind == nodeWalrus })
	if c.node == nil || walrus || !simple || !st.startsLine || enclosing(n) != nil || s.isConditional(n) || !s.evaluatedFirst(n, st) {
		return nil
	}
	fresh := s.fresh(name)
	text := s.text(n.unparen())
	return &hoisting{name: fresh, edits: []edit{s.insertBefore(st, fresh+" = "+text), replace(n, fresh)}}
}

// hoisting is a new variable and the edits that introduce it.
type hoisting struct {
	name  string
	edits []edit
}

// evaluatedFirst reports whether st evaluates no call with a side effect before n.
func (s *script) evaluatedFirst(n *node, st *stmt) bool {
	return !st.has(func(m *node) bool { return m.end <= n.start && m.is(nodeCall) && !repeatable(m) })
}
