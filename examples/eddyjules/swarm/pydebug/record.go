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
func (s *Module) extendRecord(h *hazard) *hazard {
	base, most := h.base, s.literalIndex(h.operation)
	if h.kind.name != indexError || most < 0 || !(base.is(ExprName) || base.is(ExprAttr) || s.isSplit(base, h.stmt)) {
		return h
	}
	fields := &fieldUse{script: s, base: s.text(base), most: most, at: h.node}
	wide := *h
	wide.stmt = fields.firstUse(h.stmt)
	fields.lastUse(h.stmt)
	length := "len(" + fields.base + ")"
	wide.safe, wide.unsafe = fmt.Sprintf("%s > %d", length, fields.most), fmt.Sprintf("%s <= %d", length, fields.most)
	wide.cause = fmt.Sprintf("`%s` has fewer than %d elements", fields.base, fields.most+1)
	wide.node = fields.at
	return &wide
}

// fieldUse collects the literal indices by which a block reads a record.
type fieldUse struct {
	script *Module
	base   string
	most   int
	at     *Expr // a read of the index most
}

// firstUse returns the first of the simple statements up to st that reads the
// record. It stops at an assignment to the record.
func (f *fieldUse) firstUse(st *Stmt) *Stmt {
	first := st
	for p := st.Previous(); p != nil && p.Keyword == "" && p.StartsLine && !f.assigns(p); p = p.Previous() {
		if f.reads(p.Exprs) {
			first = p
		}
	}
	f.reads(st.Exprs)
	return first
}

// lastUse collects the reads in the statements after st that are always reached.
func (f *fieldUse) lastUse(st *Stmt) {
	for _, next := range st.After() {
		if f.assigns(next) || next.Keyword == "elif" || next.Keyword == "else" {
			return
		}
		f.reads(next.Exprs)
		if next.Keyword != "" {
			return
		}
	}
}

func (f *fieldUse) assigns(st *Stmt) bool {
	return st.binds(strings.SplitN(f.base, ".", 2)[0])
}

// reads collects the unconditional reads of the record in exprs, and reports
// whether there is one.
func (f *fieldUse) reads(exprs []*Expr) bool {
	found := false
	for _, e := range exprs {
		e.walk(func(n *Expr) bool {
			if n.is(ExprSubscript) && f.script.text(n.Kids[0]) == f.base && !f.script.isConditional(n) && enclosing(n) == nil {
				k, ok := f.script.integer(n.Kids[1])
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
