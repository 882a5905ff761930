package mesh

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/cluster/directory"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/relay"
	"github.com/ribosome-agents/ribosome/runtime/internal/route"
	"github.com/ribosome-agents/ribosome/runtime/internal/sessions"
	"github.com/ribosome-agents/ribosome/wire"
)

// Route delivers m to its receiver, or to all agents when it has none: to destinations of the
// directory, to the other nodes, or beyond an uplink. It implements [actors.Router].
func (n *Mesh) Route(m *performatives.Message) error {
	return n.route(transit{m: m}, view{n}.Entry(m.Receiver()))
}

// RouteTo is Route for a message whose receiver was looked up a moment ago. r is nil if it is not
// in the directory, and from if the sender is to be looked up. It implements [actors.Remote].
func (n *Mesh) RouteTo(from, r *actors.Registration, m *performatives.Message) error {
	return n.route(transit{m: m, sender: from}, entryOf(r))
}

// transit is a message that the node routes, with what it knows of the way so far.
type transit struct {
	m      *performatives.Message
	sender *actors.Registration // of this process, as found a moment ago; nil: it is to be looked up
	from   *nodeLink            // to the node that has sent it; nil for a message of this node
	waited time.Duration        // since it was decided on last
	giveUp func(error)          // is called if a message of this node that has waited is not routed in the end; nil tells the sender
}

// maxDecisions is how often one message is decided on, at most, because what the node knows changes
// between a decision and the act.
const maxDecisions = 4

// route acts on the decision about a message to the agent of an entry. The error is a
// [*performatives.Refusal], which is not counted yet. A message that waits again is not an error.
func (n *Mesh) route(t transit, to route.Entry) (err error) {
	for range maxDecisions {
		d := n.decide(view{n}, to, t.m, way(t.from), t.waited)
		if d.Do == route.Wait && n.routeLater(t, d.Limit) {
			return nil
		}
		if d.Learn && d.Do != route.Wait {
			n.cluster.heard.note(t.m.Sender(), heardOver{t.from, true})
		}
		if d.Do == route.Wait || d.Do == route.Refuse {
			return t.m.Refused(d.Why.Code, d.Why.Text)
		}
		var changed bool
		if changed, err = n.act(t, d); !changed {
			return err
		}
		to = view{n}.Entry(t.m.Receiver())
	}
	return err
}

// The first wait of a message that cannot be routed yet, and how many messages may wait.
const (
	firstWait  = 10 * time.Millisecond
	maxWaiting = 1 << 12
)

// routeLater is route for a message after a wait that is twice as long as its last one: zero at
// first. It reports false if the next wait would be longer than limit, too many messages wait, or
// the node stops.
func (n *Mesh) routeLater(t transit, limit time.Duration) bool {
	t.sender, t.waited = nil, max(firstWait, 2*t.waited)
	if t.waited > limit || n.placer.ctx.Err() != nil {
		return false
	}
	if n.waiting.Add(1) > maxWaiting {
		n.waiting.Add(-1)
		return false
	}
	n.System.Work(func() {
		n.placer.pause(n.placer.ctx, t.waited)
		n.waiting.Add(-1)
		if t.from != nil {
			t.from.receive(t.m, t.waited)
			return
		}
		switch err := n.route(t, view{n}.Entry(t.m.Receiver())); {
		case err == nil:
		case t.giveUp != nil:
			t.giveUp(err)
		default:
			n.System.RefuseCopy(t.m.Receiver(), t.m, wire.AsRefusal(err))
		}
	})
	return true
}

// act acts on a decision, except for those to refuse a message or to have it wait. It reports
// whether the decision was out of date: an agent comes, stops or moves at that moment, or a link
// has ended.
func (n *Mesh) act(t transit, d route.Decision) (changed bool, err error) {
	m, from := t.m, t.from
	switch d.Do { //nolint:exhaustive // Send is below, and the others are the caller's
	case route.Broadcast:
		return false, n.broadcast(m, from != nil)
	case route.Activate:
		first := m
		if from != nil { // it has to be noted before
			first = nil
		}
		switch err = n.placer.activate(m.Receiver(), first); {
		case errors.Is(err, actors.ErrExists), errors.Is(err, actors.ErrStopped) && n.placer.draining.Load(): // by another message, or the node drains by now
			return true, m.Refused(performatives.CodeBusy, err.Error())
		case err != nil:
			return false, m.Refused(performatives.CodeStopped, err.Error())
		case from != nil:
			from.takeIn(m, nil)
		}
		return false, nil
	case route.Deliver, route.Beyond:
		switch {
		case from != nil:
			from.takeIn(m, d.Entry.Agent)
			return false, nil
		case d.Do == route.Beyond:
			return false, n.Sessions.Uplink().Deliver(m)
		}
		err = d.Entry.Agent.Deliver(m)
		return errors.Is(err, performatives.CodeUnknownAgent) || errors.Is(err, performatives.CodeStopped), err
	}
	l := d.Link.(*nodeLink) //nolint:forcetypeassert // view has no others
	switch {
	case d.Do == route.Pass:
		err = l.Send(m.Forward())
	case d.Entry.Agent != nil:
		err = l.SendTo(m, t.sender, d.Entry.Agent.ID(), relay.Unchanged)
	default:
		if d.First {
			l.cluster.heard.note(m.Receiver(), heardOver{l, false})
		}
		err = l.SendTo(m, t.sender, m.Receiver(), relay.Unchanged)
	}
	return err != nil && l.Ended(), err
}

