package sessions

import (
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/relay"
	"github.com/ribosome-agents/ribosome/wire"
)

// Agent is the destination of one agent of a peer.
type Agent struct {
	id           performatives.AgentID
	label        performatives.AgentID // by which the peer knows itself; another one than id for a guest
	principal    string                // that has claimed the id; empty without authentication
	link         *link
	registration *actors.Registration
	known        atomic.Bool  // the peer has introduced itself; registration is set
	health       atomic.Value // of [Host].Report; empty without a report

	waits atomic.Bool // for what it has asked by way of another node: see adopt
	mu    sync.Mutex
	held  []*performatives.Message // answers that wait for that; guarded by mu

	left bool // it has withdrawn its capabilities, and has sent nothing since; only the session's reader uses it
}

var _ relay.Destination = (*Agent)(nil)

// Principal returns the principal that has claimed the id; empty without authentication.
func (a *Agent) Principal() string { return a.principal }

// Listens reports whether the agent gets broadcasts that expect no reply though discovery excludes
// it: it has introduced itself without capabilities (addenda §9).
func (a *Agent) Listens() bool { return a.id == a.label }

// Health returns what [Host].Report has made of the agent's latest report; nil without one.
func (a *Agent) Health() any { return a.health.Load() }

// Via returns the link of the session.
func (a *Agent) Via() *relay.Link { return a.link.Link }

// Load returns that of the session.
func (a *Agent) Load() *actors.Load { return a.link.Link.Load() }

// Wait returns that of the session.
func (a *Agent) Wait() time.Duration { return a.link.session.Wait() }

// Deliver passes a message on to the peer. Once the peer has introduced itself, the node answers
// the Whispering Wind for it, and refuses requests in an ontology unknown to the peer.
func (a *Agent) Deliver(m *performatives.Message) error {
	if m.InReplyTo() != "" && a.waits.Load() {
		if held, err := a.hold(m); held || err != nil {
			return err
		}
	}
	switch {
	case !a.known.Load():
	case a.link.node.System.ProtocolOf(m) == discovery.WhisperName:
		a.whisper(m)
		return nil
	case m.InReplyTo() == "" && m.Performative().ExpectsReply():
		if r := a.registration.Describe().UnknownOntology(a.id, m); r != nil {
			a.link.node.System.RefuseWith(a.id, m, r)
			return nil
		}
	}
	return a.link.SendTo(m, nil, a.id, a.Labelled)
}

// maxHeld is the largest number of answers that wait for an adoption.
const maxHeld = 4096

// hold keeps an answer until Release is called. It reports false if that has been called.
func (a *Agent) hold(m *performatives.Message) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case !a.waits.Load():
		return false, nil
	case len(a.held) >= maxHeld:
		return true, m.Refused(performatives.CodeBusy, "the agent has just connected")
	}
	a.held = append(a.held, m)
	return true, nil
}

// Release sends the answers that have waited.
func (a *Agent) Release() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, m := range a.held {
		if err := a.link.SendTo(m, nil, a.id, a.Labelled); err != nil {
			a.link.node.System.DeadLetter(string(a.id), m, wire.AsRefusal(err).Code)
		}
	}
	a.held = nil
	a.waits.Store(false)
}

// whisper answers a query for the capabilities of the peer, and a CANCEL of one.
func (a *Agent) whisper(m *performatives.Message) {
	s := a.link.node.System
	act, answer := performatives.ActInform, any(performatives.Receipt{})
	if m.Performative() != performatives.ActCancel {
		q, err := performatives.PayloadAs[performatives.QueryCapabilities](m)
		if err == nil {
			answer, err = a.registration.Describe().Answer(q)
		}
		if err != nil {
			s.RefuseWith(a.id, m, wire.AsRefusal(err))
			return
		}
		act = performatives.ActInformCapabilities
	}
	if reply, err := m.ReplyFrom(a.id, s.Stamp(), act, answer); err == nil { // the error is an invalid stamp
		_ = s.Pass(reply) // Pass counts a reply that is not delivered
	}
}

// Labelled returns a message to the agent under the name by which the peer knows it. A peer with
// many agents is told for each.
func (a *Agent) Labelled(m *performatives.Message) *performatives.Message {
	if m.Receiver() != "" && a.label == a.id {
		return m
	}
	return m.Readdressed(m.Sender(), a.label)
}

// introduce takes what a QUERY_CAPABILITIES says of its sender: what it can do, how it is, and that
// it is to be told of changes of the answer. reports is true if the query has no other purpose than
// to say how the agent is.
func (p *Peers) introduce(l *link, a *Agent, m *performatives.Message) (introduces, reports bool) {
	if m.Performative() != performatives.ActQueryCapabilities {
		return false, false
	}
	q, err := performatives.PayloadAs[performatives.QueryCapabilities](m)
	if err != nil {
		return false, false
	}
	if q.Each {
		p.watch(l, a, m)
	}
	if c := q.Capabilities; c != nil {
		a.announce(*c)
	}
	health, reports := p.node.Report(q)
	if health != nil {
		a.health.Store(health)
	}
	return q.Capabilities != nil, reports
}

// announce lets the agents of the node find the peer, as long as it has anything to
// offer.
func (a *Agent) announce(c performatives.Capabilities) {
	offered := c.Offers()
	a.left = !offered
	if known := a.known.Load(); offered || known || c.Extra[MemberRegistration] != nil {
		if offered && known && reflect.DeepEqual(a.registration.Describe(), c) {
			return // a heartbeat, for example, changes nothing
		}
		a.known.Store(offered)
		a.registration.Announce(c)
	}
}
