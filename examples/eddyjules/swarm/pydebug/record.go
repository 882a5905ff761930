package pydebug

import (
	"fmt"
	"strings"
)

// A record is a short sequence with a meaning for each index: the fields of a
// split line, or a row.

// extendRecord returns a hazard that guards all fields of a record that are read
// unconditionally, at the first statement that reads one. Guarding only the field
// that failed would let the next malformed record fail one line further.
func (s *script) extendRecord(h *hazard) *hazard {
	if h.prelude != nil || h.kind != indexError || !h.node.is(nodeSubscript) {
		return h
	}
	base := h.node.kids[0]
	most := s.constantIndex(h.candidate)
	if most < 0 || !(base.is(nodeName) || base.is(nodeAttr) || s.isSplit(base, h.stmt)) {
		return h
	}
	fields := &fieldUse{script: s, base: s.text(base), most: most, at: h.node}
	wide := *h
	wide.stmt = fields.firstUse(h.stmt)
	fields.lastUse(h.stmt)
	if fields.most == 0 {
		return &wide
	}
	length := "len(" + fields.base + ")"
	wide.safe, wide.unsafe = fmt.Sprintf("%s > %d", length, fields.most), fmt.Sprintf("%s <= %d", length, fields.most)
	wide.cause = fmt.Sprintf("`%s` has fewer than %d elements", fields.base, fields.most+1)
	wide.candidate.node = fields.at
	return &wide
}

// fieldUse collects the literal indices by which a block reads a record.
type fieldUse struct {
	script *script
	base   string
	most   int
	at     *node // a read of the index most
}

// firstUse returns the first of the simple statements up to st that reads the
// record. It stops at an assignment to the record.
func (f *fieldUse) firstUse(st *stmt) *stmt {
	first := st
	for p := st.previous(); p != nil && p.keyword == "" && p.startsLine && !f.assigns(p); p = p.previous() {
		if f.reads(p.exprs) {
			first = p
		}
	}
	f.reads(st.exprs)
	return first
}

// lastUse collects the reads in the statements after st that are always reached.
func (f *fieldUse) lastUse(st *stmt) {
	for _, next := range st.after() {
		if f.assigns(next) || next.keyword == "elif" || next.keyword == "else" {
			return
		}
		f.reads(next.exprs)
		if next.keyword != "" {
			return
		}
	}
}

func (f *fieldUse) assigns(st *stmt) bool {
	return st.binds(strings.SplitN(f.base, ".", 2)[0])
}

// reads collects the unconditional reads of the record in exprs, and reports
// whether there is one.
func (f *fieldUse) reads(exprs []*node) bool {
	found := false
	for _, e := range exprs {
		e.walk(func(n *node) bool {
			if n.is(nodeSubscript) && f.script.text(n.kids[0]) == f.base && !f.script.isConditional(n) && enclosing(n) == nil {
				k, ok := f.script.integer(n.kids[1])
				if ok && k >= 0 {
					found = true
				}
				if ok && k > f.most {
					f.most, f.at = k, n
				}
			}
			return true
		})
	}
	return found
}
