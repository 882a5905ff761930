package verify

import (
	"fmt"
	"strings"

	"github.com/ribosome-agents/ribosome/codons/machine"
)

// Sequence returns a Mermaid sequenceDiagram of a conversation over a calm network, for
// [machine.Table.Markdown]: a shortest one that ends as [machine.Table.Success] says. For a table
// without such an end, as of a long-lived conversation, the responder sends as many messages as
// [Network].Repeat allows, and then the initiator cancels. Each message arrives before the next
// command is given. The text is empty where neither exists.
func Sequence(m *machine.Machine) string {
	x := newExplorer(m, Calm().withDefaults())
	x.spread()
	at := x.goal()
	if at < 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("sequenceDiagram\n    participant I as initiator\n    participant R as responder\n")
	names := map[machine.Role]string{machine.Initiator: "I", machine.Responder: "R"}
	for _, move := range x.path(at) {
		if move.From != move.To {
			fmt.Fprintf(&b, "    note over %s: %s<br/>%s → %s\n", names[move.Role], move.On, move.From, move.To)
		}
		if move.Sent != "" {
			fmt.Fprintf(&b, "    %s->>%s: %s\n", names[move.Role], names[move.Role.Other()], move.Sent)
		}
	}
	return b.String()
}

// spread visits the joint states in which no command is given while a message is on its way.
func (x *explorer) spread() {
	x.visit(joint{}, -1, Move{})
	for at := int32(0); int(at) < len(x.nodes) && len(x.nodes) <= x.net.MaxStates; at++ {
		from := x.nodes[at].at
		for to, via := range x.moves(from) {
			if x.problem == nil && (via.Message != "" || delivered(from)) { // Explore reports violations
				x.visit(to, at, via)
			}
		}
	}
}

// goal returns the first node with the end of a diagram, or -1.
func (x *explorer) goal() int32 {
	success, succeeds := x.Table().Success()
	cancels := x.Table().Takes(machine.Initiator, machine.Commanded(commandCancel))
	best, most := int32(-1), 0
	for i, n := range x.nodes {
		sent := n.at[machine.Responder].sent.Len()
		switch {
		case !delivered(n.at) || !x.ended(n.at):
		case succeeds && endOf(x.pair(n.at)) == endOf(success):
			return int32(i)
		case !succeeds && cancels && x.withdrawn(n.at) && sent > most:
			best, most = int32(i), sent
		}
	}
	return best
}

// delivered reports whether the network has no message left to deliver.
func delivered(j joint) bool { return j[machine.Initiator].out|j[machine.Responder].out == 0 }
