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

// payloads writes the payload of each act of a codon, and of each message type.
func (p *page) payloads(c *codons.Codon) {
	sent := c.Sends()
	if len(sent) == 0 && len(c.Messages) == 0 {
		return
	}
	p.messageTypes(c)
	p.WriteString("\n## Payloads\n\n| act | from | payload | what it is for |\n|---|---|---|---|\n")
	for _, s := range sent {
		name := "none"
		if s.Type != nil {
			name = p.types.payload(reflect.TypeOf(s.Type))
		}
		fmt.Fprintf(p, "| %s | %s | %s | %s |\n", s.Act, lines(senders(c.Table, s.Act)), name, cell(s.Doc))
	}
}

// messageTypes writes the application's message types of a codon.
func (p *page) messageTypes(c *codons.Codon) {
	if len(c.Messages) == 0 {
		return
	}
	p.WriteString("\n## Message types\n\n| message type | act | payload | what it is for |\n|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(c.Messages)) {
		m := c.Messages[name]
		fmt.Fprintf(p, "| %s | %s | %s | %s |\n", name, m.Act, p.types.payload(m.Payload), cell(m.Doc))
	}
}

// senders returns the roles that send an act.
func senders(t machine.Table, act performatives.Performative) []string {
	var roles []string
	for _, r := range t.Rows {
		sends := slices.ContainsFunc(r.Do, func(e machine.Effect) bool { return e.Kind == machine.EffectSend && e.Act == act })
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
