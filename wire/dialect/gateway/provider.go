package gateway

import (
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// maxProviders is the largest number of sources of one connection that are asked for their tools.
const maxProviders = 64

// hasTools reports whether a peer has tools that it does not list: the capability tools is true or
// an object.
func hasTools(c performatives.Capabilities) bool {
	tools := string(c.Extra["tools"])
	return tools != "" && tools != "null" && tools != "false"
}

// noteIntroduction notes the introduction that the latest frame was, unless it was refused. A
// source that has tools and does not list them is asked for the list.
func (c *codec) noteIntroduction(token string, take func(wire.Inbound)) {
	m := c.introduction
	if c.introduction = nil; m == nil {
		return
	}
	delete(c.providers, m.Sender().Fold())
	q, err := performatives.PayloadAs[performatives.QueryCapabilities](m)
	if err != nil || !offers(*q.Capabilities) || len(c.providers) == maxProviders {
		return
	}
	if c.providers[m.Sender().Fold()] = *q.Capabilities; hasTools(*q.Capabilities) {
		take(c.askTools(token, m.Sender()))
	}
}

// askTools returns the request for the tools of a source.
func (c *codec) askTools(token string, source performatives.AgentID) wire.Inbound {
	s, in := c.stamp(), wire.Inbound{Token: token}
	m, err := performatives.New(performatives.Envelope{
		ID: s.ID, Timestamp: s.Time, Sender: NamespaceSystem, Receiver: source, ReplyWith: string(s.ID),
		Ontology: performatives.OntologyCapabilityQuery, Payload: performatives.QueryCapabilities{Type: performatives.QuerySummary},
	})
	if err == nil { // the error is an invalid stamp
		in.Answer, _ = c.ask(nil, m) // with too many requests under way, the source stays as it is
	}
	return in
}

// listed makes the message of a list of tools. One that the codec has asked for introduces its
// source anew, with what else it offers.
func (c *codec) listed(e *envelope, r *rpc, q *request, t messageType, list performatives.InformCapabilities) (*performatives.Message, error) {
	if q.message.Sender() != NamespaceSystem {
		return c.reply(e, r, q.message, t, list)
	}
	e.source = q.message.Receiver()
	own := c.providers[e.source.Fold()]
	own.Actions = list.Capabilities.Actions
	return c.message(e, r, performatives.Envelope{
		ID: c.stamp().ID, Receiver: NamespaceSystem, Payload: performatives.QueryCapabilities{Type: performatives.QuerySummary, Capabilities: &own},
	})
}