// listens reports whether a hidden agent gets a broadcast.
func listens(r *actors.Registration, m *performatives.Message) bool {
	a, ok := r.Destination().(*sessions.Agent)
	return ok && a.Listens() && !m.Performative().ExpectsReply()
}

// broadcast delivers m to every agent of the directory except its sender. To the agents of other
// nodes goes one copy a node, unless m came from one. Each agent that cannot take m causes a
// refusal. When no agent can, the first refusal is returned as the error. A message that is too
// long for the links to other nodes reaches no agent.
func (n *Mesh) broadcast(m *performatives.Message, fromNode bool) error {
	var failed []*performatives.Refusal
	reached := false
	if !fromNode {
		for _, l := range *n.cluster.current.Load() {
			err := l.Send(m)
			if errors.Is(err, performatives.CodeInvalidPayload) { // no link can carry it
				return err
			}
			reached = err == nil || reached
		}
	}
	for agent := range n.System.Registered() {
		if agent.ID().Is(m.Sender()) || !n.ours(agent) || !agent.Visible() && !listens(agent, m) {
			continue
		}
		switch err := n.System.Deliver(agent.ID(), m); {
		case err == nil:
			reached = true
		case !errors.Is(err, performatives.CodeUnknownAgent): // else it has gone, or does not run yet
			refusal := wire.AsRefusal(err)
			refusal.From = agent.ID()
			failed = append(failed, refusal)
		}
	}
	slices.SortFunc(failed, func(a, b *performatives.Refusal) int { return cmp.Compare(a.From, b.From) }) // Agents has no order
	var first error
	switch {
	case reached:
	case len(failed) > 0:
		first, failed = failed[0], failed[1:]
	case fromNode: // which may have an agent for it
	default:
		return &performatives.Refusal{Code: performatives.CodeUnknownAgent, About: m.ID(), Text: "there is no agent to broadcast to"}
	}
	for _, f := range failed {
		n.System.RefuseCopy(f.From, m, f)
	}
	return first
}

// view is what the node knows, for decisions about messages.
type view struct{ n *Mesh }

var _ route.View = view{}

// way returns a link as that of package route, where no link is nil.
func way(l *nodeLink) route.Link {
	if l == nil {
		return nil
	}
	return l
}

// Entry implements [route.View].
func (v view) Entry(id performatives.AgentID) route.Entry {
	r, _ := v.n.System.Find(id)
	return entryOf(r)
}

// entryOf returns a registration as an entry; nil is that of no agent.
func entryOf(r *actors.Registration) route.Entry {
	if r == nil {
		return route.Entry{}
	}
	if a, ok := r.Destination().(*nodeAgent); ok {
		return route.Entry{Agent: r, Home: a.link, Link: a.over(), Placed: a.Placed}
	}
	return route.Entry{Agent: r, Roams: r.Destination() != nil}
}

// Heard implements [route.View].
func (v view) Heard(id performatives.AgentID) route.Link {
	return way(v.n.cluster.heard.from(id))
}

// Host implements [route.View].
func (v view) Host(id performatives.AgentID, except route.Link) route.Host {
	l, _ := except.(*nodeLink)
	return v.n.placer.pick(id, l)
}

// RunsElsewhere implements [route.View]. If the directory has the agent at another node, and it is
// not registered here, that node has not joined yet: the others may know it already. To activate
// the agent here would begin a second run of it.
func (v view) RunsElsewhere(id performatives.AgentID) bool {
	c := v.n.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.replica.Lookup(id), func(e directory.Entry) bool { return e.Placed && e.Owner != c.self })
}

// HandedTo implements [route.View].
func (v view) HandedTo(id performatives.AgentID) (route.Link, bool) {
	c := v.n.cluster
	c.mu.Lock()
	to := c.handed[id.Fold()]
	c.mu.Unlock()
	if to == nil {
		return nil, false
	}
	return way(c.linkTo(*to)), true
}

// Run implements [route.View].
func (v view) Run(id performatives.AgentID) route.Run {
	r := v.n.placer.runOf(id)
	return route.Run{Number: r.Since, Leaves: r.leaving}
}

// Uplink implements [route.View].
func (v view) Uplink() (there, connected bool) {
	u := v.n.Sessions.Uplink()
	return u != nil, u.Connected()
}

// HasRun implements [route.View].
func (v view) HasRun(id performatives.AgentID) bool {
	return v.n.System.HasRun(id) || v.n.placer.ctx.Err() != nil
}

// Unreachable implements [route.View].
func (v view) Unreachable(id performatives.AgentID) string {
	c := v.n.cluster
	l := c.heard.overOf(id).link
	if l == nil || !l.Ended() || slices.ContainsFunc(*c.current.Load(), func(now *nodeLink) bool { return now.peer.Name == l.peer.Name && now.met.Load() }) {
		return ""
	}
	return l.Gone()
}

// Name implements [route.View].
func (v view) Name() string { return v.n.Name() }
