package codons

import (
	"slices"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// epilogue answers what comes after the end, as the table says. It runs on the
// agent's actor, so it works on a copy, of which it keeps no more than the answers.
func (c *conversation) epilogue() func(*performatives.Message) bool {
	after := &conversation{
		self: c.self, peer: c.peer, key: c.key, script: silent{},
		correspondence: c.correspondence.afterlife(),
	}
	after.over.Store(true)
	return func(m *performatives.Message) bool {
		on := after.classify(m, "")
		if on.Kind == machine.KindReceive && after.reopens(m) {
			return false
		}
		after.happen(happening{on: on, message: m})
		return true
	}
}

// reopens reports whether a fresh opening act begins a new conversation under the
// name of this one, as chat clients do, which name all their tasks alike. The one
// whose CANCEL overtook it does not, nor does a further round of this one, which
// refers to the round before.
func (c *conversation) reopens(m *performatives.Message) bool {
	further := slices.Contains(c.seen, performatives.MessageID(m.InReplyTo())) || c.continues(m)
	return c.machine.Opens(m.Performative()) && !further && !c.withdrawn(c.key, m)
}

// continues reports whether an act that expects no answer, and so may open a
// conversation as well as go on with one, refers to something in a conversation that
// has its name from its own first message, to what has not come yet; or answers this
// side, which asked.
func (c *conversation) continues(m *performatives.Message) bool {
	named := c.state.Role == machine.Initiator || slices.Contains(c.seen, performatives.MessageID(c.key.ID))
	return named && m.InReplyTo() != "" && !m.Performative().ExpectsReply()
}

// silent is the script of a conversation that has ended: the table has it only
// repeat, refuse and drop, for which it needs none.
type silent struct{ script }
