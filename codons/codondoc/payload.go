package codondoc

import (
	"fmt"
	"maps"
	"reflect"
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
			if name == "" {
				name = f.Name
			}
			fmt.Fprintf(p, "| `%s` | %s | %s |\n", name, p.types.name(f.Type), cell(doc.fields[f.Name]))
		}
	}
	return nil
}
