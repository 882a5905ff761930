package runtime

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/cluster/directory"
	"github.com/ribosome-agents/ribosome/performatives"
)

// nodeLink is the link to one incarnation of another node.
type nodeLink struct {
	*link
	cluster   *clustered
	peer      cluster.Incarnation
	leaves    atomic.Bool             // the node has handed over its agents, and said so
	again     bool                    // it follows a link that was down for too long; guarded by Node.handover
	met       atomic.Bool             // the two nodes have met
	metBefore bool                    // they had met before the link was down for too long
	left      bool                    // the node has left in order; valid once the link has ended
	loss      actors.Loss             // the loss of its agents; guarded by Node.handover, and valid once the link has ended
	lost      []performatives.AgentID // the agents whose conversations were told of the loss, folded and sorted; valid once the link has ended

	agents map[performatives.AgentID]*nodeAgent // by folded id; guarded by Node.handover

	differ atomic.Pointer[map[string]struct{}] // the codons of which the two nodes have different versions; nil: none
}

var _ messageSender = (*nodeLink)(nil)

// beginLossLocked ends the link, unless it has ended. What agents of this node open from now on is
// not lost with it.
func (l *nodeLink) beginLossLocked() {
	if l.close() {
		l.loss = l.node.system.BeginLoss()
	}
}

// toldSender reports whether the sender of a message that has not left for the other node was told
// that its receiver is lost.
func (l *nodeLink) toldSender(m *performatives.Message) bool {
	if !l.ended() || l.left || m.Forwards() > 0 { // the sender is of another node
		return false
	}
	_, lost := slices.BinarySearch(l.lost, m.Receiver().Fold())
	return lost || !l.node.system.Conversing(m.Sender(), m.ConversationID(), m.Receiver()) // its record has ended
}

// Send queues a message for the other node. It refuses one of a codon of which the nodes have
// different versions.
func (l *nodeLink) Send(m *performatives.Message) error {
	if differ := l.differ.Load(); differ != nil {
		codon := l.node.codonOf(m)
		if _, differs := (*differ)[codon]; differs {
			return refusedCopy(m, performatives.CodeIncapable,
				fmt.Sprintf("the nodes %s and %s have different versions of the codon %s", l.node.Name(), l.peer.Name, codon))
		}
	}
	return l.cluster.links.Send(l.peer, m)
}

// codonOf returns the name of the codon that a message belongs to; empty: none is known.
func (n *Node) codonOf(m *performatives.Message) string {
	if name := m.Protocol(); name != "" {
		return name
	}
	return n.system.ProtocolOf(m)
}

// connected notes the codons of which the two nodes have different versions, each time that they
// have met. The calls come one at a time.
func (l *nodeLink) connected(differ []string) {
	l.met.Store(true)
	l.cluster.linked.Store(true)
	var before []string
	if last := l.differ.Load(); last != nil {
		before = slices.Sorted(maps.Keys(*last))
	}
	if len(differ) == 0 {
		l.differ.Store(nil)
		return
	}
	names := make(map[string]struct{}, len(differ))
	for _, name := range differ {
		names[name] = struct{}{}
	}
	l.differ.Store(&names)
	if !slices.Equal(before, slices.Sorted(slices.Values(differ))) {
		l.node.system.Logger().Warn("the nodes have different versions of codons, whose messages are refused", "peer", l.peer.Name, "codons", differ)
	}
}

// receive routes a message of the other node to an agent of this one, or to one beyond an uplink of
// this one. It is passed on to a third node only for a placed agent, or as an answer to a placed
// agent whose request this node has passed on. At most maxForwards nodes do so: a directory that is
// out of date makes no loop.
func (l *nodeLink) receive(m *performatives.Message) { l.receiveAgain(m, 0) }

// receiveAgain is receive for a message that could not be routed at first. waited is how long it
// has waited since the last attempt; zero means that this is the first one.
func (l *nodeLink) receiveAgain(m *performatives.Message, waited time.Duration) {
	err, limit := l.receiveOnce(m, waited), longWait
	switch {
	case !waits(err):
		return
	case errors.Is(err, errStranger), errors.Is(err, errStray):
		limit = strangerWait
	}
	if !l.node.placer.later(waited, limit, func(next time.Duration) { l.receiveAgain(m, next) }) {
		l.answer(m, l.node.recordRefusal(m, err))
	}
}

// The refusals of messages that may be routed in a while.
var (
	errUnsettled = refused(performatives.CodeBusy, "the agent moves, and this node does not know where it is")
	errStranger  = refused(performatives.CodeBusy, "another node has passed the message on, and this node does not know where its sender is")
	errStray     = refused(performatives.CodeStopped, "the node by which the agent was reached has gone")
)

