package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/codons"
)

// docLink is a name in brackets, as Go comments link it.
var docLink = regexp.MustCompile(`\[\*?([A-Za-z][\w.]*)\]`)

// module is the path that this module's packages begin with.
var module = strings.TrimSuffix(reflect.TypeFor[codons.Codon]().PkgPath(), "codons")

// types are the Go types that the page describes, in the order in which it names
// them, and what their sources say about them.
type types struct {
	root  string
	all   []reflect.Type
	files map[string][]*ast.File // the sources of a package, by its path
}

func newTypes(root string) *types { return &types{root: root, files: map[string][]*ast.File{}} }

// add has the page describe a type, and returns its heading.
func (ts *types) add(t reflect.Type) string {
	if !slices.Contains(ts.all, t) {
		ts.all = append(ts.all, t)
	}
	return t.String()
}

// name is a type in a cell. A struct of this module with fields for JSON is
// described, too.
func (ts *types) name(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.Pointer:
		return ts.name(t.Elem())
	case t.Kind() == reflect.Slice && t.Name() == "":
		return "[]" + ts.name(t.Elem())
	case ts.described(t):
		return link(ts.add(t))
	}
	return "`" + t.String() + "`"
}

// described reports whether a type is a struct of ours that JSON has members for.
func (ts *types) described(t reflect.Type) bool {
	if t.Kind() != reflect.Struct || !strings.HasPrefix(t.PkgPath(), module) {
		return false
	}
	for f := range t.Fields() {
		if name := f.Tag.Get("json"); name != "" && name != "-" {
			return true
		}
	}
	return false
}

// typeDoc is what the source says about a type and its fields.
type typeDoc struct {
	text   string
	fields map[string]string
}

// doc reads the comments of a type.
func (ts *types) doc(t reflect.Type) (typeDoc, error) {
	files, err := ts.sources(t.PkgPath())
	if err != nil {
		return typeDoc{}, err
	}
	for _, file := range files {
		for _, d := range file.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range decl.Specs {
				if spec, ok := s.(*ast.TypeSpec); ok && spec.Name.Name == t.Name() {
					return newTypeDoc(decl, spec), nil
				}
			}
		}
	}
	return typeDoc{}, fmt.Errorf("%s is not among the sources of %q", t, t.PkgPath())
}

// sources parses a package of this module, once.
func (ts *types) sources(pkg string) ([]*ast.File, error) {
	if files, ok := ts.files[pkg]; ok {
		return files, nil
	}
	folder, ok := strings.CutPrefix(pkg, module)
	if !ok {
		return nil, fmt.Errorf("package %q is not of this module", pkg)
	}
	paths, err := filepath.Glob(filepath.Join(ts.root, filepath.FromSlash(folder), "*.go"))
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	ts.files[pkg] = files
	return files, nil
}

func newTypeDoc(decl *ast.GenDecl, spec *ast.TypeSpec) typeDoc {
	text := spec.Doc.Text()
	if text == "" {
		text = decl.Doc.Text()
	}
	d := typeDoc{text: prose(text), fields: map[string]string{}}
	s, ok := spec.Type.(*ast.StructType)
	if !ok {
		return d
	}
	for _, f := range s.Fields.List {
		text := f.Comment.Text()
		if text == "" {
			text = f.Doc.Text()
		}
		for _, name := range f.Names {
			d.fields[name.Name] = prose(text)
		}
	}
	return d
}

// prose is a Go comment as Markdown: links to Go names become code.
func prose(comment string) string {
	return docLink.ReplaceAllString(strings.TrimSpace(comment), "`$1`")
}
