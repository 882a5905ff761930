package pyrefactor

import (
	"fmt"
	"strings"

	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm/pydebug"
)

// guard suggests a guard clause for the if that ends a function or a loop. After it nothing of the
// block runs, so that leaving the block under the opposite condition does the same.
func (w *work) guard(block *pydebug.Stmt) {
	if len(block.Body) == 0 {
		return
	}
	st := block.Body[len(block.Body)-1]
	if st.Keyword != "if" || len(st.Body) == 0 || st.Value == nil { // an elif or else would be a later statement
		return
	}
	if len(st.Body) == 1 && len(st.Body[0].Body) == 0 {
		return // one simple statement is as clear as it is
	}
	exit := "return"
	if block.Keyword != "def" {
		exit = "continue"
	}
	edits, why := w.dedent(st)
	if why != "" {
		w.refuse(st, "no guard clause is introduced: %s", why)
		return
	}
	at := w.LineStart(st.EndLine + 1)
	edits = append(edits, w.negate(st.Value)...)
	edits = append(edits, pydebug.Edit{Start: at, End: at, Text: st.Body[0].Indent + exit + w.Newline})
	w.suggest(found{
		kind: IntroduceGuard, line: st.Line, confidence: 0.8, edits: edits,
		description: fmt.Sprintf("Introduce a guard clause: %s early under the opposite condition, so that the rest is nested less.", exit),
	})
}

// dedent returns the edits that move the body of an if to the level of the if, or the reason why
// its lines cannot be moved.
func (w *work) dedent(st *pydebug.Stmt) (edits []pydebug.Edit, why string) {
	inner := st.Body[0].Indent
	last := st.Deepest().EndLine
	switch {
	case !st.StartsLine || st.Parent.EndLine == st.Line || st.Body[0].Line <= st.EndLine:
		return nil, "the statement shares its line"
	case !strings.HasPrefix(inner, st.Indent) || inner == st.Indent:
		return nil, "tabs and blanks are mixed"
	}
	begins := map[int]bool{} // the lines on which statements begin
	for _, s := range w.All {
		if s.StartsLine {
			begins[s.Line] = true
		}
	}
	inString := w.LinesInStrings(st.EndLine+1, last)
	for line := st.EndLine + 1; line <= last; line++ {
		switch text := w.LineText(line); {
		case strings.TrimSpace(text) == "" || inString[line]:
		case strings.HasPrefix(text, inner):
			at := w.LineStart(line)
			edits = append(edits, pydebug.Edit{Start: at + len(st.Indent), End: at + len(inner)})
		case begins[line]:
			return nil, "tabs and blanks are mixed"
		}
	}
	return edits, ""
}

// opposite has the operators of comparisons that Python itself defines as the negation of each
// other. Those of order and equality are not: a class may define both sides.
var opposite = map[string]string{"in": "not in", "not in": "in", "is": "is not", "is not": "is"}

// negate returns the edits that make a condition its opposite.
func (w *work) negate(e *pydebug.Expr) []pydebug.Edit {
	not := "not "
	if e.Start > 0 && !strings.ContainsAny(w.Source[e.Start-1:e.Start], " \t\f\\\r\n") { // if(x) has no space
		not = " not "
	}
	switch e.Kind { //nolint:exhaustive // the others are put in parentheses
	case pydebug.ExprNot:
		return []pydebug.Edit{{Start: e.Start, End: e.Kids[0].Start}}
	case pydebug.ExprName, pydebug.ExprAttr, pydebug.ExprCall, pydebug.ExprSubscript, pydebug.ExprParen:
		return []pydebug.Edit{{Start: e.Start, End: e.Start, Text: not}}
	case pydebug.ExprCompare:
		left, right := e.Kids[0], e.Kids[1]
		between := w.Source[left.End:right.Start]
		if other := opposite[e.Op]; other != "" && left.Kind != pydebug.ExprCompare && strings.TrimSpace(between) == e.Op {
			return []pydebug.Edit{{Start: left.End, End: right.Start, Text: strings.Replace(between, e.Op, other, 1)}}
		}
	}
	return []pydebug.Edit{{Start: e.Start, End: e.Start, Text: not + "("}, {Start: e.End, End: e.End, Text: ")"}}
}
