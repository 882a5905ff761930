package codons

import (
	"context"

	"github.com/ribosome-agents/ribosome/performatives"
)

// AskThrough asks a [Mediator], the broker, to find agents that can do something
// and to have them do it, and waits for their answers, which the broker passes on:
// with [WantOne] those up to the first that took it on, with [WantAll] those of all.
//
// ctx's deadline, or else [DefaultDeadline], is the PROXY's ReplyBy; the broker gives
// those that it asks a little less time, and of one that does not answer in it a
// FAILURE is passed on. When ctx is cancelled, the broker withdraws what it has
// asked, and AskThrough returns once all of it has ended. The error is an
// [*EndError], [performatives.CodeNoMatch] if nobody took it on, or says what is
// wrong with proxy. It must not be called on an agent's own actor.
func AskThrough(ctx context.Context, p Party, broker performatives.AgentID, proxy Proxy, opts ...ProxyOption) ([]ProxyReply, error) {
	b, err := StartAskThrough(ctx, p, broker, proxy, opts...)
	if err != nil {
		return nil, err
	}
	return b.Wait()
}

// StartAskThrough is [AskThrough] without the wait.
func StartAskThrough(ctx context.Context, p Party, broker performatives.AgentID, proxy Proxy, opts ...ProxyOption) (*Brokered, error) {
	b := &Brokered{mediated: newMediated(opts)}
	if proxy.Receiver != "" {
		return nil, wrongProxy("designated_receiver", "nobody: a broker passes the answers on to who asks")
	}
	if err := b.prepare(ctx, p.Self(), brokering, broker, performatives.ActProxy, proxy); err != nil {
		return nil, err
	}
	if err := b.begin(ctx, p.Self(), brokering, b); err != nil {
		return nil, err
	}
	return b, nil
}

// Brokered is what was asked through a broker. All its methods may be called from
// any goroutine.
type Brokered struct {
	mediated
	replies []ProxyReply // read once done is closed
}

// Wait returns the answers, as [AskThrough] does.
func (b *Brokered) Wait() ([]ProxyReply, error) {
	b.await()
	return b.replies, b.err
}

func (b *Brokered) ended(c *conversation, last *performatives.Message) {
	defer close(b.done)
	b.replies, b.err = repliesOf(c, last)
}

// ProxyOption changes one thing about an [AskThrough] or a [Recruit]: any [Option]
// does, and so does [WithNews].
type ProxyOption interface{ proxy(*proxyOptions) }

// proxy applies an option of any codon.
func (o Option) proxy(p *proxyOptions) { o(&p.options) }

type proxyOption func(*proxyOptions)

func (o proxyOption) proxy(p *proxyOptions) { o(p) }

type proxyOptions struct {
	options
	onNews func(ProxyNews)
}

// WithNews has fn called with what the mediator says meanwhile, one at a time.
// Some of it may be lost or come twice; what Wait returns is all of the last words.
// fn must not block, nor wait for the end; its panic ends the conversation.
func WithNews(fn func(ProxyNews)) ProxyOption {
	return proxyOption(func(o *proxyOptions) { o.onNews = fn })
}

// mediated is what the asking sides of both codons have in common.
type mediated struct {
	asker
	onNews func(ProxyNews)
}

func newMediated(opts []ProxyOption) mediated {
	o := proxyOptions{options: defaultOptions()}
	for _, opt := range opts {
		opt.proxy(&o)
	}
	return mediated{asker{options: o.options}, o.onNews}
}

// tag tells the receipt of a CANCEL from the answer, which is an INFORM too.
func (m *mediated) tag(msg *performatives.Message) string { return receiptTag(m.conversation, msg) }

func (m *mediated) report(_ *conversation, what string, msg *performatives.Message) {
	if what != reportProgress || m.onNews == nil {
		return
	}
	u, err := performatives.PayloadAs[performatives.StatusUpdate](msg)
	if err != nil {
		return // no news
	}
	if n, err := performatives.Decode[ProxyNews](u.Results); err == nil {
		m.onNews(n)
	}
}

// repliesOf reads how a mediation ended.
func repliesOf(c *conversation, last *performatives.Message) ([]ProxyReply, error) {
	if c.state.State != stateAnswered {
		return nil, c.endError(last)
	}
	p, err := performatives.PayloadAs[ProxyReplies](last)
	if err != nil {
		return nil, c.unreadable(err)
	}
	return p.Replies, nil
}
