package pydebug

import "fmt"

// collected holds the initial value of a collection by the method that adds to it.
var collected = map[string]string{
	"append": fillList, "extend": fillList, "insert": fillList,
	"add": "set()", "update": fillDict, "setdefault": fillDict,
}

// collectKey repairs d[k].append(v) and d[k][j] = v for a key that the dict doesn't
// have yet.
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
		final:      true,
		edits:      []edit{replace(h.node, s.setDefault(h.node, value))},
		change:     fmt.Sprintf("A key that `%s` doesn't have yet now begins with `%s`.", s.text(h.node.kids[0]), value),
		effect:     "Keys that are there go on with the value that they have.",
		confidence: 0.9,
	}
}

// readKey replaces the subscript d[k], and the subscripts applied to its value, by
// calls of .get.
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
		text += s.getSuffix(n, fill)
	}
	return &fix{
		shape:      s.readShape(h, chain),
		edits:      []edit{replace(top, text)},
		change:     fmt.Sprintf("The key is now read by `.get`, which gives `%s` when it is missing.", filler),
		effect:     "Where the key is there, the same value is read as before.",
		confidence: s.readConfidence(filler),
	}
}

// readConfidence returns the confidence of a fix by .get. It is lower if the filler
// appears in the script's output.
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

// keyFiller returns the filler for a missing key, determined by the use of the value
// or else by the values that the source assigns to the same key elsewhere.
func (s *script) keyFiller(h *hazard, top *node) string {
	isKey := top.parent.is(nodePair) && top.parent.kids[0] == top
	if isKey || top.parent.is(nodeSubscript) && top.parent.kids[0] == top || isStored(top, h.stmt) {
		return ""
	}
	filler := s.filler(top, h.stmt, 0)
	if filler == fillNone && top == h.stmt.value && h.stmt.op == "" && h.stmt.keyword == "" {
		return fillNone
	}
	if filler == "" && top.parent == nil && h.stmt.keyword != "return" || filler == "" && isDivided(top) {
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

// dictKind returns the filler of the common type of all values in the display of a
// dict, if they are numbers or texts.
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

// siblingKind returns the filler of the common type of the values that the dicts in
// the source have for the literal key of n.
func (s *script) siblingKind(n *node) string {
	if !n.kids[1].is(nodeString) || !s.allowPass() {
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

// requireVariable ends the script with a message if an environment variable whose
// value must be a number isn't set.
func (s *script) requireVariable(h *hazard) *fix {
	if !h.stmt.startsLine || h.stmt.keyword == "elif" || h.stmt.keyword == "while" || !h.node.kids[1].is(nodeString) {
		return nil
	}
	name := unquote(s.text(h.node.kids[1]))
	message := s.quoted("set the environment variable " + name)
	return &fix{
		shape:      "missing-environment-variable",
		edits:      []edit{s.insertBefore(h.stmt, "if "+h.unsafe+":", "\traise SystemExit("+message+")")},
		change:     fmt.Sprintf("The script now says that %s isn't set, and ends.", name),
		effect:     "With the variable set it does what it did; without it, it ends with exit code 1 and a line that says so, since there is no number to go on with.",
		confidence: 0.85,
		exit:       1,
	}
}
