package pydebug

// statementFiller returns the filler for n if n is the whole value of st.
func (s *script) statementFiller(n *node, st *stmt, depth int) string {
	if n != st.value {
		return ""
	}
	switch st.keyword {
	case "if", "elif", "while", "assert":
		return fillNone
	case "for":
		return fillList
	case "return":
		return s.returnFiller(st, depth)
	case "":
		return s.assignedFiller(st, depth)
	}
	return ""
}

// assignedFiller returns the filler for the value of an assignment, by the uses of
// its variable.
func (s *script) assignedFiller(st *stmt, depth int) string {
	switch {
	case st.op == "":
		return fillNone // an expression statement, which discards the value
	case st.op != "=" && len(st.targets) == 1:
		return s.accumulated(st)
	case len(st.targets) == 1 && st.targets[0].is(nodeName):
		return s.usesFiller(st.targets[0].op, st, depth+1)
	}
	return ""
}

// accumulated returns the filler for the value of an augmented assignment.
func (s *script) accumulated(st *stmt) string {
	if st.op != "+=" {
		if divides(st.op) {
			return ""
		}
		return fillZero
	}
	if st.targets[0].is(nodeName) {
		if value := s.assignedValue(st.targets[0].op, st); value != nil {
			return s.valueKind(value, st, 0)
		}
	}
	return fillZero
}

// usesFiller returns the filler that suits all uses of a variable in the function
// of st; empty if they disagree or one is unknown.
func (s *script) usesFiller(name string, st *stmt, depth int) string {
	if depth > maxFillerDepth || !s.allowPass() {
		return ""
	}
	agreed := fillNone
	for _, b := range s.all {
		if b.function() != st.function() && st.function() != nil {
			continue
		}
		ok := !b.has(func(n *node) bool {
			if !n.is(nodeName) || n.op != name || isStored(n, b) || n == b.value && b == st {
				return false
			}
			filler := s.filler(n, b, depth)
			agreed = combine(agreed, filler)
			return agreed == ""
		})
		if !ok {
			return ""
		}
	}
	return agreed
}

// combine returns the filler that suits two uses; empty if there is none. A use
// with fillNone only tests or prints the value, so that any filler suits it.
func combine(a, b string) string {
	switch {
	case a == b, b == fillNone:
		return a
	case a == fillNone:
		return b
	case a == "" || b == "":
		return ""
	case a == fillShown:
		return b
	case b == fillShown:
		return a
	}
	return ""
}

// maxCalls bounds the calls that returnFiller examines.
const maxCalls = 50

// returnFiller returns the filler for the value of a return statement, by the uses
// of the function's calls.
func (s *script) returnFiller(st *stmt, depth int) string {
	function := st.function()
	if function == nil || len(function.names) == 0 || !s.allowPass() {
		return ""
	}
	agreed, calls := fillNone, 0
	for _, b := range s.all {
		bad := b.has(func(n *node) bool {
			if !isCallTo(n, function.names[0]) || calls > maxCalls {
				return false
			}
			calls++
			agreed = combine(agreed, s.filler(n, b, depth+1))
			return agreed == ""
		})
		if bad {
			return ""
		}
	}
	if calls == 0 {
		return ""
	}
	return agreed
}

// valueKind returns the filler of the type that n has; empty if the type is unknown.
func (s *script) valueKind(n *node, st *stmt, depth int) string {
	n = n.unparen()
	if depth > maxFillerDepth {
		return ""
	}
	switch n.kind {
	case nodeNumber:
		return fillZero
	case nodeString, nodeFString:
		return fillText
	case nodeList:
		return fillList
	case nodeDict:
		return fillDict
	case nodeUnary:
		return fillZero
	case nodeComp:
		return map[string]string{"[": fillList, "{": ""}[n.op]
	case nodeCompare, nodeNot:
		return fillFalse
	case nodeCall:
		return callKind(n)
	case nodeBinary:
		return s.binaryKind(n, st, depth)
	case nodeName:
		return s.nameKind(n, st, depth)
	}
	return ""
}

func callKind(n *node) string {
	switch f := n.kids[0]; {
	case f.is(nodeName) && (numeric[f.op] || f.op == "len" || f.op == "sum"):
		return fillZero
	case f.is(nodeName) && f.op == "str", f.is(nodeAttr) && (f.op == "join" || f.op == "strip" || f.op == "lower" || f.op == "upper" || f.op == "replace" || f.op == "format"):
		return fillText
	case f.op == "list" || f.op == "sorted" || f.op == "split":
		return fillList
	case f.op == "dict":
		return fillDict
	}
	return ""
}

func (s *script) binaryKind(n *node, st *stmt, depth int) string {
	if isFormat(n) {
		return fillText
	}
	if n.op == "-" || n.op == "/" || n.op == "//" || n.op == "**" {
		return fillZero
	}
	if kind := s.valueKind(n.kids[0], st, depth+1); kind != "" {
		return kind
	}
	return s.valueKind(n.kids[1], st, depth+1)
}

func (s *script) nameKind(n *node, st *stmt, depth int) string {
	switch n.op {
	case "True", "False":
		return fillFalse
	case "None":
		return fillNone
	}
	if value := s.assignedValue(n.op, st); value != nil {
		return s.valueKind(value, st, depth+1)
	}
	for _, b := range s.bindings[n.op] {
		if b.op == "=" && b.value != nil && len(b.targets) == 1 && b.targets[0].is(nodeName) && b.function() == st.function() && b != st {
			return s.valueKind(b.value, b, depth+1)
		}
		if b.keyword == "for" && isCallTo(b.value, "range") {
			return fillZero
		}
	}
	return ""
}

// allowPass counts a search of the whole source, and reports whether it is within
// maxPasses.
func (s *script) allowPass() bool {
	s.passes++
	return s.passes <= maxPasses
}
