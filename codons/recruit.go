package codons

import (
	"context"
	"slices"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Recruit asks a [Mediator] to find agents that perform a task, and waits until
// they have delivered what came of it. Where proxy designates no receiver, they
// deliver here, and Recruit returns the deliveries in the order in which they came:
// with [WantOne] mostly one, with [WantAll] one of each agent that took it on. Nobody
// else can deliver: each has to show the ticket that is made for this recruiting, and
// that the recruiter hands on with the task. Where proxy designates another agent,
// that one gets the deliveries as a [DeliveryHandler], and Recruit returns once it has
// confirmed them.
//
// ctx's deadline, or else [DefaultDeadline], is the PROXY's ReplyBy. When ctx is
// cancelled, the recruiter has those recruited stop, and a delivery that comes later
// is turned away: what came before counts. The error is an [*EndError], or says what
// is wrong with proxy; beside it are the deliveries so far. It is nil when one was
// wanted and has come, however the conversation with the recruiter ended. It must
// not be called on an agent's own actor.
func Recruit(ctx context.Context, p Party, recruiter performatives.AgentID, proxy Proxy, opts ...ProxyOption) (Recruitment, error) {
	r, err := StartRecruiting(ctx, p, recruiter, proxy, opts...)
	if err != nil {
		return Recruitment{}, err
	}
	return r.Wait()
}

// StartRecruiting is [Recruit] without the wait.
func StartRecruiting(ctx context.Context, p Party, recruiter performatives.AgentID, proxy Proxy, opts ...ProxyOption) (*Recruiter, error) {
	if !proxy.forTask() {
		return nil, wrongProxy("task", "a task: only its result can be delivered")
	}
	self := p.Self()
	r := &Recruiter{mediated: newMediated(opts), one: proxy.Want != WantAll}
	here := proxy.Receiver == "" || proxy.Receiver.Is(self.ID())
	if here {
		proxy.Ticket = string(self.Stamp().ID)
	}
	if err := r.prepare(ctx, self, recruiting, recruiter, performatives.ActProxy, proxy); err != nil {
		return nil, err
	}
	if here {
		r.inbox = openInbox(self, proxy.Ticket, recruiter)
	}
	if err := r.begin(ctx, self, recruiting, r); err != nil {
		r.inbox.remove()
		return nil, err
	}
	return r, nil
}

// Recruitment is what came of a [Recruit].
type Recruitment struct {
	Deliveries []Delivery   // those that came here
	Recruits   []ProxyReply // what the recruiter says of each: above all, whether it has delivered
}

// Recruiter is a recruiting that was begun. All its methods may be called from any
// goroutine.
type Recruiter struct {
	mediated
	inbox *inbox // nil when somebody else is the designated receiver
	one   bool
	got   Recruitment // read once done is closed
}

// Wait returns the end of it, as [Recruit] does.
func (r *Recruiter) Wait() (Recruitment, error) {
	r.await()
	return r.got, r.err
}

// payload turns deliveries away from the moment at which it is withdrawn.
func (r *Recruiter) payload(c *conversation, e machine.Effect, data any) any {
	if e.Act == performatives.ActCancel {
		r.inbox.shut(performatives.CodeCanceled)
	}
	return r.asker.payload(c, e, data)
}

func (r *Recruiter) ended(c *conversation, last *performatives.Message) {
	defer close(r.done)
	r.got.Recruits, r.err = repliesOf(c, last)
	r.empty()
}

func (r *Recruiter) abandoned(c *conversation, cause error) {
	r.inbox.remove()
	r.asker.abandoned(c, cause)
}

// empty takes what has been delivered, which shows better than the recruiter can know
// who has. Where one was wanted, that is the end of it.
func (r *Recruiter) empty() {
	if r.inbox == nil {
		return
	}
	r.got.Deliveries = r.inbox.remove()
	for i := range r.got.Recruits {
		by := r.got.Recruits[i].Agent
		r.got.Recruits[i].Delivered = slices.ContainsFunc(r.got.Deliveries, func(d Delivery) bool { return d.Recruit.Is(by) })
	}
	if r.one && len(r.got.Deliveries) > 0 {
		r.err = nil
	}
}

// order is what a recruiter adds to the task.
func (m *mediation) order() DeliverTo {
	to := DeliverTo{Receiver: m.q.receiver(), Conversation: m.q.Message.ConversationID(), InReplyTo: m.q.Ticket}
	if to.InReplyTo == "" {
		to.InReplyTo = string(m.q.Message.ID())
	}
	return to
}

// recruited is the reply of one who has performed its task. One that knows nothing
// of deliveries has answered the recruiter, who delivers in its place.
func (m *mediation) recruited(ctx context.Context, id performatives.AgentID, result performatives.InformResult) (ProxyReply, error) {
	reply := ProxyReply{Agent: id, Performative: performatives.ActInformResult, Delivered: true}
	to := m.order()
	if !delivered(result, to.Receiver) {
		o := defaultOptions()
		o.priority, o.trace, o.grace = m.q.Message.Priority(), m.q.Message.Trace(), m.grace
		err := deliver(ctx, m.q.Agent, to, result, deliveryNote{Recruit: id, TaskType: m.q.Task.TaskType}, o)
		if err != nil {
			return ProxyReply{}, err
		}
		result = performatives.InformResult{Status: result.Status, Summary: result.Summary}
	}
	reply.Content = performatives.ContentOf(result)
	return reply, nil
}
