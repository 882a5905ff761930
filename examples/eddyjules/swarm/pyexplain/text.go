package pyexplain

import (
	"fmt"
	"strings"
)

// String returns the explanation as sentences, one line for each function and class.
func (e Explanation) String() string {
	var lines []string
	if len(e.Imports) > 0 {
		lines = append(lines, "It imports by: "+strings.Join(e.Imports, "; ")+".")
	}
	for _, c := range e.Classes {
		lines = append(lines, c.String())
	}
	for _, f := range e.Functions {
		lines = append(lines, f.String())
	}
	if top := e.TopLevel.sentences(); top != "" {
		lines = append(lines, "Outside of functions, the code"+top)
	}
	if len(lines) == 0 {
		return "The code has no functions, classes, imports, loops or calls."
	}
	return strings.Join(lines, "\n")
}

// String returns the sentence about a class.
func (c Class) String() string {
	text := fmt.Sprintf("Class %s (line %d)", c.Name, c.Line)
	if c.Bases != "" {
		text += " extends " + c.Bases + ","
	}
	if len(c.Methods) == 0 {
		return text + " has no methods."
	}
	return text + " has the methods " + listed(c.Methods) + "."
}

// String returns the sentences about a function.
func (f Function) String() string {
	kind := "Function"
	switch {
	case f.Async:
		kind = "Asynchronous function"
	case f.Generator:
		kind = "Generator function"
	}
	text := fmt.Sprintf("%s %s (line %d) takes %s", kind, f.Name, f.Line, listed(f.Parameters))
	if did := f.sentences(); did != "" {
		return text + "; it" + did
	}
	return text + "."
}

// sentences returns what a block does, beginning with a blank; empty for nothing.
func (b Block) sentences() string {
	var parts []string
	if n := len(b.Loops); n > 0 {
		parts = append(parts, fmt.Sprintf(" has %s: %s", counted(n, "loop", "loops"), strings.Join(b.Loops, ", ")))
	}
	if b.Branches > 0 {
		parts = append(parts, " decides by "+counted(b.Branches, "condition", "conditions"))
	}
	if len(b.Calls) > 0 {
		parts = append(parts, " calls "+listed(b.Calls))
	}
	if len(b.Raises) > 0 {
		parts = append(parts, " raises "+listed(b.Raises))
	}
	if len(b.Returns) > 0 {
		parts = append(parts, " returns "+strings.Join(b.Returns, " or "))
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
