package verify

import (
	"fmt"
	"strings"

	"github.com/ribosome-agents/ribosome/codons/machine"
)

// Sequence returns a Mermaid sequenceDiagram of a conversation over a calm network, for
// [machine.Table.Markdown]: a shortest one that ends as [machine.Table.Success] says. For a table
// without such an end, as of a long-lived conversation, the diagram has two messages of each act
// that the responder repeats. The initiator's command "cancel" comes after them. The text is empty
// where neither exists.
func Sequence(m *machine.Machine) string {
	moves := shortest(m)
	if len(moves) == 0 {
		moves = cancelled(m)
	}
	if len(moves) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("sequenceDiagram\n    participant I as initiator\n    participant R as responder\n")
	names := map[machine.Role]string{machine.Initiator: "I", machine.Responder: "R"}
	for _, move := range moves {
		if move.From != move.To {
			fmt.Fprintf(&b, "    note over %s: %s<br/>%s → %s\n", names[move.Role], move.On, move.From, move.To)
		}
		if move.Sent != "" {
			fmt.Fprintf(&b, "    %s->>%s: %s\n", names[move.Role], names[move.Role.Other()], move.Sent)
		}
	}
	return b.String()
}

// shortest returns the fewest moves over a calm network to the table's Success with
// every message delivered. A table with a violation has a diagram, too, if the conversation is
// shorter than the way to the violation.
func shortest(m *machine.Machine) []Move {
	success, ok := m.Table().Success()
	if !ok {
		return nil
	}
	x := newExplorer(m, Calm().withDefaults())
	_ = x.walk() // Explore reports violations
	for i, n := range x.nodes {
		p := x.pair(n.at)
		if delivered(n.at) && p.Initiator == success.Initiator && p.Responder == success.Responder {
			return x.path(int32(i))
		}
	}
	return nil
}
