package runtime

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/performatives"
)

// operationDrain is the operation of a REQUEST to the namespace system that has the node hand over its agents and leave.
const operationDrain = "drain"

// operation is the content of a REQUEST to the namespace system.
type operation struct {
	Operation string `json:"operation"`
	Node      string `json:"node"` // the name of the node that is to do it
}

// drained is the answer to a drain.
type drained struct {
	Node string `json:"node"`
	Lost string `json:"lost"` // which agents were not handed over; empty for none
}

// Drained returns a channel that is closed after an operator has requested a drain, the node has handed over its agents ([Node.HandOver]), and
// the operator was told of it. The program then stops its servers and the node. The request is a REQUEST to the namespace system, with the content
// {"operation":"drain","node":NAME}, of a principal of [PeerOptions.Operators].
func (p *Peers) Drained() <-chan struct{} { return p.drained }

// operate handles a REQUEST to the namespace system.
func (p *Peers) operate(l *peerLink, m *performatives.Message) error {
	o, err := performatives.PayloadAs[operation](m)
	switch {
	case err != nil:
		return p.node.recordRefusal(m, err)
	case o.Operation != operationDrain:
		return p.node.recordRefusal(m, refused(performatives.CodeIncapable, fmt.Sprintf("unknown operation %.64q: there is drain", o.Operation)))
	case !p.mayOperate(m.Principal()):
		p.node.system.Logger().Warn("a drain was refused: its sender is no operator", "agent", m.Sender(), "principal", m.Principal())
		return p.node.recordRefusal(m, refused(performatives.CodeForbidden, "only an operator of the node may drain it"))
	case !p.node.self.ID().Is(performatives.AgentID(o.Node)):
		return p.node.recordRefusal(m, refused(performatives.CodeUnknownAgent, fmt.Sprintf("this node is %s, not %.64q", p.node.Name(), o.Node)))
	}
	p.node.system.Logger().Info("an operator drains the node", "agent", m.Sender(), "principal", m.Principal())
	if err := p.reply(l, m, performatives.ActAgree, nil); err != nil {
		return err
	}
	p.node.system.Work(func() { p.handOver(l, m) })
	return nil
}

// handOver hands over the agents of the node and tells an operator the result. A copy of the request waits for the first, and is answered, too.
func (p *Peers) handOver(l *peerLink, m *performatives.Message) {
	ctx, cancel := context.WithTimeout(context.Background(), p.opts.DrainTime) //nolint:forbidigo // it ends here
	defer cancel()
	answer := drained{Node: p.node.Name()}
	if err := p.node.HandOver(ctx); err != nil {
		answer.Lost = strings.TrimPrefix(err.Error(), "runtime: ")
	}
	_ = p.reply(l, m, performatives.ActInform, answer) // the operator may have gone
	p.drain.Do(func() { close(p.drained) })
}

// mayOperate reports whether a principal is an operator of the node.
func (p *Peers) mayOperate(principal string) bool {
	id := performatives.AgentID(principal)
	return slices.ContainsFunc(p.opts.Operators, func(o performatives.AgentID) bool {
		return o == "*" || principal != "" && within(string(o.Fold()), string(id.Fold()))
	})
}
