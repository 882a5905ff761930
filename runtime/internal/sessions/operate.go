package sessions

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/namespace"
)

// operationDrain is the operation of a REQUEST to the namespace system that has the node hand over
// its agents and leave.
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

// Drained returns a channel that is closed when the node has handed over its agents, by
// [Node.HandOver], because an operator has requested it. The program then stops its servers and the
// node. An operator is a principal of [PeerOptions.Operators]. The request is a REQUEST to the
// namespace system, with the content {"operation":"drain","node":NAME}, or a call of [Peers.Drain].
func (p *Peers) Drained() <-chan struct{} { return p.drained }

// errNoOperator is the refusal of a drain.
var errNoOperator = refused(performatives.CodeForbidden, "only an operator of the node may drain it")

// Drain hands over the agents of the node for an operator, by [Node.HandOver] within
// [PeerOptions.DrainTime], and then closes the channel of [Peers.Drained]. It waits for the end of
// that: lost says which agents were not handed over, and is empty for none. Further calls wait for
// the same.
//
// The error is a [*performatives.Refusal] with [performatives.CodeForbidden] if the principal is no
// operator, and the cause of ctx if that ends first. The node then goes on to drain.
func (p *Peers) Drain(ctx context.Context, principal string) (lost string, err error) {
	if !p.beginDrain(principal, "") {
		return "", errNoOperator
	}
	done := make(chan string, 1)
	p.node.System.Work(func() {
		done <- p.handOver()
		p.endDrain()
	})
	select {
	case lost = <-done:
		return lost, nil
	case <-ctx.Done():
	}
	select {
	case lost = <-done: // a server that stops because of endDrain ends ctx, too
		return lost, nil
	default:
		return "", context.Cause(ctx)
	}
}

// beginDrain reports whether a principal may have the node drain, and publishes that it does. The
// agent is the one by which it asked, if there is one.
func (p *Peers) beginDrain(principal string, agent performatives.AgentID) bool {
	log := p.node.System.Logger().With("agent", agent.Name(), "principal", principal)
	if !p.mayOperate(principal) {
		log.Warn("a drain was refused: its sender is no operator")
		return false
	}
	log.Info("an operator drains the node")
	p.node.Draining(principal, agent.Name())
	return true
}

// handOver hands over the agents of the node, and returns which were not. A second call waits for
// the first.
func (p *Peers) handOver() (lost string) {
	ctx, cancel := context.WithTimeout(context.Background(), p.opts.DrainTime) //nolint:forbidigo // it ends here
	defer cancel()
	if err := p.node.HandOver(ctx); err != nil {
		return strings.TrimPrefix(err.Error(), "runtime: ")
	}
	return ""
}

// endDrain tells the program that the node has drained.
func (p *Peers) endDrain() { p.drain.Do(func() { close(p.drained) }) }

// operate handles a REQUEST to the namespace system.
func (p *Peers) operate(l *link, m *performatives.Message) error {
	o, err := performatives.PayloadAs[operation](m)
	switch {
	case err != nil:
		return p.node.Relay.Refuse(m, err)
	case o.Operation != operationDrain:
		return p.node.Relay.Refuse(m, refused(performatives.CodeIncapable, fmt.Sprintf("unknown operation %.64q: there is drain", o.Operation)))
	case p.mayOperate(m.Principal()) && !p.self.Is(performatives.AgentID(o.Node)):
		return p.node.Relay.Refuse(m, refused(performatives.CodeUnknownAgent, fmt.Sprintf("this node is %s, not %.64q", p.node.System.Node(), o.Node)))
	case !p.beginDrain(m.Principal(), m.Sender()):
		return p.node.Relay.Refuse(m, errNoOperator)
	}
	if err := p.reply(l, m, performatives.ActAgree, nil); err != nil {
		return err
	}
	p.node.System.Work(func() {
		_ = p.reply(l, m, performatives.ActInform, drained{p.node.System.Node(), p.handOver()}) // the operator may have gone
		p.endDrain()
	})
	return nil
}

// mayOperate reports whether a principal is an operator of the node.
func (p *Peers) mayOperate(principal string) bool {
	id := performatives.AgentID(principal)
	return slices.ContainsFunc(p.opts.Operators, func(o performatives.AgentID) bool {
		return o == "*" || principal != "" && namespace.Within(string(o.Fold()), string(id.Fold()))
	})
}
