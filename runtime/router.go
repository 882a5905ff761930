package runtime

import (
	"cmp"
	"errors"
	"slices"

	"github.com/ribosome-agents/ribosome/performatives"
)

// router finds the receivers of messages: here, elsewhere, or nowhere. Elsewhere is where
// the node's [Uplink] leads, if it has one.
type router struct{ n *Node }

// Route delivers m to its receiver, or to everybody when it has none.
func (r router) Route(m *performatives.Message) error {
	if m.Receiver() == "" {
		return r.broadcast(m)
	}
	err := r.n.system.Deliver(m.Receiver(), m)
	if err == nil {
		return nil
	}
	if up := r.n.uplink.Load(); up != nil && !r.n.system.Knew(m.Receiver()) {
		return up.route(m)
	}
	return err
}

// broadcast delivers m to every agent of the directory but its sender. Those that
// cannot take it refuse it, each for itself; when nobody could, the sender learns of the
// first at once.
func (r router) broadcast(m *performatives.Message) error {
	var failed []*performatives.Refusal
	reached := false
	for agent := range r.n.system.Agents() {
		if agent.ID().Is(m.Sender()) {
			continue
		}
		var refusal *performatives.Refusal
		if err := r.n.system.Deliver(agent.ID(), m); errors.As(err, &refusal) {
			refusal.From = agent.ID() // also of one that has just stopped
			failed = append(failed, refusal)
			continue
		}
		reached = true
	}
	slices.SortFunc(failed, func(a, b *performatives.Refusal) int { return cmp.Compare(a.From, b.From) }) // the agents come in no order
	var first error
	switch {
	case reached:
	case len(failed) > 0:
		first, failed = failed[0], failed[1:]
	default:
		return &performatives.Refusal{Code: performatives.CodeUnknownAgent, About: m.ID(), Text: "there is nobody to broadcast to"}
	}
	for _, f := range failed {
		r.n.system.Refuse(f.From, m, f.Code, f.Text)
	}
	return first
}
