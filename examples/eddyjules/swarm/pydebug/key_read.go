package pydebug

import "fmt"

// collected says what a method that changes a value in place begins with.
var collected = map[string]string{
	"append": fillList, "extend": fillList, "insert": fillList,
	"add": "set()", "update": fillDict, "setdefault": fillDict,
}

// collectKey repairs d[k].append(v) and d[k][j] = v for a key seen first.
func (s *script) collectKey(h *hazard) *fix {
	if !h.node.is(nodeSubscript) || isStored(h.node, h.stmt) {
		return nil
	}
	p := h.node.parent
	value := ""
	switch {
	case p.is(nodeAttr) && p.parent.is(nodeCall) && p.parent == h.stmt.value && h.stmt.op == "":
		value = collected[p.op]
	case p.is(nodeSubscript) && p.kids[0] == h.node && isStored(p, h.stmt) && h.stmt.op == "=":
		value = fillDict
	}
	if value == "" || s.text(h.node.kids[0]) == "os.environ" {
		return nil
	}
	return &fix{
		shape:      "collect-missing-key",
		settled:    true,
		edits:      []edit{replace(h.node, s.setDefault(h.node, value))},
		change:     fmt.Sprintf("A key that `%s` doesn't have yet now begins with `%s`.", s.text(h.node.kids[0]), value),
		effect:     "Keys that are there go on with the value that they have.",
		confidence: 0.9,
	}
}

// readKey reads the key by .get, and what is below it as well.
func (s *script) readKey(h *hazard) *fix {
	if !h.node.is(nodeSubscript) || isStored(h.node, h.stmt) {
		return nil
	}
	chain := keyChain(h.node)
	top := chain[len(chain)-1]
	filler := s.keyFiller(h, top)
	if s.isEnvironment(h.node.kids[0]) && (filler == "" || filler == fillZero) {
		return s.requireVariable(h)
	}
	if filler == "" {
		return nil
	}
	text := s.grouped(h.node.kids[0])
	for _, n := range chain {
		fill := fillDict
		if n == top {
			fill = filler
		}
		key := s.text(n.kids[1])
		if n.kids[1].is(nodeTuple) && n.kids[1].op == "" {
			key = "(" + key + ")"
		}
		text += ".get(" + key + defaultArgument(fill) + ")"
	}
	return &fix{
		shape:      s.readShape(h, chain),
		edits:      []edit{replace(top, text)},
		change:     fmt.Sprintf("The key is now read by `.get`, which gives `%s` when it is missing.", filler),
		effect:     "Where the key is there, the same value is read as before.",
		confidence: s.readConfidence(filler),
	}
}

func defaultArgument(filler string) string {
	if filler == fillNone {
		return ""
	}
	return ", " + filler
}

// readConfidence is lower where the default shows in what the script prints.
func (s *script) readConfidence(filler string) float64 {
	if len(filler) > 2 && filler != fillNone {
		return 0.8
	}
	return 0.85
}

func (s *script) readShape(h *hazard, chain []*node) string {
	switch {
	case s.isEnvironment(h.node.kids[0]):
		return "missing-environment-variable"
	case len(chain) > 1 || h.node.kids[0].is(nodeSubscript):
		return "nested-missing-key"
	}
	return "missing-key"
}

func (s *script) isEnvironment(base *node) bool {
	return s.text(base) == "os.environ" || s.text(base) == "environ"
}

// keyChain lists the subscripts from n upwards: d["a"]["b"] of d["a"].
func keyChain(n *node) []*node {
	chain := []*node{n}
	for len(chain) < maxNesting {
		p := chain[len(chain)-1].parent
		if !p.is(nodeSubscript) || p.kids[0] != chain[len(chain)-1] || !p.kids[1].is(nodeString) {
			break
		}
		chain = append(chain, p)
	}
	return chain
}

// keyFiller is what a missing key reads as: told by the use, else by the
// values that the same key has elsewhere in the source.
func (s *script) keyFiller(h *hazard, top *node) string {
	isKey := top.parent.is(nodePair) && top.parent.kids[0] == top
	if isKey || top.parent.is(nodeSubscript) && top.parent.kids[0] == top || isStored(top, h.stmt) {
		return ""
	}
	filler := s.filler(top, h.stmt, 0)
	if filler == fillNone && top == h.stmt.value && h.stmt.op == "" && h.stmt.keyword == "" {
		return fillNone
	}
	if filler == "" && top.parent == nil && h.stmt.keyword != "return" || filler == "" && s.divided(top) {
		return ""
	}
	if filler == "" {
		filler = s.siblingKind(top)
	}
	if filler == "" && enclosing(top).is(nodeLambda) {
		filler = s.dictKind(top.kids[0], h.stmt)
	}
	return s.fitQuotes(filler, top)
}

// dictKind is the type of the values of a dict that is written out.
func (s *script) dictKind(base *node, use *stmt) string {
	kind := fillNone
	dict := s.resolve(base, use)
	if !dict.is(nodeDict) {
		return ""
	}
	for _, pair := range dict.kids {
		if pair.is(nodePair) {
			kind = combine(kind, s.valueKind(pair.kids[1], use, 0))
		}
	}
	if kind == fillZero || kind == fillText {
		return kind
	}
	return ""
}

// divided reports whether n is a divisor.
func (s *script) divided(n *node) bool {
	for p := n; p.parent != nil; p = p.parent {
		if divisorOf(p.parent) == p {
			return true
		}
	}
	return false
}

// siblingKind is the type of the values that the source writes for this key.
func (s *script) siblingKind(n *node) string {
	if !n.kids[1].is(nodeString) || !s.spend() {
		return ""
	}
	key, kind := unquote(s.text(n.kids[1])), fillNone
	for _, st := range s.all {
		st.has(func(p *node) bool {
			if p.is(nodePair) && p.kids[0].is(nodeString) && unquote(s.text(p.kids[0])) == key {
				kind = combine(kind, s.valueKind(p.kids[1], st, 0))
			}
			return kind == ""
		})
	}
	if kind == fillNone {
		return ""
	}
	return kind
}

// requireVariable ends the script when a variable that must be a number isn't
// set: there is no number to go on with.
func (s *script) requireVariable(h *hazard) *fix {
	if !h.stmt.leads || h.stmt.keyword == "elif" || h.stmt.keyword == "while" || !h.node.kids[1].is(nodeString) {
		return nil
	}
	name := unquote(s.text(h.node.kids[1]))
	message := s.quoted("set the environment variable " + name)
	return &fix{
		shape:      "missing-environment-variable",
		edits:      []edit{s.before(h.stmt, "if "+h.unsafe+":", "\traise SystemExit("+message+")")},
		change:     fmt.Sprintf("The script now says that %s isn't set, and ends.", name),
		effect:     "With the variable set it does what it did; without it, it ends with exit code 1 and a line that says so, since there is no number to go on with.",
		confidence: 0.85,
		exit:       1,
	}
}
