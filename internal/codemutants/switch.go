package main

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
)

// switchVariable is the variable of the environment that has the number of the mutant to apply.
const switchVariable = "RIBOSOME_CODE_MUTANT"

// switches has the mutants of a copy that are compiled all at once. Such a mutant changes one function. The copy has the
// changed function under another name, and the function itself begins with a switch: it calls the changed one while the
// environment has the number of the mutant. So the tests of a package are compiled once for all of them.
type switches struct {
	scratch
	numbers map[string]int    // by the name of the mutant
	errors  map[string]string // what the compiler says of a mutant, by its name
}

// newSwitches puts all mutants that change one function into the copy.
func newSwitches(ctx context.Context, s scratch, mutants []mutant) (*switches, error) {
	w := &switches{scratch: s, errors: map[string]string{}}
	// A switch is not inlined, so that tests which count allocations fail.
	w.apart = []string{".*Alloc.*"}
	before := map[string]string{}
	for {
		w.numbers = map[string]int{}
		files := map[string][]change{}
		for i, m := range mutants {
			if _, ok := before[m.file]; !ok {
				text, err := os.ReadFile(s.path(m.file))
				if err != nil {
					continue // the mutant does not apply
				}
				before[m.file] = string(text)
			}
			c, ok := changeOf(before[m.file], m, i+1)
			if ok && w.errors[m.name] == "" {
				w.numbers[m.name] = c.number
				files[m.file] = append(files[m.file], c)
			}
		}
		packages, err := w.write(before, files)
		if err != nil {
			return nil, err
		}
		build := func(args ...string) (output string, err error) {
			return w.output(exec.CommandContext(ctx, "go", append(args, packages...)...), s.root)
		}
		if len(packages) == 0 {
			return w, nil
		}
		if _, err = build("build"); err == nil {
			return w, nil
		}
		n := len(w.errors)
		text, err := build("build", "-gcflags=-e") // all errors
		for _, found := range errorOfMutant.FindAllStringSubmatch(text, -1) {
			w.errors[found[1]] = found[0]
		}
		if len(w.errors) == n {
			return nil, fmt.Errorf("the copy with all mutants does not compile: %w\n%s", err, text)
		}
	}
}

// errorOfMutant matches an error of the compiler in a changed function: see change.text.
var errorOfMutant = regexp.MustCompile(`(?m)([^\s/]+)\.mutant:\d.*$`)

// switchFile is a file of each package that has switches.
const switchFile = `package %s

import (
	"os"
	"strconv"
)

var codeMutant, _ = strconv.Atoi(os.Getenv(%q))
`

// write writes the files with switches, and returns their packages.
func (w *switches) write(before map[string]string, files map[string][]change) (packages []string, err error) {
	for file, changes := range files {
		text, name := withSwitches(before[file], changes)
		if err := os.WriteFile(w.path(file), []byte(text), 0o600); err != nil {
			return nil, err
		}
		p := path.Dir(file)
		packages = append(packages, "./"+p)
		if err := os.WriteFile(w.path(p+"/code_mutant.go"), fmt.Appendf(nil, switchFile, name, switchVariable), 0o600); err != nil {
			return nil, err
		}
	}
	slices.Sort(packages)
	return slices.Compact(packages), nil
}

// to returns the copy with a mutant applied.
func (w *switches) to(m mutant) scratch {
	s := w.scratch
	s.env = append(slices.Clone(s.env), fmt.Sprintf("%s=%d", switchVariable, w.numbers[m.name]))
	return s
}

// change is a mutant that changes the body of one function.
type change struct {
	mutant   string
	number   int
	function string // the name of the function, with the type of its receiver
	changed  string // the text of the changed function
}

// changeOf returns the change of a mutant. It reports false for a mutant that does not apply or that changes anything else
// than the body of one function.
func changeOf(before string, m mutant, number int) (change, bool) {
	after, err := m.apply(before)
	if err != nil {
		return change{}, false
	}
	was, errBefore := functionsOf(before)
	is, errAfter := functionsOf(after)
	if errors.Join(errBefore, errAfter) != nil || len(was) != len(is) {
		return change{}, false
	}
	for i, f := range was {
		g := is[i]
		switch {
		case f.name != g.name || f.signature != g.signature || f.name == "init":
			return change{}, false
		case f.text == g.text:
		case before[:f.begin] == after[:g.begin] && before[f.end:] == after[g.end:]:
			return change{mutant: m.name, number: number, function: f.name, changed: g.renamed(after, fmt.Sprint("_mutant", number))}, true
		default:
			return change{}, false
		}
	}
	return change{}, false
}

