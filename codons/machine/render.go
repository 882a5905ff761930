package machine

import (
	"cmp"
	"fmt"
	"slices"
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

// Diagram returns a Mermaid stateDiagram-v2 of one role, with every row that changes
// the state. Rows that keep the state are in the table of [Table.Markdown] only.
func (t Table) Diagram(role Role) string {
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n")
	fmt.Fprintf(&b, "    [*] --> %s\n", Idle)
	var last []State
	for _, a := range t.arrows(role) {
		fmt.Fprintf(&b, "    %s --> %s: %s\n", a.from, a.to, strings.Join(a.labels, "<br/>"))
		if slices.Contains(t.Terminal, a.to) && !slices.Contains(last, a.to) {
			last = append(last, a.to)
		}
	}
	for _, s := range last {
		fmt.Fprintf(&b, "    %s --> [*]\n", s)
	}
	return b.String()
}

// arrow stands for all rows that lead from one state to another.
type arrow struct {
	from, to State
	labels   []string
}

// arrows returns the arrows of a role, in the order of the table.
func (t Table) arrows(role Role) []arrow {
	var arrows []arrow
	for _, r := range t.Rows {
		if r.Role != role || r.To == "" {
			continue
		}
		for _, from := range r.From {
			if from == r.To {
				continue
			}
			i := slices.IndexFunc(arrows, func(a arrow) bool { return a.from == from && a.to == r.To })
			if i < 0 {
				i, arrows = len(arrows), append(arrows, arrow{from: from, to: r.To})
			}
			for _, on := range r.On {
				arrows[i].labels = append(arrows[i].labels, label(on, r.Do))
			}
		}
	}
	return arrows
}

// label returns the text of an arrow: ?ACT for a received message, !ACT for a sent
// one.
func label(on Symbol, do []Effect) string {
	text := on.String()
	if on.Kind == KindReceive {
		text = "?" + strings.TrimPrefix(text, "receive ")
	}
	for _, e := range do {
		switch e.Kind {
		case EffectSend:
			text += " !" + strings.TrimPrefix(e.String(), "send ")
		case EffectResend, EffectRefuse:
			text += " !" + e.String()
		case EffectArm, EffectDisarm, EffectRun, EffectStop, EffectReport, EffectDrop:
		}
	}
	return text
}
