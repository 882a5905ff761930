package runtime

import (
	"sync/atomic"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/performatives"
)

// proxy is the agent that stands for one of a peer's.
type proxy struct {
	id      performatives.AgentID
	label   performatives.AgentID // by which the peer knows itself
	peers   *Peers
	link    *peerLink
	ready   chan struct{} // closed once self is valid or failed is set
	self    actors.Self
	failed  bool
	gone    chan struct{} // closed once the agent has stopped
	retired atomic.Bool   // it speaks for the peer no more
	known   atomic.Bool   // the peer has introduced itself

	asked performatives.MessageID // what the node has asked it; of the session's reader
	left  bool                    // it has withdrawn, and said nothing since; of the session's reader
}

var (
	_ actors.RemoteAgent = (*proxy)(nil)
	_ actors.Stopper     = (*proxy)(nil)
)

// Describe returns nothing: what the peer can do, it says later.
func (a *proxy) Describe() performatives.Capabilities { return performatives.Capabilities{} }

// Answers lets the node answer the Whispering Wind for a peer that has introduced itself.
// All else is for the peer.
func (a *proxy) Answers(protocol string, _ *performatives.Message) bool {
	return a.known.Load() && protocol == discovery.WhisperName
}

// Receive passes a message on to the peer, or refuses it.
func (a *proxy) Receive(c *actors.Context, m *performatives.Message) {
	if err := a.link.send(a.labelled(m), m.Sender(), a.id); err != nil {
		r := asRefusal(err)
		c.System().RefuseCopy(a.id, m, r.Code, r.Text)
	}
}

// labelled returns a message to the agent under the name by which the peer knows it. A peer with many agents is told for
// each.
func (a *proxy) labelled(m *performatives.Message) *performatives.Message {
	if m.Receiver() != "" && a.label == a.id {
		return m
	}
	return renamed(m, m.Sender(), a.label)
}

// Stop ends what is open when the agent stops although its session goes on: somebody
// stops it, or the node stops.
func (a *proxy) Stop(*actors.Context) { a.part(a.link.ledger.of(a.id)) }

// part tells both sides that conversations are over whose session goes on.
func (a *proxy) part(talks []*talk) {
	s := a.peers.node.system
	for _, t := range talks {
		var last *performatives.Message
		if t.inbound {
			last = t.asked.Refuse(t.voice(), s.Stamp(), performatives.CodeStopped, "")
		} else if t.asked.Performative() != performatives.ActCancel {
			if last, _ = t.first.Follow(s.Stamp(), performatives.Cancel{Reason: "the agent that asked has stopped"}); last != nil {
				a.peers.node.told.add(false, t.local, string(last.ID()))
			}
		}
		if last != nil {
			_ = a.link.session.Send(a.labelled(last)) // the session ends: the peer knows
		}
	}
	a.link.lose(talks, performatives.Failure{ErrorCode: performatives.CodeStopped})
}

// introduce takes what the peer says of itself, and reports whether m does so. A peer
// that has tools and does not name them is asked.
func (a *proxy) introduce(m *performatives.Message) bool {
	if m.Performative() != performatives.ActQueryCapabilities {
		return false
	}
	q, err := performatives.PayloadAs[performatives.QueryCapabilities](m)
	if err != nil || q.Capabilities == nil {
		return false
	}
	a.announce(*q.Capabilities)
	if len(q.Capabilities.Actions) == 0 && hasTools(*q.Capabilities) {
		a.ask(m)
	}
	return true
}

// announce lets the agents of the node find the peer, as long as it has anything to
// offer.
func (a *proxy) announce(c performatives.Capabilities) {
	offered := offers(c)
	if offered || a.known.Load() {
		a.left = !offered
		a.known.Store(offered)
		a.self.Announce(c)
	}
}

// offers reports whether the capabilities name a topic or an action.
func offers(c performatives.Capabilities) bool { return len(c.Topics)+len(c.Actions) > 0 }

// hasTools reports whether a peer says that it has tools: the capability of the
// gateway's initialize, true or an object.
func hasTools(c performatives.Capabilities) bool {
	switch tools := string(c.Extra["tools"]); tools {
	case "", "null", "false":
		return false
	}
	return true
}

// ask asks the peer what it can do.
func (a *proxy) ask(m *performatives.Message) {
	s := a.peers.node.system.Stamp()
	question, err := performatives.New(performatives.Envelope{
		ID: s.ID, Timestamp: s.Time, Sender: namespaceSystem, Receiver: a.id, ReplyWith: string(s.ID), Language: m.Language(),
		Ontology: performatives.OntologyCapabilityQuery, Payload: performatives.QueryCapabilities{Type: performatives.QuerySummary},
	})
	if err != nil || a.link.session.Send(question) != nil {
		return // it stays hidden, and may introduce itself again
	}
	a.asked = s.ID
}

// answered takes the answer to ask, and reports whether m is one.
func (a *proxy) answered(m *performatives.Message) bool {
	if a.asked == "" || m.InReplyTo() != string(a.asked) {
		return false
	}
	a.asked = ""
	if c, err := performatives.PayloadAs[performatives.InformCapabilities](m); err == nil && c.Capabilities != nil {
		a.announce(*c.Capabilities)
	}
	return true
}

// current reports whether the proxy speaks for the peer.
func (a *proxy) current() bool { return !a.retired.Load() }

func (a *proxy) isReady() bool {
	select {
	case <-a.ready:
		return true
	default:
		return false
	}
}

// stopAgent has the agent stop, and does not wait for it.
func (a *proxy) stopAgent() {
	if !a.failed {
		a.self.System().Engine().Root.Stop(a.self.PID())
	}
}

// hasStopped reports whether the agent has run and runs no more.
func (a *proxy) hasStopped() bool {
	if a == nil || !a.isReady() || a.failed {
		return false
	}
	current, runs := a.self.System().Lookup(a.id)
	return !runs || current != a.self
}

// renamed returns m from that sender, for that receiver.
func renamed(m *performatives.Message, from, to performatives.AgentID) *performatives.Message {
	copied, err := m.With(func(e *performatives.Envelope) { e.Sender, e.Receiver = from, to })
	if err != nil {
		return m // only an id that no agent could have
	}
	return copied
}