// waits reports whether a message that was not routed for that reason may be in a while.
func waits(err error) bool {
	return errors.Is(err, errUnsettled) || errors.Is(err, errStranger) || errors.Is(err, errStray)
}

// receiveOnce routes a message. It reports an error that waits says, or has answered the sender.
func (l *nodeLink) receiveOnce(m *performatives.Message, waited time.Duration) error {
	l.receiving.Lock()
	defer l.receiving.Unlock()
	if l.over && m.Forwards() == 0 { // the conversations have lost their peers; a message that was passed on belongs to a peer on a third node
		return l.node.recordRefusal(m, errNodeGone)
	}
	err := l.route(m, waited)
	if err != nil && !waits(err) {
		l.answer(m, err)
	}
	return err
}

// route delivers a message of the other node. The error is a [*performatives.Refusal], and the
// message is counted, unless it waits.
func (l *nodeLink) route(m *performatives.Message, waited time.Duration) error {
	n, to := l.node, m.Receiver()
	switch err := l.hear(m, waited); {
	case waits(err):
		return err
	case err != nil:
		return n.recordRefusal(m, err)
	}
	if to == "" {
		if err := n.broadcast(m, true); err != nil && !errors.Is(err, performatives.CodeUnknownAgent) { // else the node has no agent for it
			return n.recordRefusal(m, err)
		}
		return nil
	}
	receiver, ok := n.system.Find(to)
	begun := false
	if !ok {
		var err error
		if begun, err = n.placer.begin(m, l, waited); waits(err) {
			return err
		} else if err != nil {
			return n.recordRefusal(m, err)
		}
	}
	if begun || ok && n.ours(receiver) || !ok && n.uplinkFor(to) != nil {
		return l.takeIn(m)
	}
	on := l.whereIs(m, receiver)
	_, placed := n.placer.pick(to)
	passes := opensAnything(m) && (placed || !ok) || !placed && m.InReplyTo() != ""
	switch {
	case on != nil && (m.Forwards() < maxForwards || waited > 0) && passes:
		switch err := on.Send(m.Forward()); {
		case err == nil:
			return nil
		case on.ended() && (opensAnything(m) && placed || l.cluster.strays(to)):
			return errUnsettled
		default:
			return n.recordRefusal(m, err)
		}
	case placed && opensAnything(m): // it is on its way, and not all nodes know where
		return errUnsettled
	case l.cluster.strays(to):
		return errStray
	case ok:
		return n.recordRefusal(m, refused(performatives.CodeStopped, fmt.Sprintf("the agent %q is not on the node %s", to, n.Name())))
	case n.system.HasRun(to):
		return n.recordRefusal(m, n.stopped(to))
	}
	return n.recordRefusal(m, refused(performatives.CodeUnknownAgent, fmt.Sprintf("there is no agent %q on the node %s", to, n.Name())))
}

// hear checks the sender of a message of the other node, which has waited so long, and remembers
// the link for replies. It reports errStranger for a request that was passed on while this node
// does not know yet where its sender is: a node that has just begun may host an agent before it
// knows all others.
func (l *nodeLink) hear(m *performatives.Message, waited time.Duration) error {
	n := l.node
	run := n.placer.runOf(m.Sender()) // before the directory, which an agent that moves leaves first
	sender, known := n.system.Find(m.Sender())
	switch {
	case m.Forwards() > 0: // the node by which it entered has checked it
		switch {
		case known || !m.Performative().ExpectsReply() || l.cluster.heard.from(m.Sender()) != nil:
		case waited < strangerWait:
			return errStranger
		case l.over:
			return errNodeGone
		default:
			l.cluster.heard.note(m.Sender(), heardOver{l, true})
		}
	case m.Activation() != 0 && m.Activation() < run.number: // of an earlier run, which that node has handed over
	case m.Activation() > run.number && run.offered: // of the next run, of which that node has yet to tell
	case known && n.ours(sender):
		return refused(performatives.CodeForbidden, fmt.Sprintf("an agent %q runs on the node %s, too", m.Sender(), n.Name()))
	case !known, m.Performative().ExpectsReply() && n.partyOf(m.Sender()).via != l.link:
		l.cluster.heard.note(m.Sender(), heardOver{l, false})
	}
	return nil
}

// takeIn delivers a message for an agent of this node. One that was passed on comes from where its
// sender is.
func (l *nodeLink) takeIn(m *performatives.Message) error {
	if m.Forwards() == 0 {
		return l.deliver(m, m.Sender())
	}
	if from := l.node.partyOf(m.Sender()); from.via != nil {
		return from.via.deliver(m, m.Sender())
	}
	return l.node.system.Pass(m)
}

// ours reports whether an agent is of this node: of this process, or of one of its sessions.
func (n *Node) ours(r *actors.Registration) bool {
	_, elsewhere := r.Destination().(*nodeAgent)
	return !elsewhere
}

