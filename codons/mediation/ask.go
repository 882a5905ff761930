package mediation

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/request"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Bounds of one mediation.
const (
	maxOpen = 64 // conversations that are open at a time, so that the answers do not fill the mediator's mailbox
	maxNews = 64 // messages that wait to be passed on; more progress is left out
)

// message is one message of an asked agent.
type message struct {
	ProxyReply
	last bool // the agent's final answer
}

// askAll asks the targets, passes their messages on as news, and returns their final answers. It
// returns when every conversation with them has ended.
func (m *mediation) askAll(ctx context.Context, targets []performatives.AgentID) (ProxyReplies, error) {
	messages := make(chan message, maxNews) // one channel keeps the order of the messages
	system := m.q.Agent.System()
	first, turn := system.Turn(), system.Turn()
	go func() {
		defer close(messages)
		first()
		if m.q.Want == WantAll {
			m.askEach(ctx, targets, messages)
			return
		}
		m.askInTurn(ctx, targets, messages)
	}()
	var replies []ProxyReply
	for msg := range messages {
		turn()
		if msg.last {
			replies = append(replies, msg.ProxyReply)
		}
		_ = m.say(ProxyNews{Reply: &msg.ProxyReply}) // fails only after the end of ctx, which also ends the conversations
	}
	turn()
	return m.outcome(ctx, replies)
}

// askInTurn asks one agent after the other, by the table of [discovery.InTurn].
func (m *mediation) askInTurn(ctx context.Context, targets []performatives.AgentID, messages chan<- message) {
	m.share = codons.WithBudget(nil)
	_ = discovery.InTurn(ctx, m.q.Agent, targets, func(id performatives.AgentID) machine.State { // the mediator is a party
		r := m.ask(ctx, id, messages)
		messages <- message{r, true}
		return endOf(r)
	})
}

// askEach asks all targets, each with an equal share of the budget.
func (m *mediation) askEach(ctx context.Context, targets []performatives.AgentID, messages chan<- message) {
	m.share = codons.WithBudgetShare(ctx, len(targets))
	var open sync.WaitGroup
	defer open.Wait()
	room := make(chan struct{}, maxOpen)
	for _, id := range targets {
		room <- struct{}{}
		turn := m.q.Agent.System().Turn()
		open.Go(func() {
			turn()
			messages <- message{m.ask(ctx, id, messages), true}
			<-room
		})
	}
}

// endOf returns the end state of the conversation with an agent.
func endOf(r ProxyReply) machine.State {
	switch r.Performative { //nolint:exhaustive // any other act is an answer
	case performatives.ActTaskReject:
		return standard.StateRejected
	case performatives.ActRefuse:
		return standard.StateRefused
	case performatives.ActNotUnderstood:
		return standard.StateNotUnderstood
	case performatives.ActFailure:
		return standard.StateFailed
	}
	return standard.StateCompleted
}

// accepted reports whether the agent has begun the work.
func accepted(r ProxyReply) bool {
	end := endOf(r)
	return end == standard.StateCompleted || end == standard.StateFailed
}

// outcome returns the result of the mediation.
func (m *mediation) outcome(ctx context.Context, replies []ProxyReply) (ProxyReplies, error) {
	var why *performatives.Refusal
	begun := false // why is of an agent that accepted
	for _, r := range replies {
		if accepted(r) && (!m.recruits || r.Delivered) {
			return ProxyReplies{replies}, nil
		}
		if refusal := performatives.RefusalOf(r.Err()); refusal != nil && (why == nil || accepted(r) && !begun) {
			why, begun = refusal, accepted(r)
		}
	}
	switch {
	case ctx.Err() != nil && why == nil:
		return ProxyReplies{}, context.Cause(ctx)
	case why == nil:
		return ProxyReplies{}, &performatives.Refusal{Code: performatives.CodeNoMatch}
	case begun:
		return ProxyReplies{}, &performatives.Refusal{Code: why.Code, Text: why.Error()}
	}
	return ProxyReplies{}, &performatives.Refusal{
		Code: performatives.CodeNoMatch,
		Text: fmt.Sprintf("none of %d agents accepted: %s", len(replies), why.Error()),
	}
}

