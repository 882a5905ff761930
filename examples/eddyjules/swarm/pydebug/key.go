package pydebug

import (
	"fmt"
	"strings"
)

// keyFix returns a fix for a KeyError, or nil and the reason.
func (s *script) keyFix(h *hazard, at *site) (*fix, string) {
	for _, rewrite := range []func(*hazard) *fix{
		s.discard, s.popDefault, s.deleteKey, s.misspeltKey, s.countKey, s.collectKey, s.readKey,
	} {
		if f := rewrite(h); f != nil {
			return f, ""
		}
	}
	return s.guardFix(h, at)
}

// discard repairs set.remove(x), the only remove that raises KeyError.
func (s *script) discard(h *hazard) *fix {
	if !isMethod(h.node, "remove") {
		return nil
	}
	name := h.node.kids[0]
	return &fix{
		shape:      "remove-from-set",
		final:      true,
		edits:      []edit{{name.end - len("remove"), name.end, "discard"}},
		change:     "`discard` now takes the element out of the set if it is there.",
		effect:     "For elements that are in the set, it does the same as `remove`.",
		confidence: 0.92,
	}
}

// popDefault gives dict.pop(k) a default.
func (s *script) popDefault(h *hazard) *fix {
	if !isMethod(h.node, "pop") || len(h.node.kids) != 2 {
		return nil
	}
	filler := fillNone
	if h.node != h.stmt.value || h.stmt.op != "" {
		filler = s.fitQuotes(s.filler(h.node, h.stmt, 0), h.node)
	}
	if filler == "" {
		return nil
	}
	end := h.node.kids[1].end
	return &fix{
		shape:      "pop-missing-key",
		final:      true,
		edits:      []edit{{end, end, ", " + filler}},
		change:     fmt.Sprintf("`pop` now gives `%s` for a key that isn't there.", filler),
		effect:     "Keys that are there are taken out as before.",
		confidence: 0.9,
	}
}

// deleteKey writes d.pop(k, None) for del d[k].
func (s *script) deleteKey(h *hazard) *fix {
	if h.stmt.keyword != "del" || len(h.stmt.targets) != 1 || h.stmt.targets[0] != h.node {
		return nil
	}
	base, key := s.grouped(h.node.kids[0]), s.text(h.node.kids[1])
	return &fix{
		shape:      "delete-missing-key",
		final:      true,
		edits:      []edit{{h.stmt.start, h.node.end, base + ".pop(" + key + ", None)"}},
		change:     fmt.Sprintf("The key is now taken out of `%s` only if it is there.", base),
		effect:     "For keys that are there, it does the same as `del`.",
		confidence: 0.9,
	}
}

// misspeltKey corrects a literal key that differs by a letter or by case from a key
// of the dict's display in the source.
func (s *script) misspeltKey(h *hazard) *fix {
	if !h.node.is(nodeSubscript) || !h.node.kids[1].is(nodeString) {
		return nil
	}
	key := h.node.kids[1]
	near := s.nearKey(h.node.kids[0], h.stmt, unquote(s.text(key)))
	if near == "" {
		return nil
	}
	raw := s.text(key)
	at := strings.Index(raw, unquote(raw))
	return &fix{
		shape:      "misspelt-key",
		edits:      []edit{{key.start + at, key.start + at + len(unquote(raw)), near}},
		change:     fmt.Sprintf("The key is now written `%s`, as it is where `%s` gets its value.", near, s.text(h.node.kids[0])),
		effect:     "This line could never have worked with the other spelling.",
		confidence: 0.8,
	}
}

// nearKey returns the key of the dict's display in the source that is a probable
// spelling of wanted; empty if there is none or more than one.
func (s *script) nearKey(base *node, use *stmt, wanted string) string {
	dict := s.resolve(base, use)
	if !dict.is(nodeDict) || len(wanted) < 3 || len(wanted) > 60 {
		return ""
	}
	near := ""
	for _, pair := range dict.kids[:min(len(dict.kids), 200)] {
		if !pair.is(nodePair) || !pair.kids[0].is(nodeString) {
			return ""
		}
		if key := unquote(s.text(pair.kids[0])); len(key) <= 60 && isNear(key, wanted) {
			if near != "" {
				return ""
			}
			near = key
		}
	}
	return near
}

