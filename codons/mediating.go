package codons

import (
	"context"
	"fmt"
	"sync"

	"github.com/ribosome-agents/ribosome/performatives"
)

// askedAtOnce is how many agents one mediation asks at a time, so that a large
// swarm does not fill the mediator's mailbox; newsUnderWay is how many of their
// words, besides the last, may wait to be passed on: more are left out.
const (
	askedAtOnce  = 64
	newsUnderWay = 64
)

// word is what one agent said; last says that it will say no more.
type word struct {
	ProxyReply
	last bool
}

// askAll asks the targets, passes on what they say, and returns the last words. It
// returns when every conversation with them has ended.
func (m *mediation) askAll(ctx context.Context, targets []performatives.AgentID) (ProxyReplies, error) {
	words := make(chan word, newsUnderWay) // one channel, so that what is said first is passed on first
	system := m.q.Agent.System()
	first, turn := system.Turn(), system.Turn()
	go func() {
		defer close(words)
		first()
		if m.q.Want == WantAll {
			m.askEach(ctx, targets, words)
			return
		}
		m.askInTurn(ctx, targets, words)
	}()
	var replies []ProxyReply
	for w := range words {
		turn()
		if w.last {
			replies = append(replies, w.ProxyReply)
		}
		_ = m.say(ProxyNews{Reply: &w.ProxyReply}) // when nobody listens any more, ctx has ended, and so do the conversations
	}
	turn()
	return m.outcome(ctx, replies)
}

// askInTurn asks one after the other, until one has taken it on.
func (m *mediation) askInTurn(ctx context.Context, targets []performatives.AgentID, words chan<- word) {
	for _, id := range targets {
		r := m.ask(ctx, id, words)
		words <- word{r, true}
		if tookOn(r) || ctx.Err() != nil {
			return
		}
	}
}

// askEach asks all of them, each with an equal share of the budget.
func (m *mediation) askEach(ctx context.Context, targets []performatives.AgentID, words chan<- word) {
	m.share = partOf(Left(ctx), len(targets))
	var under sync.WaitGroup
	defer under.Wait()
	room := make(chan struct{}, askedAtOnce)
	for _, id := range targets {
		room <- struct{}{}
		turn := m.q.Agent.System().Turn()
		under.Go(func() {
			turn()
			words <- word{m.ask(ctx, id, words), true}
			<-room
		})
	}
}

// partOf returns one of n equal parts of what is left of a budget; nil of none. Beginning
// each conversation is a call of its own.
func partOf(left Budget, n int) Budget {
	var part Budget
	for r, all := range left {
		if r == Depth {
			continue // it is not used up
		}
		if part == nil {
			part = Budget{}
		}
		part[r] = max(all, 0) / int64(n)
		if r == Calls {
			part[r] = max(part[r]-1, 0)
		}
	}
	return part
}

// tookOn reports whether an agent has begun with what it was asked, so that no
// other may be asked to do it once more.
func tookOn(r ProxyReply) bool {
	switch r.Performative { //nolint:exhaustive // the acts that turn it down
	case performatives.ActTaskReject, performatives.ActRefuse, performatives.ActNotUnderstood:
		return false
	}
	return true
}

// outcome is what the mediator says in the end.
func (m *mediation) outcome(ctx context.Context, replies []ProxyReply) (ProxyReplies, error) {
	var why *performatives.Refusal
	taken := false
	for _, r := range replies {
		if tookOn(r) && (!m.recruits || r.Delivered) {
			return ProxyReplies{replies}, nil
		}
		if refusal := asRefusal(r.Err()); refusal != nil && (why == nil || tookOn(r) && !taken) {
			why, taken = refusal, tookOn(r)
		}
	}
	switch {
	case ctx.Err() != nil && why == nil:
		return ProxyReplies{}, context.Cause(ctx)
	case why == nil:
		return ProxyReplies{}, &performatives.Refusal{Code: performatives.CodeNoMatch}
	case taken:
		return ProxyReplies{}, &performatives.Refusal{Code: why.Code, Text: why.Error()}
	}
	return ProxyReplies{}, &performatives.Refusal{
		Code: performatives.CodeNoMatch,
		Text: fmt.Sprintf("none of %d took it on: %s", len(replies), why.Error()),
	}
}

// ask asks one agent, in a conversation of its own, and returns its last word.
func (m *mediation) ask(ctx context.Context, id performatives.AgentID, words chan<- word) ProxyReply {
	reply, err := m.put(ctx, id, func(r ProxyReply) {
		select {
		case words <- word{r, false}:
		default: // progress that nobody has time for
		}
	})
	if err != nil {
		return turnedDown(id, err)
	}
	return reply
}

// put puts the question. tell must not block.
func (m *mediation) put(ctx context.Context, id performatives.AgentID, tell func(ProxyReply)) (ProxyReply, error) {
	common := []Option{WithBudget(m.share), WithGrace(m.grace), WithPriority(m.q.Message.Priority()), WithTrace(m.q.Message.Trace())}
	if !m.q.forTask() {
		answer, err := Request[any](ctx, m.q.Agent, id, contentPayload(m.q.Request), append(common, WithOntology(m.q.Message.Ontology()))...)
		return ProxyReply{Agent: id, Performative: performatives.ActInform, Content: performatives.ContentOf(answer)}, err
	}
	task := m.q.Task
	if m.recruits {
		task = m.order().in(task)
	}
	said := func(act performatives.Performative, content any) {
		tell(ProxyReply{Agent: id, Performative: act, Content: performatives.ContentOf(content)})
	}
	opts := []DelegateOption{
		WithAccepted(func(a performatives.TaskAccept) { said(performatives.ActTaskAccept, a) }),
		WithProgress(func(u performatives.StatusUpdate) { said(performatives.ActStatusUpdate, u) }),
	}
	for _, o := range common {
		opts = append(opts, o)
	}
	result, err := Delegate(ctx, m.q.Agent, id, task, opts...)
	if err != nil {
		return ProxyReply{}, err
	}
	if m.recruits {
		return m.recruited(ctx, id, result)
	}
	return ProxyReply{Agent: id, Performative: performatives.ActInformResult, Content: performatives.ContentOf(result)}, nil
}

// contentPayload is a content as the payload of a message.
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
