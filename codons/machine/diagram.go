package machine

import (
	"fmt"
	"slices"
	"strings"
)

// Diagram returns a Mermaid stateDiagram-v2 of one role: every row that leads
// from one state to another. What a state drops or answers without leaving it
// stands in the table only.
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

// arrow is all that leads from one state to another.
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

// label returns what an arrow says: ?ACT for a message that arrives, !ACT for one
// that leaves.
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

// Sequence returns a Mermaid sequenceDiagram of the shortest conversation over a
// calm network that ends both sides as the first pair of Agree says, with every
// message that it takes. It is empty when there is none or t does not compile.
func (t Table) Sequence() string {
	m, err := t.Compile()
	if err != nil || len(t.Agree) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("sequenceDiagram\n    participant I as initiator\n    participant R as responder\n")
	names := map[Role]string{Initiator: "I", Responder: "R"}
	for _, move := range shortest(m, t.Agree[0]) {
		if move.From != move.To {
			fmt.Fprintf(&b, "    note over %s: %s<br/>%s → %s\n", names[move.Role], move.On, move.From, move.To)
		}
		if move.Sent != "" {
			fmt.Fprintf(&b, "    %s->>%s: %s\n", names[move.Role], names[move.Role.Other()], move.Sent)
		}
	}
	return b.String()
}

// shortest returns the fewest moves to a pair of ends over a calm network, after
// which no message is left on its way.
func shortest(m *Machine, end Pair) []Move {
	x := newExplorer(m, Calm().withDefaults())
	if err := x.walk(); err != nil {
		return nil
	}
	for i, n := range x.nodes {
		p := x.pair(n.joint)
		settled := n.joint[Initiator].out|n.joint[Responder].out == 0
		if settled && p.Initiator == end.Initiator && p.Responder == end.Responder {
			return x.path(int32(i))
		}
	}
	return nil
}
