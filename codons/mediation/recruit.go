package mediation

import (
	"context"
	"slices"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Recruit asks a [Mediator], the recruiter, to find agents that perform a task, and waits until
// they have delivered their results.
//
// Without a designated receiver in proxy, the recruits deliver to the party, and Recruit returns
// the deliveries in the order of arrival: with [WantOne] usually one, with [WantAll] one of
// each agent that accepted. Each delivery has to show the ticket that Recruit makes and the
// recruiter passes on with the task. With another agent as the receiver, that agent gets the
// deliveries as a [DeliveryHandler], and Recruit returns when it has confirmed them.
//
// The deadline is ctx's, or else [codons.DefaultDeadline]. When ctx ends, the recruiter cancels
// the tasks, and later deliveries are refused; earlier ones are returned with the error. The
// error is an [*codons.EndError], or says why proxy is not valid. With WantOne it is nil
// after a delivery, however the conversation with the recruiter ends. Recruit must not be
// called on an agent's own actor.
func Recruit(ctx context.Context, p codons.Party, recruiter performatives.AgentID, proxy Proxy, opts ...codons.Option) (Recruitment, error) {
	r, err := StartRecruiting(ctx, p, recruiter, proxy, opts...)
	if err != nil {
		return Recruitment{}, err
	}
	return r.Wait()
}

// StartRecruiting begins a [Recruit] and returns at once.
func StartRecruiting(ctx context.Context, p codons.Party, recruiter performatives.AgentID, proxy Proxy, opts ...codons.Option) (*Recruiting, error) {
	if !proxy.forTask() {
		return nil, wrongProxy("task", "a task: only its result can be delivered")
	}
	self, err := codons.SelfOf(p)
	if err != nil {
		return nil, err
	}
	r := &recruitInitiator{proxyInitiator: newProxyInitiator(opts), one: proxy.Want != WantAll}
	here := proxy.Receiver == "" || proxy.Receiver.Is(self.ID())
	if here {
		proxy.Ticket = string(self.Stamp().ID)
	}
	r.handle = Recruiting{r.Handle(), r}
	if err := r.Prepare(ctx, self, r.opening(RecruitingCodon, recruiter, proxy)); err != nil {
		return nil, err
	}
	if here {
		r.collector = newCollector(self, proxy.Ticket, recruiter)
	}
	if err := r.Begin(ctx, self, r); err != nil {
		r.collector.remove()
		return nil, err
	}
	return &r.handle, nil
}

// Recruitment is the result of a [Recruit].
type Recruitment struct {
	Deliveries []Delivery   // the deliveries to the party itself
	Recruits   []ProxyReply // the recruiter's report about each agent; Delivered says whether it has delivered
}

// Recruiting is a recruiting that was begun by [StartRecruiting]. All its methods may be called
// from any goroutine.
type Recruiting struct {
	codons.Handle
	side *recruitInitiator
}

// Wait waits for the end and returns the result, as [Recruit] does.
func (r *Recruiting) Wait() (Recruitment, error) {
	r.side.Await()
	return r.side.got, r.side.Err()
}

// recruitInitiator is the initiator's side of one recruiting.
type recruitInitiator struct {
	proxyInitiator
	handle    Recruiting
	collector *collector  // nil when another agent is the designated receiver
	one       bool        // WantOne
	got       Recruitment // valid after Await
}

// Send closes the collector when the recruiting is cancelled.
func (r *recruitInitiator) Send(_ *codons.Conversation, m *performatives.Message) {
	if m.Performative() == performatives.ActCancel {
		r.collector.close(performatives.CodeCanceled)
	}
}

// Ended reads the recruiter's report and takes the deliveries.
func (r *recruitInitiator) Ended(c *codons.Conversation, last *performatives.Message) {
	recruits, err := repliesOf(c, last)
	r.got.Recruits = slices.Clone(recruits) // takeDeliveries changes it, and the payload of a message never changes
	r.Close(r.takeDeliveries(err))
}

// Abandoned discards the collector.
func (r *recruitInitiator) Abandoned(c *codons.Conversation, cause error) {
	r.collector.remove()
	r.InitiatorSide.Abandoned(c, cause)
}

// takeDeliveries takes the collected deliveries, corrects the recruiter's report by them, and
// returns the error of the recruiting. It is nil if one delivery was wanted and has come.
func (r *recruitInitiator) takeDeliveries(err error) error {
	if r.collector == nil {
		return err
	}
	r.got.Deliveries = r.collector.remove()
	for i := range r.got.Recruits {
		by := r.got.Recruits[i].Agent
		r.got.Recruits[i].Delivered = slices.ContainsFunc(r.got.Deliveries, func(d Delivery) bool { return d.Recruit.Is(by) })
	}
	if r.one && len(r.got.Deliveries) > 0 {
		return nil
	}
	return err
}
