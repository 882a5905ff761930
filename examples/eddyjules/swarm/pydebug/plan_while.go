package pydebug

import "fmt"

// whileFix leaves a while loop, or skips one turn of it, but only if the loop
// still comes to its end.
func (s *script) whileFix(h *hazard, loop *stmt) *fix {
	h = s.extendRecord(h)
	if loop.value.has(func(n *node) bool { return n.kind == nodeBool && n.op == "or" }) {
		return nil // the loop has more than one reason to go on: ending it could lose work
	}
	if !s.madeInTurn(h, loop) {
		return &fix{
			shape:      h.shape,
			edits:      []edit{s.before(h.stmt, "if "+h.unsafe+":", "\tbreak")},
			change:     fmt.Sprintf("The loop now ends when %s.", h.cause),
			effect:     "Until then it does exactly what it did; what follows the loop still runs.",
			confidence: 0.82,
		}
	}
	steps, ok := s.progress(h.stmt, loop)
	if !ok {
		return nil
	}
	lines := []string{"if " + h.unsafe + ":"}
	for _, step := range steps {
		lines = append(lines, "\t"+s.src[step.start:step.end])
	}
	return &fix{
		shape:      h.shape,
		edits:      []edit{s.before(h.stmt, append(lines, "\tcontinue")...)},
		change:     fmt.Sprintf("The loop now skips the turn in which %s.", h.cause),
		effect:     "The loop still moves on in that turn; all others do exactly what they did.",
		confidence: 0.82,
	}
}

// madeInTurn reports whether each turn of the loop makes the guarded value anew.
func (s *script) madeInTurn(h *hazard, loop *stmt) bool {
	return h.node != nil && h.node.has(func(n *node) bool {
		if !n.is(nodeName) {
			return false
		}
		for _, b := range s.bindings[n.op] {
			if b.op == "=" && b != h.stmt && within(b, loop) {
				return true
			}
		}
		return false
	})
}

// progress returns the statements behind st that move the loop on and would be
// skipped by a continue; not ok if the loop can't be seen to end without st.
func (s *script) progress(st, loop *stmt) (steps []*stmt, ok bool) {
	top := st
	for top.parent != loop {
		if top.parent == nil {
			return nil, false
		}
		top = top.parent
	}
	earlier := loop.body[:top.index]
	for _, next := range top.after() {
		if len(next.names) == 0 {
			continue
		}
		name := next.names[0]
		read := func(n *node) bool { return n.is(nodeName) && n.op == name }
		if !readBy(loop, earlier, read) || boundBy(earlier, name) {
			continue
		}
		plain := (next.op == "+=" || next.op == "-=" || next.op == "=") && next.alone && next.endLine == next.line && repeatableOrRead(next)
		if !plain {
			return nil, false
		}
		steps = append(steps, next)
	}
	return steps, len(steps) > 0 || s.readsOn(loop, earlier)
}

// repeatableOrRead reports whether a step may be written a second time.
func repeatableOrRead(st *stmt) bool {
	return repeatable(st.value) || isMethod(st.value, "readline") || isCallTo(st.value, "next") || isCallTo(st.value, "input")
}

// readBy reports whether the loop's condition or what comes first in its body
// satisfies read.
func readBy(loop *stmt, earlier []*stmt, read func(*node) bool) bool {
	if loop.value.has(read) {
		return true
	}
	for _, st := range earlier {
		if st.hasDeep(read) {
			return true
		}
	}
	return false
}

func boundBy(block []*stmt, name string) bool {
	for _, st := range block {
		if st.bindsDeep(name) {
			return true
		}
	}
	return false
}

// readsOn reports whether a turn begins by taking something that runs out, or
// the condition itself does.
func (s *script) readsOn(loop *stmt, earlier []*stmt) bool {
	takes := func(n *node) bool {
		return isMethod(n, "readline") || isCallTo(n, "next") || isCallTo(n, "input") || isMethod(n, "pop") ||
			isMethod(n, "popleft") || isMethod(n, "get") || isMethod(n, "read") || isMethod(n, "recv")
	}
	if loop.value.has(func(n *node) bool { return n.is(nodeWalrus) }) {
		return true
	}
	for _, st := range earlier {
		if st.has(takes) || st.op == "+=" || st.op == "-=" {
			return true
		}
	}
	return false
}
