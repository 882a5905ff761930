package codondoc

import (
	"cmp"
	"fmt"
	"go/ast"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// payloads writes the messages of a codon with their payloads: the application's message types, and
// the acts without one. What a message is for is, unless the definition says it, the comment of its
// payload.
func (p *page) payloads(c *codons.Codon) {
	p.WriteString("\n### Messages\n\n| message | act | from | payload | what it is for |\n|---|---|---|---|---|\n")
	typed := map[performatives.Performative]bool{}
	for _, name := range slices.Sorted(maps.Keys(c.Messages)) {
		m := c.Messages[name]
		typed[m.Act] = true
		p.message(c.Table, name, machine.SendTagged(m.Act, name), m.Payload, m.Doc)
	}
	for _, s := range c.Sends() {
		if !typed[s.Act] || s.Doc != "" {
			p.message(c.Table, s.Act.String(), machine.Send(s.Act), reflect.TypeOf(s.Type), s.Doc)
		}
	}
}

// message writes one row of the messages. t is nil for a message without a payload.
func (p *page) message(table machine.Table, name string, e machine.Effect, t reflect.Type, purpose string) {
	payload := "none"
	if t != nil {
		payload = p.types.payload(t)
		if d, err := p.types.doc(t); purpose == "" && err == nil {
			purpose = firstSentence(d.text)
		}
	}
	act := e.Act.String()
	if act == name {
		act = ""
	}
	fmt.Fprintf(p, "| %s | %s | %s | %s | %s |\n", name, act, lines(senders(table, e)), payload, cell(purpose))
}

// senders returns the roles that send an act with the tag of an effect, or without one.
func senders(t machine.Table, sent machine.Effect) []string {
	var roles []string
	for _, r := range t.Rows {
		sends := slices.ContainsFunc(r.Do, func(e machine.Effect) bool {
			return e.Kind == machine.EffectSend && e.Act == sent.Act && (sent.Name == "" || e.Name == "" || e.Name == sent.Name)
		})
		if sends && !slices.Contains(roles, r.Role.String()) {
			roles = append(roles, r.Role.String())
		}
	}
	return roles
}

// payloadTypes writes the types of payloads under a heading of the given level, each once.
func (p *page) payloadTypes(level string) error {
	if len(p.types.all) == 0 {
		return nil
	}
	fmt.Fprintf(p, "\n%s Types of payloads\n\nMembers that a type does not name are kept, and sent on.\n", level)
	for i := 0; i < len(p.types.all); i++ { // the types of fields are appended
		if err := p.oneType(p.types.all[i], level+"#"); err != nil {
			return err
		}
	}
	return nil
}

// oneType writes a type under a heading of the given level.
func (p *page) oneType(t reflect.Type, level string) error {
	doc, err := p.types.doc(t)
	if err != nil {
		return err
	}
	fmt.Fprintf(p, "\n%s %s\n\n%s\n", level, t, doc.text)
	if t.Kind() != reflect.Struct {
		return nil
	}
	p.WriteString("\n| member | type | |\n|---|---|---|\n")
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && name != "-" {
			name = cmp.Or(name, f.Name)
			fmt.Fprintf(p, "| `%s` | %s | %s |\n", name, p.types.name(f.Type), cell(doc.fields[f.Name]))
		}
	}
	return nil
}

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
	d := typeDoc{text: prose(cmp.Or(spec.Doc.Text(), decl.Doc.Text())), fields: map[string]string{}}
	s, ok := spec.Type.(*ast.StructType)
	if !ok {
		return d
	}
	for _, f := range s.Fields.List {
		text := cmp.Or(f.Comment.Text(), f.Doc.Text())
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
