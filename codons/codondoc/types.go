package codondoc

import (
	"fmt"
	"go/ast"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// docLink is a name in brackets, as Go comments link it.
var docLink = regexp.MustCompile(`\[\*?([A-Za-z][\w.]*)\]`)

// types are the Go types that a page describes, in the order in which they are first
// named.
type types struct {
	src  *sources
	file string // the page that describes them; empty for the page that names them
	all  []reflect.Type
}

func newTypes(src *sources, file string) *types { return &types{src: src, file: file} }

// add adds a type to those described, and returns its heading.
func (ts *types) add(t reflect.Type) string {
	if !slices.Contains(ts.all, t) {
		ts.all = append(ts.all, t)
	}
	return t.String()
}

// payload returns the type of a payload as the text of a cell: a link where the type has a
// name of its own.
func (ts *types) payload(t reflect.Type) string {
	if t.Name() == "" || !ts.src.documents(t.PkgPath()) {
		return ts.name(t)
	}
	return link(ts.file, ts.add(t))
}

// name returns a type as the text of a cell. A struct with JSON members gets a link, and
// is described.
func (ts *types) name(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.Pointer:
		return ts.name(t.Elem())
	case t.Kind() == reflect.Slice && t.Name() == "":
		return "[]" + ts.name(t.Elem())
	case ts.described(t):
		return link(ts.file, ts.add(t))
	}
	return "`" + t.String() + "`"
}

// described reports whether a type is a struct with JSON members, and not of the standard
// library.
func (ts *types) described(t reflect.Type) bool {
	if t.Kind() != reflect.Struct || !ts.src.documents(t.PkgPath()) {
		return false
	}
	for f := range t.Fields() {
		if name := f.Tag.Get("json"); name != "" && name != "-" {
			return true
		}
	}
	return false
}

// typeDoc holds the comments of a type and of its fields.
type typeDoc struct {
	text   string
	fields map[string]string
}

// doc reads the comments of a type.
func (ts *types) doc(t reflect.Type) (typeDoc, error) {
	files, err := ts.src.files(t.PkgPath())
	if err != nil {
		return typeDoc{}, err
	}
	name, _, _ := strings.Cut(t.Name(), "[") // without type arguments
	for _, file := range files {
		for _, d := range file.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range decl.Specs {
				if spec, ok := s.(*ast.TypeSpec); ok && spec.Name.Name == name {
					return newTypeDoc(decl, spec), nil
				}
			}
		}
	}
	return typeDoc{}, fmt.Errorf("%s is not among the sources of %q", t, t.PkgPath())
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

// prose returns a Go comment as Markdown: links to Go names become code.
func prose(comment string) string {
	return docLink.ReplaceAllString(strings.TrimSpace(comment), "`$1`")
}