// isNear reports whether a and b differ in case only, or by one replaced, missing or
// additional letter, or by two exchanged letters. Keys that differ by a digit or by
// their last letter are different keys: user1 and user2, item and items.
func isNear(a, b string) bool {
	if a == b {
		return false
	}
	if strings.EqualFold(a, b) {
		return true
	}
	if len(a) < 4 || len(b) < 4 {
		return false
	}
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	ra, rb := a[i:], b[i:]
	if ra == "" || rb == "" || isDigit(ra[0]) || isDigit(rb[0]) {
		return false
	}
	exchanged := len(ra) > 1 && len(rb) > 1 && ra[0] == rb[1] && ra[1] == rb[0] && ra[2:] == rb[2:]
	return ra[1:] == rb[1:] && len(ra) > 1 || ra[1:] == rb || ra == rb[1:] || exchanged
}

// countKey repairs d[k] += v for a key that the dict doesn't have yet.
func (s *script) countKey(h *hazard) *fix {
	st := h.stmt
	if st.op == "" || st.op == "=" || len(st.targets) != 1 || !h.node.is(nodeSubscript) || !h.node.within(st.targets[0]) {
		return nil
	}
	if h.node != st.targets[0] {
		return s.countNested(h)
	}
	zero := s.startValue(st)
	if zero == "" {
		return nil
	}
	value := s.src[st.value.start:st.value.end]
	if sign := st.op[0]; sign != '+' && sign != '-' || st.value.is(nodeCompare) || st.value.is(nodeBool) || st.value.is(nodeTernary) || st.value.is(nodeLambda) || st.op == "-=" && st.value.is(nodeBinary) {
		value = "(" + value + ")"
	}
	old := s.getCall(h.node, zero)
	return &fix{
		shape:      "count-missing-key",
		final:      true,
		edits:      []edit{{st.targets[0].end, st.value.end, " = " + old + " " + strings.TrimSuffix(st.op, "=") + " " + value}},
		change:     fmt.Sprintf("A key that `%s` doesn't have yet now begins with `%s`.", s.text(h.node.kids[0]), zero),
		effect:     "Keys that are there are counted on exactly as before.",
		confidence: 0.92,
	}
}

// startValue returns the filler with which an accumulated value begins; empty if
// the operator has none.
func (s *script) startValue(st *stmt) string {
	switch st.op {
	case "+=", "-=":
		if kind := s.valueKind(st.value, st, 0); kind != "" && kind != fillNone && kind != fillFalse {
			return kind
		}
		return fillZero
	case "|=":
		return map[nodeKind]string{nodeSet: "set()", nodeDict: fillDict}[st.value.kind]
	}
	return ""
}

// getCall writes d.get(k, filler) for the subscript n.
func (s *script) getCall(n *node, filler string) string {
	return s.grouped(n.kids[0]) + s.getSuffix(n, filler)
}

// getSuffix writes .get(k, filler) for the key of the subscript n.
func (s *script) getSuffix(n *node, filler string) string {
	if filler == fillNone {
		return ".get(" + s.keyText(n) + ")"
	}
	return ".get(" + s.keyText(n) + ", " + filler + ")"
}

// keyText returns the key of the subscript n as an argument: a tuple without
// parentheses gets them.
func (s *script) keyText(n *node) string {
	key := s.text(n.kids[1])
	if n.kids[1].is(nodeTuple) && n.kids[1].op == "" {
		return "(" + key + ")"
	}
	return key
}

// countNested repairs d[a][b] += v when d has no a.
func (s *script) countNested(h *hazard) *fix {
	st := h.stmt
	outer := st.targets[0]
	zero := s.startValue(st)
	if outer.kind != nodeSubscript || outer.kids[0] != h.node || !st.startsLine || zero == "" {
		return nil
	}
	inner := " = " + s.getCall(outer, zero) + " " + strings.TrimSuffix(st.op, "=") + " "
	return &fix{
		shape:      "count-missing-key",
		final:      true,
		edits:      []edit{s.insertBefore(st, s.setDefault(h.node, fillDict)), {outer.end, st.value.start, inner}},
		change:     fmt.Sprintf("A key that `%s` doesn't have yet now begins with an empty dict, and what is counted in it with `%s`.", s.text(h.node.kids[0]), zero),
		effect:     "Keys that are there are counted on exactly as before.",
		confidence: 0.88,
	}
}

// setDefault writes d.setdefault(k, value) for the subscript n.
func (s *script) setDefault(n *node, value string) string {
	return s.grouped(n.kids[0]) + ".setdefault(" + s.keyText(n) + ", " + value + ")"
}
