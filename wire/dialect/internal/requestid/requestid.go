// Package requestid names the requests that a session of a dialect has open.
package requestid

import "github.com/ribosome-agents/ribosome/performatives"

// Key names a request, or a CANCEL, by the agent that has sent it and by its message id: two agents
// may use the same id. It is comparable, so that maps can have it as their key.
type Key struct {
	asker performatives.AgentID // folded
	id    performatives.MessageID
}

// Of returns the key of a request. Ids of agents that differ only in case give the same key. The
// asker is empty for a request whose id alone identifies it.
func Of(asker performatives.AgentID, id performatives.MessageID) Key { return Key{asker.Fold(), id} }

// ID returns the id of the message.
func (k Key) ID() performatives.MessageID { return k.id }

// From returns the key of a message.
func From(m *performatives.Message) Key { return Of(m.Sender(), m.ID()) }