// function is a declaration in a file.
type function struct {
	name       string // with the type of its receiver
	signature  string // up to the body
	text       string
	begin, end int // in the file
	decl       *ast.FuncDecl
	offset     func(token.Pos) int
}

// functionsOf returns the functions of a file that have a body.
func functionsOf(text string) ([]function, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	offset := func(p token.Pos) int { return set.Position(p).Offset }
	var all []function
	for _, d := range file.Decls {
		decl, ok := d.(*ast.FuncDecl)
		if !ok || decl.Body == nil {
			continue
		}
		f := function{begin: offset(decl.Pos()), end: offset(decl.End()), decl: decl, offset: offset}
		f.text, f.signature = text[f.begin:f.end], text[f.begin:offset(decl.Body.Lbrace)]
		f.name = decl.Name.Name
		if decl.Recv != nil {
			of := decl.Recv.List[0].Type
			f.name = text[offset(of.Pos()):offset(of.End())] + "." + f.name
		}
		all = append(all, f)
	}
	return all, nil
}

// renamed returns the text of a function with a longer name.
func (f function) renamed(text, suffix string) string {
	end := f.offset(f.decl.Name.End())
	return text[f.begin:end] + suffix + text[end:f.end]
}

// withSwitches returns the text of a file with the switches and the changed functions, and the name of its package. The
// changed functions have positions of their own, name.mutant, by which the errors of the compiler tell them apart.
func withSwitches(text string, changes []change) (switched, name string) {
	functions, _ := functionsOf(text) // it was parsed before
	tail := ""
	for _, f := range slices.Backward(functions) {
		calls := ""
		edits, receiver, arguments := f.arguments(text)
		for _, c := range changes {
			if c.function != f.name {
				continue
			}
			call := fmt.Sprintf("%s%s_mutant%d%s(%s)", receiver, f.decl.Name.Name, c.number, f.typeArguments(), arguments)
			if f.decl.Type.Results == nil {
				calls += fmt.Sprintf("case %d: %s; return; ", c.number, call)
			} else {
				calls += fmt.Sprintf("case %d: return %s; ", c.number, call)
			}
			tail += "\n//line " + c.mutant + ".mutant:1\n" + c.changed + "\n"
		}
		if calls == "" {
			continue
		}
		edits = append(edits, edit{f.offset(f.decl.Body.Lbrace) + 1, 0, " switch codeMutant { " + calls + "}; "})
		for _, e := range slices.Backward(edits) {
			text = text[:e.at] + e.text + text[e.at+e.length:]
		}
	}
	file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.PackageClauseOnly)
	if err != nil {
		return "", ""
	}
	return text + tail, file.Name.Name
}

// edit replaces a part of a text.
type edit struct {
	at, length int
	text       string
}

// arguments returns how the function calls another one with its own receiver and parameters, and the edits that give names to
// those without.
func (f function) arguments(text string) (edits []edit, receiver, arguments string) {
	var all []string
	name := func(field *ast.Field) (names []string) {
		for _, n := range field.Names {
			if n.Name != "_" {
				names = append(names, n.Name)
				continue
			}
			fresh := fmt.Sprint("argument", f.offset(n.Pos()))
			edits, names = append(edits, edit{f.offset(n.Pos()), 1, fresh}), append(names, fresh)
		}
		if len(names) == 0 {
			at := f.offset(field.Type.Pos())
			fresh := fmt.Sprint("argument", at)
			edits, names = append(edits, edit{at, 0, fresh + " "}), append(names, fresh)
		}
		return names
	}
	if f.decl.Recv != nil {
		receiver = name(f.decl.Recv.List[0])[0] + "."
	}
	for _, field := range f.decl.Type.Params.List {
		names := name(field)
		if _, variadic := field.Type.(*ast.Ellipsis); variadic {
			names[len(names)-1] += "..."
		}
		all = append(all, names...)
	}
	return edits, receiver, strings.Join(all, ", ")
}

// typeArguments returns the type parameters of a function as arguments.
func (f function) typeArguments() string {
	if f.decl.Type.TypeParams == nil {
		return ""
	}
	var all []string
	for _, field := range f.decl.Type.TypeParams.List {
		for _, n := range field.Names {
			all = append(all, n.Name)
		}
	}
	return "[" + strings.Join(all, ", ") + "]"
}
