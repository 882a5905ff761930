package pydebug

import (
	"fmt"
	"strings"
)

// hazard is an operation and the condition under which it is safe.
type hazard struct {
	candidate
	kind         string // the kind of error
	shape        string // see Diagnosis.Shape
	safe, unsafe string // Python conditions, each the negation of the other
	cause        string // a clause: "`parts` has fewer than 4 fields"
	prelude      []edit // the edits that introduce the variables of the conditions
	record       bool   // a malformed record, which a loop may skip; see extendRecord
}

// pureMethods lists methods without side effect that return the same value when
// called twice.
var pureMethods = map[string]bool{
	"split": true, "rsplit": true, "splitlines": true, "partition": true, "rpartition": true,
	"strip": true, "lstrip": true, "rstrip": true, "lower": true, "upper": true, "title": true,
	"replace": true, "get": true, "keys": true, "values": true, "items": true, "copy": true,
	"decode": true, "encode": true, "casefold": true, "groups": true, "removeprefix": true,
	"removesuffix": true, "zfill": true, "count": true, "index": true, "find": true, "findall": true,
}

// pureFunctions lists such functions.
var pureFunctions = map[string]bool{
	"len": true, "str": true, "int": true, "float": true, "list": false, "sum": true, "min": true,
	"max": true, "abs": true, "round": true, "ord": true, "chr": true, "sorted": true, "bool": true,
}

// repeatable reports whether a second evaluation of n leaves the script's behaviour
// unchanged.
func repeatable(n *node) bool {
	return !n.has(func(m *node) bool {
		switch m.kind {
		case nodeWalrus, nodeYield, nodeComp, nodeLambda:
			return true
		case nodeUnary:
			return m.op == "await"
		case nodeCall:
			f := m.kids[0]
			return !(f.is(nodeAttr) && pureMethods[f.op] || f.is(nodeName) && pureFunctions[f.op])
		}
		return false
	})
}

// costly reports whether a second evaluation of n takes long.
func costly(n *node) bool {
	return n.has(func(m *node) bool { return isMethod(m, "findall") || isCallTo(m, "sorted") })
}

// newHazard returns the hazard of c, or nil and the reason why c can't be guarded.
func (s *script) newHazard(c candidate, kind string) (*hazard, string) {
	switch kind {
	case indexError:
		return s.indexHazard(c)
	case keyError:
		return s.keyHazard(c)
	}
	return s.zeroHazard(c)
}

// usesArrays reports whether the script imports numpy or pandas, whose sequences
// have no truth value.
func (s *script) usesArrays() bool {
	return len(s.bindings["numpy"])+len(s.bindings["np"])+len(s.bindings["pandas"])+len(s.bindings["pd"]) > 0
}

// nonEmpty returns the Python condition that base has elements.
func (s *script) nonEmpty(base *node) string {
	if s.usesArrays() {
		return "len(" + s.text(base) + ") > 0"
	}
	return s.grouped(base)
}

// isEmpty returns the Python condition that base has no elements.
func (s *script) isEmpty(base *node) string {
	if s.usesArrays() {
		return "len(" + s.text(base) + ") == 0"
	}
	return "not " + s.grouped(base)
}

// grouped returns the text of n, in parentheses unless n is a primary expression.
func (s *script) grouped(n *node) string {
	switch n.kind {
	case nodeName, nodeAttr, nodeSubscript, nodeCall, nodeParen, nodeNumber, nodeString, nodeList, nodeDict:
		return s.text(n)
	}
	return "(" + s.text(n) + ")"
}

// operand returns the text of n as an operand of a comparison.
func (s *script) operand(n *node) string {
	if n.is(nodeBinary) || n.is(nodeUnary) {
		return s.text(n)
	}
	return s.grouped(n)
}

func (s *script) keyHazard(c candidate) (*hazard, string) {
	h := &hazard{candidate: c, kind: keyError, shape: "missing-key"}
	var base, key *node
	switch {
	case c.node.is(nodeSubscript):
		base, key = c.node.kids[0], c.node.kids[1]
	case len(c.node.kids) == 2:
		base, key = c.node.kids[0].kid(0), c.node.kids[1]
	default:
		base = c.node.kids[0].kid(0)
	}
	if base == nil || !repeatable(base) || key != nil && !repeatable(key) {
		return nil, "the mapping or the key is made anew by each evaluation, so that it can't be tested in front of it"
	}
	if key == nil {
		h.shape, h.safe, h.unsafe = "pop-from-empty", s.grouped(base), "not "+s.grouped(base)
		h.cause = fmt.Sprintf("`%s` is empty", s.text(base))
		return h, ""
	}
	k := s.operand(key)
	h.safe, h.unsafe = k+" in "+s.operand(base), k+" not in "+s.operand(base)
	h.cause = fmt.Sprintf("`%s` has no key `%s`", s.text(base), s.text(key))
	return h, ""
}

func (s *script) zeroHazard(c candidate) (*hazard, string) {
	d := divisor(c)
	if d.unparen().is(nodeNumber) {
		return nil, "its divisor is written as zero, so that there is nothing that it could be meant to compute"
	}
	if !repeatable(d) {
		v := s.hoist(d, c, "divisor")
		if v == nil {
			return nil, "the divisor is computed anew by each evaluation, so that it can't be tested in front of the division"
		}
		return &hazard{
			candidate: c, kind: zeroError, shape: "division-by-zero", safe: v.name, unsafe: "not " + v.name,
			cause: fmt.Sprintf("`%s` gives zero", s.text(d)), prelude: v.edits,
		}, ""
	}
	h := &hazard{candidate: c, kind: zeroError, shape: s.zeroShape(c, d)}
	core := d.unparen()
	h.safe, h.unsafe = s.operand(core), "not "+s.operand(core)
	h.cause = fmt.Sprintf("`%s` is zero", s.text(core))
	if isCallTo(core, "len") && len(core.kids) == 2 && core.kids[1].kind != nodeComp {
		h.safe, h.unsafe = s.nonEmpty(core.kids[1]), s.isEmpty(core.kids[1])
		h.cause = fmt.Sprintf("`%s` is empty, so that its length is zero", s.text(core.kids[1]))
	}
	return h, ""
}

func (s *script) zeroShape(c candidate, d *node) string {
	length, _, isLength := s.length(d, c.stmt)
	switch {
	case c.node != nil && c.node.op == "%" || c.stmt.op == "%=":
		return "modulo-by-zero"
	case isLength && length != nil && s.averages(c):
		return "average-of-nothing"
	case isLength:
		return "division-by-length"
	case s.counts(d.unparen()):
		return "division-by-counter"
	}
	return "division-by-zero"
}

// counts reports whether n is a variable that is set to zero or incremented.
func (s *script) counts(n *node) bool {
	if !n.is(nodeName) {
		return false
	}
	for _, b := range s.bindings[n.op] {
		if b.op == "+=" {
			return true
		}
		if b.op != "=" || b.value == nil {
			continue
		}
		if k, ok := s.integer(b.value); ok && k == 0 {
			return true
		}
	}
	return false
}

// averages reports whether c divides a sum, judged by the value or the name of the
// dividend.
func (s *script) averages(c candidate) bool {
	if c.node == nil || c.node.kind != nodeBinary {
		return false
	}
	value := s.resolve(c.node.kids[0], c.stmt)
	name := strings.ToLower(s.text(c.node.kids[0]))
	return isCallTo(value, "sum") || strings.Contains(name, "total") || strings.Contains(name, "sum")
}
