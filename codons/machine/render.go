package machine

import (
	"cmp"
	"fmt"
	"strings"
)

// Markdown returns the documentation of the table: its purpose, a diagram and a table
// of rows for each role, the pairs of states in which it may end, its timers and its
// jobs. The text of example, a Mermaid sequenceDiagram, shows a conversation that
// succeeds; package verify makes one. The documentation has no example where the text
// is empty. Equal tables give equal texts.
func (t Table) Markdown(example string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\nProtocol: `%s`. Source: %s.\n", t.Title, t.Purpose, t.Name, t.Source)
	if example != "" {
		fmt.Fprintf(&b, "\n## A conversation that goes well\n\n```mermaid\n%s```\n", example)
	}
	for _, r := range Roles() {
		fmt.Fprintf(&b, "\n## The %s\n\n```mermaid\n%s```\n\n", r, t.Diagram(r))
		t.writeRows(&b, r)
	}
	t.writePairs(&b)
	t.writeTimersAndJobs(&b)
	return b.String()
}

// writeRows writes the rows of a role, in the order of the table.
func (t Table) writeRows(b *strings.Builder, role Role) {
	b.WriteString("| in | on | to | do | because |\n|---|---|---|---|---|\n")
	for _, r := range t.Rows {
		if r.Role != role {
			continue
		}
		to := cmp.Or(string(r.To), "(stays)")
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", cells(r.From), cells(r.On), to, cells(r.Do), r.Why)
	}
}

// writePairs writes the pairs of states in which a conversation may end.
func (t Table) writePairs(b *strings.Builder) {
	b.WriteString("\n## How it may end\n\n")
	b.WriteString("An end with events in the third column is rough: it comes about only after one of them.\n\n")
	b.WriteString("| initiator | responder | only after | because |\n|---|---|---|---|\n")
	for _, p := range t.Agree {
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", p.Initiator, p.Responder, cells(p.After), p.Note)
	}
}

func (t Table) writeTimersAndJobs(b *strings.Builder) {
	b.WriteString("\n## Timers and jobs\n\n| role | name | what it is |\n|---|---|---|\n")
	for _, timer := range t.Timers {
		fmt.Fprintf(b, "| %s | timer %s | %s |\n", timer.Role, timer.Name, timer.Doc)
	}
	for _, j := range t.Jobs {
		doc := j.Doc
		if len(j.Says) > 0 {
			doc += "; while it runs it may give " + join(j.Says)
		}
		fmt.Fprintf(b, "| %s | job %s | %s; it ends with one of %s |\n", j.Role, j.Name, doc, join(j.Ends))
	}
}

// cells formats the values as one cell of a table, each on a line of its own.
func cells[T any](values []T) string { return joinWith(values, "<br>") }
