package mesh

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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
	leaves    atomic.Bool             // the node has handed over its agents, and said so
	again     bool                    // it follows a link that was down for too long; guarded by Mesh.handover
	met       atomic.Bool             // the two nodes have met
	metBefore bool                    // they had met before the link was down for too long
	left      bool                    // the node has left in order; valid once the link has ended
	loss      actors.Loss             // the loss of its agents; guarded by Mesh.handover, and valid once the link has ended
	lost      []performatives.AgentID // the agents whose conversations were told of the loss, folded and sorted; valid once the link has ended

	agents map[performatives.AgentID]*nodeAgent // by folded id; guarded by Mesh.handover
	asked  map[uint64]chan note                 // by number, the questions to the node whose answers have not come; guarded by placer.mu

	differ atomic.Pointer[[]string] // sorted; the codons of which the two nodes have different versions; nil: none
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
	if differ := l.differ.Load(); differ != nil {
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
	if len(differ) == 0 {
		l.differ.Store(nil)
		return
	}
	differ = slices.Sorted(slices.Values(differ))
	if before := l.differ.Swap(&differ); before == nil || !slices.Equal(*before, differ) {
		l.node.System.Logger().Warn("the nodes have different versions of codons, whose messages are refused", "peer", l.peer.Name, "codons", differ)
	}
}

// Gone implements [route.Link].
func (l *nodeLink) Gone() string { return nodeLost(l.peer).ErrorText }

// receive routes a message of the other node, which has waited for some time since it was decided
// on last: see [route.Decide]. An error is counted, and told to the sender.
func (l *nodeLink) receive(m *performatives.Message, waited time.Duration) {
	l.BeginReceive()
	defer l.EndReceive()
	var err error
	for range maxDecisions {
		d := l.node.decide(view{l.node}, view{l.node}.Entry(m.Receiver()), m, l, waited)
		if d.Do == route.Wait {
			if !l.node.hold.Again(waited, d.Limit, func(next time.Duration) { l.receive(m, next) }) {
				l.answer(m, l.node.Relay.Refuse(m, d.Why))
			}
			return
		}
		if d.Learn != route.Nothing {
			l.cluster.heard.note(m.Sender(), heardOver{l, d.Learn})
		}
		var changed bool
		if changed, err = l.act(m, d); !changed {
			l.answer(m, err)
			return
		}
	}
	l.answer(m, l.node.Relay.Refuse(m, err))
}

// act acts on a decision about a message of the other node. It reports whether the decision was out
// of date, as [Mesh.act] does. The error is a [*performatives.Refusal], and the message is counted.
func (l *nodeLink) act(m *performatives.Message, d route.Decision) (changed bool, err error) {
	n := l.node
	switch d.Do { //nolint:exhaustive // it does not send a message of its own, nor wait
	case route.Refuse:
		err = d.Why
	case route.Broadcast:
		if err = n.broadcast(m, true); errors.Is(err, performatives.CodeUnknownAgent) { // the node has no agent for it
			return false, nil
		}
	case route.Activate:
		changed, err = n.activated(m, n.placer.activate(m.Receiver(), nil))
		if err == nil {
			return false, l.takeIn(m)
		}
	case route.Pass:
		on := d.Link.(*nodeLink) //nolint:forcetypeassert // view has no others
		err = on.Send(m.Forward())
		changed = err != nil && on.Ended()
	default:
		if r := d.Entry.Agent; m.Forwards() == 0 && r != nil && r.Destination() == nil {
			return false, l.DeliverTo(r, m)
		}
		return false, l.takeIn(m)
	}
	if err != nil && !changed {
		err = n.Relay.Refuse(m, err)
	}
	return changed, err
}

// takeIn delivers a message for an agent of this node. One that was passed on comes from where its
// sender is.
func (l *nodeLink) takeIn(m *performatives.Message) error {
	if m.Forwards() == 0 {
		return l.Deliver(m, m.Sender())
	}
	if from := l.node.Relay.LinkOf(m.Sender()); from != nil {
		return from.Deliver(m, m.Sender())
	}
	return l.node.System.Pass(m)
}

// ours reports whether an agent is of this node: of this process, or of one of its sessions.
func (n *Mesh) ours(r *actors.Registration) bool {
	_, elsewhere := r.Destination().(*nodeAgent)
	return !elsewhere
}

// answer tells the sender of a message that this copy of it was not delivered, unless it was.
func (l *nodeLink) answer(m *performatives.Message, err error) {
	if err == nil {
		return
	}
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
	delete(a.link.agents, a.Agent.Fold())
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
	return to.SendTo(m, a.Agent, relay.Unchanged)
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
