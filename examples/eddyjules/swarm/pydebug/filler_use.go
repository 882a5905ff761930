package pydebug

// statementFiller is for a value that st consumes as a whole.
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

// assignedFiller follows an assignment to where its variable is used.
func (s *script) assignedFiller(st *stmt, depth int) string {
	switch {
	case st.op == "":
		return fillNone // an expression of its own
	case st.op != "=" && len(st.targets) == 1:
		return s.accumulated(st)
	case len(st.targets) == 1 && st.targets[0].is(nodeName):
		return s.usesFiller(st.targets[0].op, st, depth+1)
	}
	return ""
}

// accumulated is for the value of target += value.
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

// usesFiller combines what all uses of a variable in the function of st ask
// for; empty if they disagree or one doesn't tell.
func (s *script) usesFiller(name string, st *stmt, depth int) string {
	if depth > maxFillerDepth || !s.spend() {
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

// combine merges what two uses ask for; None suits whoever only looks at it.
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

// returnFiller follows a return value to the calls of its function.
func (s *script) returnFiller(st *stmt, depth int) string {
	function := st.function()
	if function == nil || len(function.names) == 0 || !s.spend() {
		return ""
	}
	agreed, calls := fillNone, 0
	for _, b := range s.all {
		bad := b.has(func(n *node) bool {
			if !isCallTo(n, function.names[0]) || calls > 50 {
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

// valueKind is the filler of the same type as the value of n; empty if the
// type can't be told.
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

// spend takes one pass over the source from what this script may cost.
func (s *script) spend() bool {
	s.passes++
	return s.passes <= maxPasses
}
