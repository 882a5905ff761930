package pyexplain

import (
	"errors"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm/pydebug"
)

// MaxCode is the length of the longest code that is explained, in bytes.
const MaxCode = 64 << 10

// ErrCodeTooLarge means that the code is longer than [MaxCode].
var ErrCodeTooLarge = errors.New("pyexplain: code too large")

// Explanation is the structure of a source. The lists are in the order of the source.
type Explanation struct {
	Functions []Function `json:"functions,omitempty"` // also methods and nested functions
	Classes   []Class    `json:"classes,omitempty"`
	Imports   []string   `json:"imports,omitempty"` // the statements
	TopLevel  Block      `json:"top_level"`         // the statements outside of functions
}

// Function is one def.
type Function struct {
	Name       string   `json:"name"` // of a method: with the class, as Stack.push
	Line       int      `json:"line"`
	Async      bool     `json:"async,omitempty"`
	Generator  bool     `json:"generator,omitempty"`
	Parameters []string `json:"parameters"` // with their stars
	Block
}

// Class is one class statement.
type Class struct {
	Name    string   `json:"name"`
	Line    int      `json:"line"`
	Bases   string   `json:"bases,omitempty"`
	Methods []string `json:"methods,omitempty"`
}

// Block describes the statements of a function, without those of the functions in it.
type Block struct {
	Loops    []string `json:"loops,omitempty"`   // the headers
	Branches int      `json:"branches"`          // if and elif
	Calls    []string `json:"calls,omitempty"`   // the called expressions, each once
	Returns  []string `json:"returns,omitempty"` // the values, "None" for none
	Raises   []string `json:"raises,omitempty"`
}

// Explain returns the structure of a source, which may be a part of a file that is indented as a
// whole. The error is [ErrCodeTooLarge], or a [*pydebug.SyntaxError] for code that is not
// understood.
func Explain(code string) (Explanation, error) {
	if len(code) > MaxCode {
		return Explanation{}, ErrCodeTooLarge
	}
	m, header, err := pydebug.ParsePart(code)
	if err != nil {
		return Explanation{}, err
	}
	r := reader{m, strings.Count(header, "\n")}
	var e Explanation
	for _, st := range m.All {
		switch st.Keyword {
		case "def":
			e.Functions = append(e.Functions, r.function(st))
		case "class":
			e.Classes = append(e.Classes, r.class(st))
		case "import", "from":
			e.Imports = append(e.Imports, r.text(st.Start, st.End))
		}
	}
	all := m.All
	if header != "" {
		all = all[1:]
	}
	e.TopLevel, _ = r.block(nil, all)
	return e, nil
}

// reader reads the structure of one module.
type reader struct {
	*pydebug.Module
	offset int // lines before the code
}

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
	if r.Tokens[st.First].Text == "async" {
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

func (r reader) function(st *pydebug.Stmt) Function {
	f := Function{Name: r.name(st), Line: st.Line - r.offset, Async: r.Tokens[st.First].Text == "async", Parameters: []string{}}
	for _, t := range st.Targets {
		f.Parameters = append(f.Parameters, r.stars(t)+t.Op)
	}
	var inside []*pydebug.Stmt
	for _, other := range r.All {
		if other.First >= st.Last && other.First < st.Deepest().Last {
			inside = append(inside, other)
		}
	}
	f.Block, f.Generator = r.block(st, inside)
	return f
}

// stars returns the stars in front of a parameter.
func (r reader) stars(parameter *pydebug.Expr) string {
	before := strings.TrimRight(r.Source[:parameter.Start], " \t\r\n\\")
	return before[len(strings.TrimRight(before, "*")):]
}

func (r reader) class(st *pydebug.Stmt) Class {
	c := Class{Name: r.name(st), Line: st.Line - r.offset}
	header := r.text(st.Start, st.End)
	if open := strings.IndexByte(header, '('); open >= 0 {
		c.Bases = strings.TrimSuffix(strings.TrimSuffix(header[open+1:], ":"), ")")
	}
	for _, method := range st.Body {
		if method.Keyword == "def" {
			c.Methods = append(c.Methods, strings.TrimPrefix(r.name(method), c.Name+"."))
		}
	}
	return c
}

// block returns what those of the statements do that run in a function, nil for none, and whether
// they yield.
func (r reader) block(function *pydebug.Stmt, all []*pydebug.Stmt) (b Block, yields bool) {
	for _, st := range all {
		if st.Function() != function {
			continue
		}
		switch st.Keyword {
		case "for", "while":
			b.Loops = append(b.Loops, strings.TrimSuffix(r.text(st.Start, st.End), ":"))
		case "if", "elif":
			b.Branches++
		case "return":
			b.Returns = append(b.Returns, r.valueOf(st))
		case "raise":
			b.Raises = append(b.Raises, r.valueOf(st))
		}
		for _, e := range st.Exprs {
			if st.Keyword == "class" {
				break // its header looks like a call
			}
			e.Has(func(e *pydebug.Expr) bool {
				yields = yields || e.Kind == pydebug.ExprYield
				if e.Kind == pydebug.ExprCall {
					b.Calls = appendNew(b.Calls, r.text(e.Kids[0].Start, e.Kids[0].End))
				}
				return false
			})
		}
	}
	return b, yields
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
