package machine

import (
	"fmt"
	"strings"
)

// Markdown returns the documentation of the table: its purpose, both diagrams,
// a table of rows for each role, the ways in which it may end, its timers and
// jobs. The same table gives the same text, always.
func (t Table) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\nProtocol: `%s`. Source: %s.\n", t.Title, t.Purpose, t.Name, t.Source)
	fmt.Fprintf(&b, "\n## A conversation that goes well\n\n```mermaid\n%s```\n", t.Sequence())
	for _, r := range Roles() {
		fmt.Fprintf(&b, "\n## The %s\n\n```mermaid\n%s```\n\n", r, t.Diagram(r))
		t.writeRows(&b, r)
	}
	t.writePairs(&b)
	t.writeClocks(&b)
	return b.String()
}

// writeRows writes the rows of a role, as they were written.
func (t Table) writeRows(b *strings.Builder, role Role) {
	b.WriteString("| in | on | to | do | because |\n|---|---|---|---|---|\n")
	for _, r := range t.Rows {
		if r.Role != role {
			continue
		}
		to := string(r.To)
		if to == "" {
			to = "(stays)"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", cells(r.From), cells(r.On), to, cells(r.Do), r.Why)
	}
}

// writePairs writes how a conversation may end.
func (t Table) writePairs(b *strings.Builder) {
	b.WriteString("\n## How it may end\n\n")
	b.WriteString("Rough ends come about only where messages are lost or late, or an agent stops.\n\n")
	b.WriteString("| initiator | responder | rough | because |\n|---|---|---|---|\n")
	for _, p := range t.Agree {
		rough := ""
		if p.Rough {
			rough = "rough"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", p.Initiator, p.Responder, rough, p.Note)
	}
}

// writeClocks writes the timers and the jobs.
func (t Table) writeClocks(b *strings.Builder) {
	b.WriteString("\n## Timers and jobs\n\n| role | name | what it is |\n|---|---|---|\n")
	for _, timer := range t.Timers {
		fmt.Fprintf(b, "| %s | timer %s | %s |\n", timer.Role, timer.Name, timer.Doc)
	}
	for _, j := range t.Jobs {
		doc := j.Doc
		if len(j.Says) > 0 {
			doc += "; it may say " + join(j.Says)
		}
		fmt.Fprintf(b, "| %s | job %s | %s; its last word is one of %s |\n", j.Role, j.Name, doc, join(j.Ends))
	}
}

// cells joins values into one cell of a table, a line each.
func cells[T any](values []T) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = fmt.Sprint(v)
	}
	return strings.Join(words, "<br>")
}
