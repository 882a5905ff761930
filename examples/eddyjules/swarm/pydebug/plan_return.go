package pydebug

import "fmt"

// returnFix returns from the function early, with a value that does not fail in
// its callers. If there is no such value, it returns nil and the reason.
func (s *script) returnFix(h *hazard, at *site) (*fix, string) {
	function := h.stmt.function()
	if function.names[0] == "__init__" {
		return s.orReason(s.conditionalFix(h), "a constructor that returns early leaves an object without its attributes")
	}
	if !s.returnsValue(function) {
		return s.returnEarly(s.extendRecord(h), "", nil), ""
	}
	if h.record {
		if edits, ok := s.skippingCallers(function); ok {
			return s.returnEarly(s.extendRecord(h), fillNone, edits), ""
		}
	}
	if h.stmt.keyword == "return" {
		if f := s.conditionalFix(h); f != nil {
			return f, ""
		}
	}
	filler := s.returnFiller(h.stmt, 0)
	switch {
	case filler == fillShown:
		filler = fillNone
	case filler == "" && h.stmt.keyword == "return" && h.stmt.value != nil && s.valueKind(h.stmt.value, h.stmt, 0) == fillText:
		filler = fillText
	}
	if filler != "" {
		return s.returnEarly(s.extendRecord(h), filler, nil), ""
	}
	if edits, ok := s.skippingCallers(function); ok {
		return s.returnEarly(s.extendRecord(h), fillNone, edits), ""
	}
	return s.orReason(s.conditionalFix(h), fmt.Sprintf("`%s` has to return something, and its callers would fail on any value that can be made up%s", function.names[0], at.callersText()))
}

// callersText returns a remark with the line that called the failing function;
// empty if the traceback has no such line.
func (at *site) callersText() string {
	if len(at.caller) == 0 {
		return ""
	}
	return fmt.Sprintf(" (the call is on line %d)", at.caller[0].line)
}

// returnEarly inserts `if unsafe: return value` in front of the statement. callers
// are further edits, which make the callers skip that value.
func (s *script) returnEarly(h *hazard, value string, callers []edit) *fix {
	word := "return"
	if value != "" {
		word += " " + s.fitQuotes(value, nil)
	}
	f := &fix{
		shape:      h.shape,
		edits:      append([]edit{s.insertBefore(h.stmt, "if "+h.unsafe+":", "\t"+word)}, callers...),
		change:     fmt.Sprintf("The function now does `%s` when %s.", word, h.cause),
		effect:     "In every other case it does exactly what it did.",
		confidence: 0.82,
	}
	if len(callers) > 0 {
		f.change += " Where it is called, such a result is skipped."
		f.confidence = 0.8
	}
	return f
}

// returnsValue reports whether the function returns anything but None. For a
// generator, which a bare return ends, it is false.
func (s *script) returnsValue(function *stmt) bool {
	found, generator := false, false
	for _, st := range function.body {
		st.walk(func(b *stmt) bool {
			if b.function() != function {
				return true
			}
			generator = generator || b.has(func(n *node) bool { return n.kind == nodeYield })
			found = found || b.keyword == "return" && b.value != nil && s.text(b.value) != fillNone
			return true
		})
	}
	return found && !generator
}

// skippingCallers returns edits that make every call of the function skip a None.
// ok is false if there is no call, or one that can't be edited so.
func (s *script) skippingCallers(function *stmt) ([]edit, bool) {
	name := function.names[0]
	if len(s.bindings[name]) != 1 || function.function() != nil {
		return nil, false
	}
	var edits []edit
	calls, ok := 0, true
	for _, b := range s.all {
		for _, e := range b.exprs {
			e.walk(func(n *node) bool {
				if (n.is(nodeName) || n.is(nodeAttr)) && n.op == name {
					more, can := s.skipNone(n, b)
					edits, ok, calls = append(edits, more...), ok && can, calls+1
				}
				return ok && calls <= maxCandidates
			})
		}
	}
	return edits, ok && calls > 0 && calls <= maxCandidates
}

// skipNone returns the edits that make one call skip a None, and whether it can:
// name is the name of the called function in st.
func (s *script) skipNone(name *node, st *stmt) ([]edit, bool) {
	call := name.parent
	if !call.is(nodeCall) || call.kids[0] != name {
		return nil, false
	}
	if comp := call.parent; comp.is(nodeComp) && comp.kids[0] == call && comp.op == "[" {
		item := s.fresh("result")
		return []edit{
			{comp.start + 1, comp.start + 1, item + " for " + item + " in ("},
			{comp.end - 1, comp.end - 1, ") if " + item + " is not None"},
		}, true
	}
	if st.keyword == "" && st.op == "" && st.value == call {
		return nil, true
	}
	if !st.startsLine || !st.alone || st.keyword != "" || enclosing(call) != nil || s.isConditional(call) {
		return nil, false
	}
	loop := st.loop()
	if loop == nil || loop.keyword != "for" {
		return nil, false
	}
	target := st.value == call && st.op == "=" && len(st.targets) == 1 && st.targets[0].is(nodeName)
	if target && !call.has(func(n *node) bool { return n.is(nodeName) && n.op == st.targets[0].op }) {
		return []edit{s.insertAfter(st, "if "+st.targets[0].op+" is None:", "\tcontinue")}, true
	}
	return s.hoisted(call, st)
}

// hoisted assigns the result of the call to a new variable in front of st, and
// continues the loop if that is None.
func (s *script) hoisted(call *node, st *stmt) ([]edit, bool) {
	for _, t := range st.targets {
		if !repeatable(t) {
			return nil, false
		}
	}
	item := s.fresh("result")
	lines := []string{item + " = " + s.text(call), "if " + item + " is None:", "\tcontinue"}
	return []edit{s.insertBefore(st, lines...), replace(call, item)}, true
}

// fresh returns a name that the script doesn't use.
func (s *script) fresh(name string) string {
	used := func(n string) bool {
		for _, t := range s.tokens {
			if t.kind == tokenName && s.src[t.start:t.end] == n {
				return true
			}
		}
		return false
	}
	for used(name) && len(name) < 40 {
		name += "_"
	}
	return name
}
