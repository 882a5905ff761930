package runtime

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// router routes messages to their destinations: of the directory, or beyond an [Uplink].
type router struct{ n *Node }

// Route delivers m to its receiver, or to all agents when it has none. If this node has only heard
// of an agent over a link that has ended, a message for the agent waits until this node knows the
// agent's node.
func (r router) Route(m *performatives.Message) error {
	if m.Receiver() == "" {
		return r.n.broadcast(m, false)
	}
	err := r.route(m)
	if err == nil || !r.n.cluster.Load().strays(m.Receiver()) {
		return err
	}
	refuse := func() {
		why := asRefusal(err)
		r.n.system.RefuseCopy(m.Receiver(), m, why)
	}
	if r.n.placer.later(0, strangerWait, func(waited time.Duration) { r.n.placer.routeAfter(m, waited, refuse) }) {
		return nil
	}
	return err
}

// knows reports whether the router has a way to an agent: to one of the directory, to one heard
// over a link and not in the directory yet, or to one that a kind places. Ids beyond an uplink are
// not among them, because an uplink may have all ids that are unknown.
func (n *Node) knows(id performatives.AgentID) bool {
	if _, ok := n.system.Find(id); ok {
		return true
	}
	if c := n.cluster.Load(); c.heardFrom(id) != nil || c.strays(id) {
		return true
	}
	_, placed := n.placer.pick(id)
	return placed
}

// route delivers m to its receiver, now.
func (r router) route(m *performatives.Message) error {
	here, err := r.deliver(m)
	if err == nil || here {
		return err
	}
	if l := r.n.cluster.Load().heardFrom(m.Receiver()); l != nil {
		if err = l.send(m, m.Receiver(), unchanged); err == nil || !l.ended() {
			return err
		}
	}
	if handled, err := r.n.placer.route(m); handled {
		return err
	}
	if u := r.n.uplinkFor(m.Receiver()); u != nil && (u.Connected() || !r.n.system.HasRun(m.Receiver())) {
		return u.deliver(m)
	}
	if text := r.n.cluster.Load().unreachable(m.Receiver()); text != "" {
		return refusedCopy(m, performatives.CodeStopped, text)
	}
	return err
}

// deliver delivers m to an agent of the directory, and reports whether it is there. An agent that
// comes, stops or moves at that moment is looked up again.
func (r router) deliver(m *performatives.Message) (here bool, err error) {
	for range 3 {
		if err = r.n.system.Deliver(m.Receiver(), m); err == nil {
			return true, nil
		}
		_, here = r.n.system.Find(m.Receiver())
		if !here || !errors.Is(err, performatives.CodeUnknownAgent) && !errors.Is(err, performatives.CodeStopped) {
			break
		}
	}
	return here, err
}

// broadcast delivers m to every agent of the directory except its sender. To the agents of other
// nodes goes one copy a node, unless m came from one. Each agent that cannot take m causes a
// refusal. When no agent can, the first refusal is returned as the error. A message that is too
// long for the links to other nodes reaches no agent.
func (n *Node) broadcast(m *performatives.Message, fromNode bool) error {
	var failed []*performatives.Refusal
	reached := false
	if !fromNode {
		var err error
		if reached, err = n.cluster.Load().broadcast(m); err != nil {
			return err
		}
	}
	for agent := range n.system.Agents() {
		if agent.ID().Is(m.Sender()) || !n.ours(agent) {
			continue
		}
		var refusal *performatives.Refusal
		if err := n.system.Deliver(agent.ID(), m); errors.As(err, &refusal) {
			refusal.From = agent.ID() // Deliver leaves it empty for an unknown agent
			failed = append(failed, refusal)
			continue
		}
		reached = true
	}
	slices.SortFunc(failed, func(a, b *performatives.Refusal) int { return cmp.Compare(a.From, b.From) }) // Agents has no order
	var first error
	switch {
	case reached:
	case len(failed) > 0:
		first, failed = failed[0], failed[1:]
	default:
		return &performatives.Refusal{Code: performatives.CodeUnknownAgent, About: m.ID(), Text: "there is no agent to broadcast to"}
	}
	for _, f := range failed {
		n.system.RefuseCopy(f.From, m, f)
	}
	return first
}
