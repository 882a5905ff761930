package main

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
)

// payloads writes what a codon's acts carry.
func (w *writer) payloads(c codons.Codon) {
	sent := c.Sends()
	if len(sent) == 0 {
		return
	}
	fmt.Fprintf(w, "\n### %s: payloads\n\n| act | from | payload | what it is for |\n|---|---|---|---|\n", c.Table.Title)
	for _, p := range sent {
		name := "none"
		if p.Type != nil {
			name = link(w.types.add(reflect.TypeOf(p.Type)))
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s |\n", p.Act, lines(senders(c.Table, p)), name, cell(p.Doc))
	}
}

// senders returns which roles send an act.
func senders(t machine.Table, p codons.Payload) []string {
	var roles []string
	for _, r := range t.Rows {
		sends := slices.ContainsFunc(r.Do, func(e machine.Effect) bool { return e.Kind == machine.EffectSend && e.Act == p.Act })
		if sends && !slices.Contains(roles, r.Role.String()) {
			roles = append(roles, r.Role.String())
		}
	}
	return roles
}

// allTypes writes the types of all payloads of the page, each once.
func (w *writer) allTypes() error {
	fmt.Fprintf(w, "\n## %s\n\nMembers that a type does not name are kept, and travel on.\n", payloadsTitle)
	for i := 0; i < len(w.types.all); i++ { // it grows: a type brings those of its fields
		if err := w.oneType(w.types.all[i]); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) oneType(t reflect.Type) error {
	doc, err := w.types.doc(t)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\n### %s\n\n%s\n", t, doc.text)
	if t.Kind() != reflect.Struct {
		return nil
	}
	w.WriteString("\n| member | type | |\n|---|---|---|\n")
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && name != "-" {
			if name == "" {
				name = f.Name
			}
			fmt.Fprintf(w, "| `%s` | %s | %s |\n", name, w.types.name(f.Type), cell(doc.fields[f.Name]))
		}
	}
	return nil
}
