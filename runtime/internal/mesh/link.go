package mesh

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/cluster/directory"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/relay"
	"github.com/ribosome-agents/ribosome/runtime/internal/route"
	"github.com/ribosome-agents/ribosome/runtime/internal/sessions"
	"github.com/ribosome-agents/ribosome/wire"
)

// nodeLink is the link to one incarnation of another node.
type nodeLink struct {
	*relay.Link
	node      *Mesh
	cluster   *clustered
	peer      cluster.Incarnation
	leaves    atomic.Bool              // the node has handed over its agents, and said so
	before    atomic.Pointer[nodeLink] // the link that was down for too long, which this one follows; nil for the first
	met       atomic.Bool              // the two nodes have met
	metBefore bool                     // they had met before the link was down for too long
	left      bool                     // the node has left in order; valid once the link has ended
	loss      actors.PeerLoss          // the loss of its agents; guarded by Mesh.handover, and valid once the link has ended
	lost      []performatives.AgentID  // the agents whose conversations were told of the loss, folded and sorted; valid once the link has ended

	agents sync.Map                            // the *nodeAgents of the directory, by folded id; it changes with Mesh.handover
	asked  map[performatives.AgentID]chan note // by the agent, the questions to the node whose answers have not come; guarded by placer.mu

	differ atomic.Pointer[[]string] // sorted; the codons of which the two nodes have different versions; nil until they have met
}

var _ relay.Sender = (*nodeLink)(nil)

// beginLossLocked ends the link, unless it has ended. What agents of this node open from now on is
// not lost with it.
func (l *nodeLink) beginLossLocked() {
	if l.Close() {
		l.loss = l.node.System.BeginLoss()
	}
}

// toldSender reports whether the sender of a message that has not left for the other node was told
// that its receiver is lost.
func (l *nodeLink) toldSender(m *performatives.Message) bool {
	if !l.Ended() || l.left || m.Forwards() > 0 { // the sender is of another node
		return false
	}
	_, lost := slices.BinarySearch(l.lost, m.Receiver().Fold())
	s := l.node.System
	return lost || !s.Conversing(m.Sender(), m.ConversationID(), m.Receiver()) && !s.AccountsFor(m) // its record has ended
}

// Send queues a message for the other node. It refuses one of a codon of which the nodes have
// different versions.
func (l *nodeLink) Send(m *performatives.Message) error {
	if differ := l.differ.Load(); differ != nil && len(*differ) > 0 {
		if codon := cmp.Or(m.Protocol(), l.node.System.ProtocolOf(m)); slices.Contains(*differ, codon) {
			return m.Refused(performatives.CodeIncapable,
				fmt.Sprintf("the nodes %s and %s have different versions of the codon %s", l.node.Name(), l.peer.Name, codon))
		}
	}
	return l.cluster.links.Send(l.peer, m)
}

// connected notes the codons of which the two nodes have different versions, each time that they
// have met. The calls come one at a time.
func (l *nodeLink) connected(differ []string) {
	l.met.Store(true)
	l.cluster.linked.Store(true)
	differ = slices.Sorted(slices.Values(differ))
	if before := l.differ.Swap(&differ); len(differ) > 0 && (before == nil || !slices.Equal(*before, differ)) {
		l.node.System.Logger().Warn("the nodes have different versions of codons, whose messages are refused", "peer", l.peer.Name, "codons", differ)
	}
}

// Gone implements [route.Link].
func (l *nodeLink) Gone() string { return nodeLost(l.peer).ErrorText }

// Leads implements [route.Link].
func (l *nodeLink) Leads(id performatives.AgentID) bool {
	_, there := l.agents.Load(id.Fold())
	return there && cmp.Or(l.cluster.heard.from(id), l) == l
}

// receive routes a message of the other node, which has waited for some time since it was decided
// on last: see [route.Decide]. An error is counted, and told to the sender. The result is that of
// [nodelink.Handler].Received.
func (l *nodeLink) receive(m *performatives.Message, waited time.Duration) (pause time.Duration) {
	l.Receiving.Lock()
	defer l.Receiving.Unlock()
	to := view{l.node}.Entry(m.Receiver())
	if err := l.node.route(transit{m: m, from: l, waited: waited}, to); err != nil {
		l.answer(m, l.node.Relay.Refuse(m, err))
	}
	return l.node.System.Pause(m, to.Agent)
}

