package mediation

import (
	"context"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// AskThrough asks a [Mediator], the broker, to find agents and ask them, and waits for their
// answers, which the broker passes on. With [WantOne] these are the answers up to the first
// agent that accepts, with [WantAll] those of all agents.
//
// The deadline is ctx's, or else [codons.DefaultDeadline]. The broker gives the agents slightly
// less time, and reports a FAILURE for an agent that does not answer in it. When ctx ends, the
// broker withdraws what it has asked, and AskThrough returns when all of it has ended. The
// error is an [*codons.EndError], with [performatives.CodeNoMatch] if no agent accepts, or
// says why proxy is not valid. AskThrough must not be called on an agent's own actor.
func AskThrough(ctx context.Context, p codons.Party, broker performatives.AgentID, proxy Proxy, opts ...codons.Option) ([]ProxyReply, error) {
	b, err := StartAskThrough(ctx, p, broker, proxy, opts...)
	if err != nil {
		return nil, err
	}
	return b.Wait()
}

// StartAskThrough begins an [AskThrough] and returns at once.
func StartAskThrough(ctx context.Context, p codons.Party, broker performatives.AgentID, proxy Proxy, opts ...codons.Option) (*Brokering, error) {
	self, err := codons.SelfOf(p)
	if err != nil {
		return nil, err
	}
	b := &brokerInitiator{proxyInitiator: newProxyInitiator(opts)}
	if proxy.Receiver != "" {
		return nil, wrongProxy("designated_receiver", "none: a broker passes the answers on to the sender of the PROXY")
	}
	b.handle = Brokering{b.Handle(), b}
	if err := b.Start(ctx, self, b.opening(BrokeringCodon, broker, proxy), b); err != nil {
		return nil, err
	}
	return &b.handle, nil
}

// Brokering is a brokering that was begun by [StartAskThrough]. All its methods may be called
// from any goroutine.
type Brokering struct {
	codons.Handle
	side *brokerInitiator
}

// Wait waits for the end and returns the answers, as [AskThrough] does.
func (b *Brokering) Wait() ([]ProxyReply, error) {
	b.side.Await()
	return b.side.replies, b.side.Err()
}

// brokerInitiator is the initiator's side of one brokering.
type brokerInitiator struct {
	proxyInitiator
	handle  Brokering
	replies []ProxyReply // valid after Await
}

// Ended reads the answers.
func (b *brokerInitiator) Ended(c *codons.Conversation, last *performatives.Message) {
	replies, err := repliesOf(c, last)
	b.replies = replies
	b.Close(err)
}

type proxyOptions struct{ onNews func(ProxyNews) }

// WithNews calls fn with each piece of news of the mediator, one at a time. A piece may be lost
// or come twice; the result of the conversation is complete all the same. fn must not block or
// wait for the end. A panic of fn ends the conversation.
func WithNews(fn func(ProxyNews)) codons.Option {
	return codons.Setting(func(o *proxyOptions) { o.onNews = fn })
}

// proxyInitiator is the common part of both initiators of a PROXY.
type proxyInitiator struct {
	codons.InitiatorSide
	options codons.Options
	onNews  func(ProxyNews)
}

func newProxyInitiator(opts []codons.Option) proxyInitiator {
	o := codons.NewOptions(opts...)
	return proxyInitiator{options: o, onNews: codons.Settings[proxyOptions](&o).onNews}
}

// opening returns the opening of the PROXY's conversation.
func (i *proxyInitiator) opening(c *codons.Codon, to performatives.AgentID, proxy Proxy) codons.Opening {
	return codons.Opening{Codon: c, To: to, Act: performatives.ActProxy, Payload: proxy, Options: i.options}
}

// Report calls the function of WithNews.
func (i *proxyInitiator) Report(_ *codons.Conversation, what string, msg *performatives.Message) {
	if what != standard.ReportProgress || i.onNews == nil {
		return
	}
	u, err := performatives.PayloadAs[performatives.StatusUpdate](msg)
	if err != nil {
		return // not news
	}
	if n, err := performatives.Decode[ProxyNews](u.Results); err == nil {
		i.onNews(n)
	}
}

// repliesOf returns the replies, or the error of a conversation that ended without them.
func repliesOf(c *codons.Conversation, last *performatives.Message) ([]ProxyReply, error) {
	if c.State() != standard.StateAnswered {
		return nil, c.EndError(last)
	}
	p, err := codons.PayloadOf[ProxyReplies](c, last)
	return p.Replies, err
}