// ask asks one agent in a conversation of its own, and returns its final answer.
func (m *mediation) ask(ctx context.Context, id performatives.AgentID, messages chan<- message) ProxyReply {
	reply, err := m.converse(ctx, id, func(r ProxyReply) {
		select {
		case messages <- message{r, false}:
		default: // no room for more progress
		}
	})
	if err != nil {
		return replyOf(id, err)
	}
	return reply
}

// converse holds the conversation with one agent, a delegation or a request. tell must not block.
func (m *mediation) converse(ctx context.Context, id performatives.AgentID, tell func(ProxyReply)) (ProxyReply, error) {
	common := []codons.Option{m.share, codons.WithGrace(m.grace), codons.WithPriority(m.q.Message.Priority()), codons.WithTrace(m.q.Message.Trace())}
	if !m.q.forTask() {
		answer, err := request.Request[any](ctx, m.q.Agent, id, contentPayload(m.q.Request), append(common, codons.WithOntology(m.q.Message.Ontology()))...)
		return ProxyReply{Agent: id, Performative: performatives.ActInform, Content: performatives.ContentOf(answer)}, err
	}
	task := m.q.Task
	if m.recruits {
		task = m.order().in(task)
	}
	said := func(act performatives.Performative, content any) {
		tell(ProxyReply{Agent: id, Performative: act, Content: performatives.ContentOf(content)})
	}
	opts := []codons.Option{
		delegation.WithAccepted(func(a performatives.TaskAccept) { said(performatives.ActTaskAccept, a) }),
		delegation.WithProgress(func(u performatives.StatusUpdate) { said(performatives.ActStatusUpdate, u) }),
	}
	result, err := delegation.Delegate(ctx, m.q.Agent, id, task, append(opts, common...)...)
	if err != nil {
		return ProxyReply{}, err
	}
	if m.recruits {
		return m.recruited(ctx, id, result)
	}
	return ProxyReply{Agent: id, Performative: performatives.ActInformResult, Content: performatives.ContentOf(result)}, nil
}

// order returns the member deliver_to that a recruiter adds to the task.
func (m *mediation) order() DeliverTo {
	to := DeliverTo{Receiver: m.q.receiver(), Conversation: m.q.Message.ConversationID(), InReplyTo: m.q.Ticket}
	to.InReplyTo = cmp.Or(to.InReplyTo, string(m.q.Message.ID()))
	return to
}

// recruited returns the reply for a recruit that has performed its task. The result of a worker
// that does not deliver is delivered here, on its behalf.
func (m *mediation) recruited(ctx context.Context, id performatives.AgentID, result performatives.InformResult) (ProxyReply, error) {
	reply := ProxyReply{Agent: id, Performative: performatives.ActInformResult, Delivered: true}
	to := m.order()
	if !reportsDelivery(result, to.Receiver) {
		o := codons.NewOptions(codons.WithPriority(m.q.Message.Priority()), codons.WithTrace(m.q.Message.Trace()), codons.WithGrace(m.grace))
		err := deliver(ctx, m.q.Agent, to, result, deliveryNote{Recruit: id, TaskType: m.q.Task.TaskType}, o)
		if err != nil {
			return ProxyReply{}, err
		}
		result = performatives.InformResult{Status: result.Status, Summary: result.Summary}
	}
	reply.Content = performatives.ContentOf(result)
	return reply, nil
}

// contentPayload returns a content as the payload of a message.
func contentPayload(c performatives.Content) any {
	if v := c.Value(); v != nil {
		return v
	}
	raw, err := c.MarshalJSON()
	if err != nil {
		return nil
	}
	return performatives.Raw(raw)
}
