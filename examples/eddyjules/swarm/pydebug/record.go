package pydebug

import (
	"fmt"
	"strings"
)

// extendRecord moves the guard of a record's field to where the record's
// fields are first used, and lets it cover all that are used unconditionally,
// so that the next malformed record doesn't fail one line further.
func (s *script) extendRecord(h *hazard) *hazard {
	if h.prelude != nil || h.kind != indexError || !h.node.is(nodeSubscript) {
		return h
	}
	base := h.node.kids[0]
	most := s.constantIndex(h.candidate)
	if most < 0 || !(base.is(nodeName) || base.is(nodeAttr) || s.isSplit(base, h.stmt)) {
		return h
	}
	fields := &fieldUse{script: s, base: s.text(base), most: most}
	wide := *h
	wide.stmt = fields.firstUse(h.stmt)
	fields.lastUse(h.stmt)
	if fields.most == 0 {
		return &wide
	}
	length := "len(" + fields.base + ")"
	wide.safe, wide.unsafe = fmt.Sprintf("%s > %d", length, fields.most), fmt.Sprintf("%s <= %d", length, fields.most)
	wide.cause = fmt.Sprintf("`%s` has fewer than %d elements", fields.base, fields.most+1)
	wide.candidate.node = fields.witness(h.node)
	return &wide
}

// fieldUse collects the literal indices by which a block reads a record.
type fieldUse struct {
	script *script
	base   string
	most   int
	at     *node // a read of the greatest index
}

func (f *fieldUse) witness(n *node) *node {
	if f.at != nil {
		return f.at
	}
	return n
}

// firstUse goes back over the simple statements in front of st to the first
// that reads the record.
func (f *fieldUse) firstUse(st *stmt) *stmt {
	first := st
	for p := st.previous(); p != nil && p.keyword == "" && p.leads && !f.assigns(p); p = p.previous() {
		if f.reads(p.exprs) {
			first = p
		}
	}
	f.reads(st.exprs)
	return first
}

// lastUse goes on from st as long as every statement is always reached.
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

// reads takes the unconditional reads of the record in exprs.
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