// takeIn delivers a message of the other node for an agent of this one: r, nil for one that is just
// activated, or beyond an uplink. One that was passed on comes from where its sender is. An error
// is counted, and told to the sender.
func (l *nodeLink) takeIn(m *performatives.Message, r *actors.Registration) {
	from := l.Link
	if m.Forwards() > 0 {
		from = l.node.Relay.LinkOf(m.Sender())
	}
	var err error
	switch {
	case from == nil:
		err = l.node.System.Pass(m)
	case from == l.Link && r != nil && r.Destination() == nil:
		err = l.DeliverTo(r, m)
	default:
		err = from.Deliver(m, m.Sender())
	}
	if err != nil {
		l.answer(m, err)
	}
}

// ours reports whether an agent is of this node: of this process, or of one of its sessions.
func (n *Mesh) ours(r *actors.Registration) bool {
	_, elsewhere := r.Destination().(*nodeAgent)
	return !elsewhere
}

// answer tells the sender of a message that this copy of it was not delivered.
func (l *nodeLink) answer(m *performatives.Message, err error) {
	r := wire.AsRefusal(err)
	refusal := m.RefuseCopy(cmp.Or(r.From, m.Receiver(), l.node.self), l.node.System.Stamp(), r)
	switch {
	case refusal == nil:
		return // it is a dead letter, and counted
	case m.Forwards() > 0 && route.Knows(view{l.node}, m.Sender()): // else the node that has passed it on knows the sender
		_ = l.node.System.Pass(refusal) // an error is counted
		return
	}
	if err := l.cluster.links.Send(l.peer, refusal); err != nil {
		l.node.System.DeadLetter(string(refusal.Receiver()), refusal, wire.AsRefusal(err).Code)
	}
}

// nodeAgent is the destination of an agent of another node.
type nodeAgent struct {
	directory.Entry // as of its registration
	link            *nodeLink
	registration    *actors.Registration
	announced       directory.Digest // of the capabilities that are announced; guarded by Mesh.handover
}

var _ sessions.Elsewhere = (*nodeAgent)(nil)

// Node returns the name of the agent's node.
func (a *nodeAgent) Node() string { return a.link.peer.Name }

// Moves reports whether the agent belongs to a session of its node.
func (a *nodeAgent) Moves() bool { return a.Entry.Moves }

// ClaimedBy reports whether a principal may take the agent over.
func (a *nodeAgent) ClaimedBy(principal string) bool {
	return a.Principal == directory.Digest{} || a.Principal == principalOf(principal)
}

// Leave takes the agent off its link, which it returns: a session of this node has taken it over.
func (a *nodeAgent) Leave() *relay.Link {
	a.link.agents.Delete(a.Agent.Fold())
	return a.link.Link
}

// Via returns the link to the agent.
func (a *nodeAgent) Via() *relay.Link { return a.over().Link }

// over returns the link to the agent: the one over which it was heard since the directory was
// corrected, or else that of the directory.
func (a *nodeAgent) over() *nodeLink {
	if later := a.link.cluster.heard.from(a.Agent); later != nil {
		return later
	}
	return a.link
}

// Load returns that of the link.
func (a *nodeAgent) Load() *actors.Load { return a.link.Load() }

// Wait returns that of the link.
func (a *nodeAgent) Wait() time.Duration {
	to := a.over()
	return to.cluster.links.Wait(to.peer)
}

// Deliver passes a message on to the agent's node.
func (a *nodeAgent) Deliver(m *performatives.Message) error {
	to := a.over()
	if to.Ended() {
		return m.Refused(performatives.CodeStopped, to.Gone())
	}
	return to.SendTo(m, nil, a.Agent, relay.Unchanged)
}

// announce lets discovery find the agent, as long as it is to be found.
func (a *nodeAgent) announce(w wanted) {
	var capabilities performatives.Capabilities
	digest := w.entry.Digest
	switch {
	case w.capabilities == nil:
		digest = directory.Digest{}
	case json.Unmarshal(w.capabilities, &capabilities) != nil: // of a later version, perhaps
		a.link.node.System.Logger().Warn("the capabilities of an agent were not understood", "agent", a.Agent, "peer", a.link.peer.Name)
	}
	if a.announced != digest {
		a.announced = digest
		a.registration.Announce(capabilities)
	}
}

// Labelled returns m: the other node knows its agents by their ids.
func (*nodeAgent) Labelled(m *performatives.Message) *performatives.Message { return m }