// answer tells the sender of a message that this copy of it was not delivered.
func (l *nodeLink) answer(m *performatives.Message, err error) {
	r := asRefusal(err)
	from := r.From
	if from == "" {
		from = m.Receiver()
	}
	if from == "" {
		from = l.node.self.ID()
	}
	refusal := m.RefuseCopy(from, l.node.system.Stamp(), r)
	switch {
	case refusal == nil:
		return // it is a dead letter, and counted
	case m.Forwards() > 0: // the sender is of another node
		_ = l.node.system.Pass(refusal) // an error is counted
		return
	}
	if err := l.cluster.links.Send(l.peer, refusal); err != nil {
		l.node.system.DeadLetter(string(refusal.Receiver()), refusal, asRefusal(err).Code)
	}
}

// whereIs returns the link to the node of an agent of another node. The agent runs at that node, is
// to be activated there if it is placed, or was heard there if it is not in the directory. Nil
// means none but the node at the other end of l, the sender of the message. It is l if only that
// node hosts the agent's kind, and does not run the agent any more: it sees by the way of the
// message that this one does not.
func (l *nodeLink) whereIs(m *performatives.Message, r *actors.Registration) *nodeLink {
	c, id := l.cluster, m.Receiver()
	if r != nil {
		a, ok := r.Destination().(*nodeAgent)
		switch {
		case !ok:
			return nil
		case a.link != l:
			return a.link
		case !a.placed: // else it has left there
			return nil
		}
	}
	if heard := c.heard.from(id); heard != nil && heard != l {
		return heard
	}
	to, handed := c.handedTo(id)
	if handed && to != l.peer {
		return c.linkTo(to)
	}
	at, _ := c.node.placer.pickFor(m, l)
	if at.link == nil && !at.here && !handed { // the only host took this node for one, which drains
		at, _ = c.node.placer.pick(id)
	}
	return at.link
}

// nodeAgent is the destination of an agent of another node.
type nodeAgent struct {
	id           performatives.AgentID
	link         *nodeLink
	registration *actors.Registration
	moves        bool             // it belongs to a session of that node
	placed       bool             // it is of a kind
	principal    directory.Digest // it does, and its peer has authenticated as that
	digest       directory.Digest // of the capabilities that are announced; guarded by Node.handover
}

var _ remote = (*nodeAgent)(nil)

func (a *nodeAgent) via() *link { return a.over().link }

// over returns the link to the agent: the one over which it was heard since the directory was
// corrected, or else that of the directory.
func (a *nodeAgent) over() *nodeLink {
	if later := a.link.cluster.heard.from(a.id); later != nil {
		return later
	}
	return a.link
}

// Load returns that of the link.
func (a *nodeAgent) Load() *actors.Load { return &a.link.load }

// Wait returns that of the link.
func (a *nodeAgent) Wait() time.Duration {
	to := a.over()
	return to.cluster.links.Wait(to.peer)
}

// gone returns the refusal of a message for an agent of the node, which is being given up.
func (l *nodeLink) gone() *performatives.Refusal {
	return refused(performatives.CodeStopped, nodeLost(l.peer).ErrorText)
}

// Deliver passes a message on to the agent's node. While that node is being given up, a message
// that may be the first for a placed agent waits. It waits until the directory has the agent there
// no more.
func (a *nodeAgent) Deliver(m *performatives.Message) error {
	to := a.over()
	switch {
	case !to.ended(): // should it end now, the router looks the agent up again
		return to.send(m, a.id, a.labelled)
	case a.placed && to.sendLater(m):
		return nil
	}
	return refusedCopy(m, performatives.CodeStopped, to.gone().Text)
}

// sendLater routes a message for a placed agent anew, in a while, that the link has not taken
// because it has ended. It reports false if the message is for a run that has ended, or too many
// wait.
func (l *nodeLink) sendLater(m *performatives.Message) bool {
	p := l.node.placer
	giveUp := func() { l.undelivered(m, l.gone()) }
	return opensAnything(m) && p.later(0, longWait, func(waited time.Duration) { p.routeAfter(m, waited, giveUp) })
}

// announce lets discovery find the agent, as long as it is to be found.
func (a *nodeAgent) announce(w wanted) {
	var capabilities performatives.Capabilities
	digest := w.entry.Digest
	switch {
	case w.capabilities == nil:
		digest = directory.Digest{}
	case json.Unmarshal(w.capabilities, &capabilities) != nil: // of a later version, perhaps
		a.link.node.system.Logger().Warn("the capabilities of an agent were not understood", "agent", a.id, "peer", a.link.peer.Name)
	}
	if a.digest != digest {
		a.digest = digest
		a.registration.Announce(capabilities)
	}
}

// labelled returns m: the other node knows its agents by their ids.
func (*nodeAgent) labelled(m *performatives.Message) *performatives.Message { return m }
