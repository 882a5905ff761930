package pyrefactor

import (
	"fmt"

	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm/pydebug"
)

// renames suggests names for the variables of one letter that a function binds.
func (w *work) renames(function *pydebug.Stmt) {
	bindings := map[string][]*pydebug.Stmt{}
	var order []string
	for _, st := range function.Within() {
		if st.Function() != function {
			continue
		}
		for _, name := range st.Names {
			if len(name) != 1 || name == "_" {
				continue
			}
			if bindings[name] == nil {
				order = append(order, name)
			}
			bindings[name] = append(bindings[name], st)
		}
	}
	for _, name := range order {
		w.rename(function, name, bindings[name])
	}
}

// rename suggests another name for a variable of a function. All mentions in the function become
// the new name, which occurs nowhere in the source: this is safe whatever they mean in nested
// comprehensions, as long as nothing outside of the function's statements knows the old name.
func (w *work) rename(function *pydebug.Stmt, name string, bindings []*pydebug.Stmt) {
	better, confidence := w.nameFor(name, bindings)
	if better == "" {
		return
	}
	why := w.shared(name, function)
	if function.HasParameter(name) {
		why = "it is a parameter"
	}
	if why != "" {
		w.refuse(bindings[0], "the variable %s is not renamed: %s", name, why)
		return
	}
	if w.hasText(better, 0, len(w.Tokens)) {
		w.refuse(bindings[0], "the variable %s is not renamed: %s is in use", name, better)
		return
	}
	var edits []pydebug.Edit
	_, last := w.span(function)
	for _, i := range w.mentions(name, function.Last, last) { // the header belongs to the scope around the function
		t := w.Tokens[i]
		edits = append(edits, pydebug.Edit{Start: t.Start, End: t.End, Text: better})
	}
	w.suggest(found{
		kind: RenameVariable, line: bindings[0].Line, confidence: confidence, edits: edits,
		description: fmt.Sprintf("Rename variable '%s' to '%s' for clarity.", name, better),
	})
}
