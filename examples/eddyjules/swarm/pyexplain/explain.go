package pyexplain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm/pydebug"
)

// Explanation describes a source.
type Explanation struct {
	Summary string // a sentence: how many functions, also methods and nested ones, and classes there are
	Text    string // sentences, one line for each function and class
}

// Explain describes a source, which may be a part of a file that is indented as a whole. The error
// is one of [pydebug.ParsePart].
func Explain(code string) (e Explanation, err error) {
	m, err := pydebug.ParsePart(code)
	if err != nil {
		return e, err
	}
	r := reader{m}
	var imports, classes, functions, lines []string
	for _, st := range m.All {
		switch st.Keyword {
		case "def":
			functions = append(functions, r.function(st))
		case "class":
			classes = append(classes, r.class(st))
		case "import", "from":
			imports = append(imports, r.text(st.Start, st.End))
		}
	}
	if len(imports) > 0 {
		lines = append(lines, "It imports by: "+strings.Join(imports, "; ")+".")
	}
	lines = slices.Concat(lines, classes, functions)
	all := m.All
	if m.Header != "" {
		all = all[1:]
	}
	if top := r.block(nil, all).String(); top != "" {
		lines = append(lines, "Outside of functions, the code"+top)
	}
	if len(lines) == 0 {
		lines = []string{"The code has no functions, classes, imports, loops or calls."}
	}
	e.Summary = fmt.Sprintf("The code has %s and %s.", counted(len(functions), "function", "functions"), counted(len(classes), "class", "classes"))
	e.Text = strings.Join(lines, "\n")
	return e, nil
}

// reader reads the structure of one module.
type reader struct{ *pydebug.Module }

// maxText bounds a piece of source in an explanation, in bytes.
const maxText = 80

// text returns a piece of the source in one line.
func (r reader) text(start, end int) string {
	text := strings.Join(strings.Fields(r.Source[start:end]), " ")
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	return text
}

// name returns the name in the header of a def or a class, behind the class that it is in.
func (r reader) name(st *pydebug.Stmt) string {
	at := st.First + 1
	if r.isAsync(st) {
		at++
	}
	name := r.Tokens[at].Text
	for p := st.Parent; p != nil && p.Keyword != "def"; p = p.Parent {
		if p.Keyword == "class" {
			return r.name(p) + "." + name
		}
	}
	return name
}

func (r reader) isAsync(st *pydebug.Stmt) bool { return r.Tokens[st.First].Text == "async" }

// stars returns the stars in front of a parameter.
func (r reader) stars(parameter *pydebug.Expr) string {
	before := strings.TrimRight(r.Source[:parameter.Start], " \t\r\n\\")
	return before[len(strings.TrimRight(before, "*")):]
}

// block describes those of the statements that run in a function, nil for none.
func (r reader) block(function *pydebug.Stmt, all []*pydebug.Stmt) (b block) {
	for _, st := range all {
		if st.Function() != function {
			continue
		}
		switch st.Keyword {
		case "for", "while":
			b.loops = append(b.loops, strings.TrimSuffix(r.text(st.Start, st.End), ":"))
		case "if", "elif":
			b.branches++
		case "return":
			b.returns = append(b.returns, r.valueOf(st))
		case "raise":
			b.raises = append(b.raises, r.valueOf(st))
		}
		for _, e := range st.Exprs {
			if st.Keyword == "class" {
				break // its header looks like a call
			}
			e.Has(func(e *pydebug.Expr) bool {
				b.yields = b.yields || e.Kind == pydebug.ExprYield
				if e.Kind == pydebug.ExprCall {
					b.calls = appendNew(b.calls, r.text(e.Kids[0].Start, e.Kids[0].End))
				}
				return false
			})
		}
	}
	return b
}

func (r reader) valueOf(st *pydebug.Stmt) string {
	if st.Value == nil {
		return map[string]string{"return": "None", "raise": "the current error"}[st.Keyword]
	}
	return r.text(st.Value.Start, st.Value.End)
}

// maxCalls bounds the calls that a block lists.
const maxCalls = 50

func appendNew(list []string, s string) []string {
	if len(list) >= maxCalls || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
