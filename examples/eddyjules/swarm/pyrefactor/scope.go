package pyrefactor

import (
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm/pydebug"
)

// reflective are names by which code can read or write variables by their names, or see its own
// source.
var reflective = pydebug.SetOf(`eval exec locals globals vars dir compile builtins __builtins__ __import__ importlib inspect
	ast _getframe _current_frames currentframe f_locals tb_frame gi_frame __code__ co_varnames
	settrace setprofile breakpoint pdb gc doctest format_map`)

// uncertain returns the reason for which nothing in the source can be changed safely; empty for
// none.
func (w *work) uncertain() string {
	if strings.Contains(strings.ReplaceAll(w.Source, "\r\n", ""), "\r") || strings.Contains(w.Source, "\f") {
		return "the source has line endings or form feeds that a diff cannot show"
	}
	open := 0 // f-strings
	for i, t := range w.Tokens {
		switch {
		case t.Kind == pydebug.TokenName && reflective[t.Text]:
			return "the code may look at its own variables: it mentions " + t.Text
		case t.Kind == pydebug.TokenOp && t.Text == "*" && i > 0 && w.Tokens[i-1].Text == "import":
			return "an import of * may bring any name"
		case t.Kind == pydebug.TokenFStart && strings.ContainsAny(t.Text, "tT"):
			return "a template string carries the text of its expressions"
		case t.Kind == pydebug.TokenFStart:
			open++
		case t.Kind == pydebug.TokenFEnd:
			open--
		case t.Kind == pydebug.TokenOp && t.Text == "=" && open > 0:
			return "an f-string with = may show the text of an expression"
		}
	}
	return ""
}

// span returns the tokens of a statement with its body: Tokens[first:last].
func (w *work) span(st *pydebug.Stmt) (first, last int) { return st.First, st.Deepest().Last }

// isVariable reports whether a token is a name that may stand for a variable: no attribute, and no
// name of an argument in a call.
func (w *work) isVariable(i int) bool {
	t := w.Tokens[i]
	return t.Kind == pydebug.TokenName && !w.keyword[t.Start] && (i == 0 || w.Tokens[i-1].Text != ".")
}

// mentions returns the tokens in Tokens[first:last] that may stand for the variable.
func (w *work) mentions(name string, first, last int) []int {
	var at []int
	for i := first; i < last; i++ {
		if w.Tokens[i].Text == name && w.isVariable(i) {
			at = append(at, i)
		}
	}
	return at
}

// shared returns the reason for which a variable of a function may be known outside of the
// function's own statements; empty for none.
func (w *work) shared(name string, function *pydebug.Stmt) string {
	for _, st := range function.Within() {
		first, last := st.First, st.Last
		switch st.Keyword {
		case "def", "class":
			_, last = w.span(st)
		case "global", "nonlocal", "import", "from":
		default:
			if st.Function() == function && !w.inLambda(name, st) {
				continue
			}
		}
		if w.hasText(name, first, last) {
			return "it is also used in a function, a lambda, an import or a global statement"
		}
	}
	return ""
}

// inLambda reports whether a lambda of the statement mentions the name in any way.
func (w *work) inLambda(name string, st *pydebug.Stmt) bool {
	return slices.ContainsFunc(st.Exprs, func(e *pydebug.Expr) bool {
		return e.Has(func(e *pydebug.Expr) bool {
			return e.Kind == pydebug.ExprLambda && slices.ContainsFunc(w.Tokens[st.First:st.Last], func(t pydebug.Token) bool {
				return t.Text == name && t.Start >= e.Start && t.End <= e.End
			})
		})
	})
}

// hasText reports whether one of Tokens[first:last] is the name, in any role.
func (w *work) hasText(name string, first, last int) bool {
	return slices.ContainsFunc(w.Tokens[first:last], func(t pydebug.Token) bool { return t.Kind == pydebug.TokenName && t.Text == name })
}
