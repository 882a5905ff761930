package pyexplain

import (
	"fmt"
	"strings"

	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm/pydebug"
)

// class returns the sentence about a class.
func (r reader) class(st *pydebug.Stmt) string {
	name := r.name(st)
	text := fmt.Sprintf("Class %s (line %d)", name, r.PartLine(st.Line))
	if _, bases, ok := strings.Cut(r.text(st.Start, st.End), "("); ok {
		text += " extends " + strings.TrimSuffix(strings.TrimSuffix(bases, ":"), ")") + ","
	}
	var methods []string
	for _, method := range st.Body {
		if method.Keyword == "def" {
			methods = append(methods, strings.TrimPrefix(r.name(method), name+"."))
		}
	}
	if len(methods) == 0 {
		return text + " has no methods."
	}
	return text + " has the methods " + listed(methods) + "."
}

// function returns the sentences about a function.
func (r reader) function(st *pydebug.Stmt) string {
	var parameters []string // with their stars
	for _, t := range st.Targets {
		parameters = append(parameters, r.stars(t)+t.Op)
	}
	body, kind := r.block(st, st.Within()), "Function"
	switch {
	case r.isAsync(st):
		kind = "Asynchronous function"
	case body.yields:
		kind = "Generator function"
	}
	text := fmt.Sprintf("%s %s (line %d) takes %s", kind, r.name(st), r.PartLine(st.Line), listed(parameters))
	if did := body.String(); did != "" {
		return text + "; it" + did
	}
	return text + "."
}

// block is what the statements of a function do, without those of the functions in it.
type block struct {
	loops    []string // the headers
	branches int      // if and elif
	calls    []string // the called expressions, each once
	returns  []string // the values, "None" for none
	raises   []string
	yields   bool
}

// String returns what the block does, beginning with a blank; empty for nothing.
func (b block) String() string {
	var parts []string
	if n := len(b.loops); n > 0 {
		parts = append(parts, fmt.Sprintf(" has %s: %s", counted(n, "loop", "loops"), strings.Join(b.loops, ", ")))
	}
	if b.branches > 0 {
		parts = append(parts, " decides by "+counted(b.branches, "condition", "conditions"))
	}
	if len(b.calls) > 0 {
		parts = append(parts, " calls "+listed(b.calls))
	}
	if len(b.raises) > 0 {
		parts = append(parts, " raises "+listed(b.raises))
	}
	if len(b.returns) > 0 {
		parts = append(parts, " returns "+strings.Join(b.returns, " or "))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ";") + "."
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// listed joins names as in a sentence.
func listed(names []string) string {
	switch n := len(names); n {
	case 0:
		return "nothing"
	case 1:
		return names[0]
	default:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
}
