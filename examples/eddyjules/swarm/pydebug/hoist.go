package pydebug

// hoist gives what makes a value anew by each evaluation a line and a name of
// its own, so that it can be tested: `rows()[0]` becomes `rows_ = rows()` and
// `rows_[0]`. It returns nil where that would change the order in which the
// statement calls things.
func (s *script) hoist(n *node, c candidate, name string) *hoisting {
	st := c.stmt
	simple := st.keyword == "" || st.keyword == "return" || st.keyword == "if" || st.keyword == "for"
	walrus := n.has(func(m *node) bool { return m.kind == nodeWalrus })
	if c.node == nil || walrus || !simple || !st.leads || enclosing(n) != nil || s.isConditional(n) || !s.evaluatedFirst(n, st) {
		return nil
	}
	fresh := s.fresh(name)
	text := s.text(n.unparen())
	return &hoisting{name: fresh, edits: []edit{s.before(st, fresh+" = "+text), replace(n, fresh)}}
}

// hoisting is a new variable and the edits that introduce it.
type hoisting struct {
	name  string
	edits []edit
}

// evaluatedFirst reports whether nothing with an effect is evaluated in st
// before n. The targets of an assignment are evaluated after its value.
func (s *script) evaluatedFirst(n *node, st *stmt) bool {
	for _, e := range st.exprs {
		before := e.has(func(m *node) bool {
			return m.end <= n.start && m.is(nodeCall) && !repeatable(m)
		})
		if before {
			return false
		}
	}
	return true
}
