package runtime

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/namespace"
	"github.com/ribosome-agents/ribosome/runtime/internal/sessions"
)

// Drained returns a channel that is closed when the node has handed over its agents, by
// [Node.HandOver], because an operator has requested it. The program then stops its servers and the
// node. An operator is a principal of [PeerOptions.Operators]. The request is a REQUEST to the
// namespace system, with the content {"operation":"drain","node":NAME}, or a call of [Peers.Drain].
func (p *Peers) Drained() <-chan struct{} { return p.drained }

// Drain hands over the agents of the node for an operator, by [Node.HandOver] within
// [PeerOptions.DrainTime], and then closes the channel of [Peers.Drained]. It waits for the end of
// that: lost says which agents were not handed over, and is empty for none. Further calls wait for
// the same.
//
// The error is a [*performatives.Refusal] with [performatives.CodeForbidden] if the principal is no
// operator, and the cause of ctx if that ends first. The node then goes on to drain.
func (p *Peers) Drain(ctx context.Context, principal string) (lost string, err error) {
	done := make(chan string, 1)
	if err := p.drainFor(principal, "", func() {}, func(lost string) { done <- lost }); err != nil {
		return "", err
	}
	select {
	case lost = <-done:
	case <-ctx.Done():
		if len(done) == 0 {
			return "", context.Cause(ctx)
		}
		lost = <-done // a server that stops because the node has drained ends ctx, too
	}
	return lost, nil
}

// drainFor has the node hand over its agents for a principal, or returns an error if that may not
// have it do so. The agent is the one by which it asked, if there is one. agree is called before,
// and tell afterwards with those that were not handed over, before the program is told. A second
// call waits for the first.
func (p *Peers) drainFor(principal string, agent performatives.AgentID, agree func(), tell func(lost string)) error {
	log := p.node.system.Logger().With("agent", agent.Name(), "principal", principal)
	if !p.mayOperate(principal) {
		log.Warn("a drain was refused: its sender is no operator")
		return performatives.Refused(performatives.CodeForbidden, "only an operator of the node may drain it")
	}
	log.Info("an operator drains the node")
	publish(p.node, NodeDraining{at(), principal, agent.Name()})
	agree()
	p.node.system.Work(func() {
		ctx, cancel := context.WithTimeout(context.Background(), p.opts.DrainTime) //nolint:forbidigo // it ends here
		defer cancel()
		lost := ""
		if err := p.node.HandOver(ctx); err != nil {
			lost = strings.TrimPrefix(err.Error(), "runtime: ")
		}
		tell(lost)
		p.drain.Do(func() { close(p.drained) })
	})
	return nil
}

// operation is the content of a REQUEST to the namespace system.
type operation struct {
	Operation string `json:"operation"` // drain: hand over the agents, and leave
	Node      string `json:"node"`      // the name of the node that is to do it
}

// drained is the answer to a drain.
type drained struct {
	Node string `json:"node"`
	Lost string `json:"lost"` // which agents were not handed over; empty for none
}

// operate does what a REQUEST to the namespace system asks for, or returns why it does not.
func (p *Peers) operate(m *performatives.Message, reply sessions.Reply) error {
	o, err := performatives.PayloadAs[operation](m)
	switch {
	case err != nil:
		return err
	case o.Operation != "drain":
		return performatives.Refused(performatives.CodeIncapable, fmt.Sprintf("unknown operation %.64q: there is drain", o.Operation))
	case p.mayOperate(m.Principal()) && !performatives.AgentID(o.Node).Is(performatives.AgentID(p.node.Name())):
		return performatives.Refused(performatives.CodeUnknownAgent, fmt.Sprintf("this node is %s, not %.64q", p.node.Name(), o.Node))
	}
	return p.drainFor(m.Principal(), m.Sender(), func() { reply(performatives.ActAgree, nil) }, func(lost string) {
		reply(performatives.ActInform, drained{p.node.Name(), lost})
	})
}

// mayOperate reports whether a principal is an operator of the node.
func (p *Peers) mayOperate(principal string) bool {
	id := performatives.AgentID(principal)
	return slices.ContainsFunc(p.opts.Operators, func(o performatives.AgentID) bool {
		return o == "*" || principal != "" && namespace.Within(string(o.Fold()), string(id.Fold()))
	})
}
