package pyrefactor

import (
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm/pydebug"
)

// nameFor returns a clear name for a variable by the statements that bind it, and how certain it
// is; empty if they do not say what it holds, or not the same.
func (w *work) nameFor(name string, bindings []*pydebug.Stmt) (better string, confidence float64) {
	if better := counterName(w.Module, bindings); better != "" {
		return better, 0.7
	}
	for _, st := range bindings {
		var n string
		switch st.Keyword {
		case "for":
			n = loopName(name, st)
		case "with":
			n = fileName(st)
		case "except":
			n = "error"
		}
		if n == "" || better != "" && n != better {
			return "", 0
		}
		better = n
	}
	return better, 0.9
}

// counterName returns the name of a number that begins at 0 and is only added to; empty for any
// other.
func counterName(m *pydebug.Module, bindings []*pydebug.Stmt) string {
	begins, adds, ones := 0, 0, 0
	for _, st := range bindings {
		switch {
		case st.Keyword != "" || len(st.Targets) != 1 || st.Targets[0].Kind != pydebug.ExprName || st.Value == nil:
			return ""
		case st.Op == "=" && m.Text(st.Value) == "0":
			begins++
		case st.Op == "+=":
			adds++
			if m.Text(st.Value) == "1" {
				ones++
			}
		default:
			return ""
		}
	}
	switch {
	case begins == 0 || adds == 0:
		return ""
	case ones == adds:
		return "count"
	}
	return "total"
}

// loopName returns the name of a variable of a for loop by the iterable.
func loopName(name string, loop *pydebug.Stmt) string {
	if len(loop.Targets) != 1 || loop.Value == nil {
		return ""
	}
	target := loop.Targets[0].Unparen()
	if target.Kind == pydebug.ExprName {
		return elementName(loop.Value)
	}
	function, method, arguments := callOf(loop.Value)
	if target.Kind != pydebug.ExprTuple || len(target.Kids) != 2 {
		return ""
	}
	for i, kid := range target.Kids {
		if kid.Kind != pydebug.ExprName || kid.Op != name {
			continue
		}
		switch {
		case method == "items" && len(arguments) == 0:
			return []string{"key", "value"}[i]
		case function == "enumerate" && i == 0 && len(arguments) > 0:
			return "index"
		case function == "enumerate" && len(arguments) > 0:
			return elementName(arguments[0])
		case function == "zip" && len(arguments) == 2:
			return elementName(arguments[i])
		}
	}
	return ""
}

// elementName returns the name of one element of an iterable.
func elementName(iterable *pydebug.Expr) string {
	iterable = iterable.Unparen()
	if iterable.Kind == pydebug.ExprName || iterable.Kind == pydebug.ExprAttr {
		return singular(iterable.Op)
	}
	function, method, arguments := callOf(iterable)
	switch {
	case function == "range":
		return "index"
	case method == "keys":
		return "key"
	case method == "values":
		return "value"
	case method == "splitlines", method == "readlines", function == "open":
		return "line"
	case (function == "sorted" || function == "reversed" || function == "list" || function == "set") && len(arguments) > 0:
		return elementName(arguments[0])
	}
	return ""
}

// callOf returns the name of the called function, or of the called method, and the arguments.
func callOf(e *pydebug.Expr) (function, method string, arguments []*pydebug.Expr) {
	if e = e.Unparen(); e.Kind != pydebug.ExprCall {
		return "", "", nil
	}
	switch f := e.Kids[0]; f.Kind { //nolint:exhaustive // nothing else has a name
	case pydebug.ExprName:
		function = f.Op
	case pydebug.ExprAttr:
		method = f.Op
	}
	return function, method, e.Kids[1:]
}

// fileName returns "file" for a with statement that opens one file.
func fileName(st *pydebug.Stmt) string {
	if st.Value == nil || len(st.Targets) != 1 {
		return ""
	}
	if function, _, _ := callOf(st.Value); function == "open" {
		return "file"
	}
	return ""
}

// irregular has the singulars of plurals to which the rules below do not apply. An empty singular
// means that none is used.
var irregular = map[string]string{
	"series": "", "species": "", "news": "", "leaves": "", "knives": "", "wolves": "", "halves": "", "shelves": "", "lens": "", "chaos": "",
	"lenses": "lens", "movies": "movie", "caches": "cache", "cookies": "cookie", "calories": "calorie", "zombies": "zombie", "indices": "index", "children": "child", "people": "person",
}

// builtins are names of Python's functions and types that would be a confusing name for a variable.
var builtins = pydebug.SetOf(`bool bytes dict dir filter float format hash input int iter list map max min object open
	print property range set slice str sum super tuple type zip`)

// singular returns the singular of a plural in lower case; empty if it is none that is known.
func singular(plural string) string {
	word := strings.TrimLeft(plural, "_")
	if strings.ToLower(word) != word {
		return ""
	}
	one, ok := irregular[word]
	if !ok {
		one = regular(word)
	}
	if len(one) < 3 || pydebug.IsKeyword(one) || builtins[one] {
		return ""
	}
	return one
}

func regular(word string) string {
	ends := func(suffixes ...string) bool {
		return slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(word, s) })
	}
	switch {
	case ends("ss", "us", "is", "as", "uses", "oes"):
		return ""
	case ends("ies"):
		return strings.TrimSuffix(word, "ies") + "y"
	case ends("sses", "xes", "ches", "shes"):
		return strings.TrimSuffix(word, "es")
	case ends("s"):
		return strings.TrimSuffix(word, "s")
	}
	return ""
}
