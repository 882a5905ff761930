package machine

import (
	"fmt"
	"slices"
	"strings"
)

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
