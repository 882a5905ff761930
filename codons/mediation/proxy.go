package mediation

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Want says how many agents a [Proxy] is for.
type Want string

// The values of Want. Empty means WantOne.
const (
	WantOne Want = "one" // the first agent that accepts
	WantAll Want = "all" // all agents found, each with an equal share of the mediator's budget
)

// Proxy is the content of PROXY: which agents are wanted, and what they are asked (FIPA proxy,
// SC00037J). It must not be changed after it is sent.
type Proxy struct {
	// Capabilities are those that an agent must have: all of them, or any if Match says so.
	Capabilities []string                `json:"capabilities,omitempty"`
	Match        performatives.MatchType `json:"match_type,omitempty"`
	// Agents are the only agents that may be asked, at most [codons.MaxChildren]. Empty
	// means any.
	Agents []performatives.AgentID `json:"agents,omitempty"`
	Want   Want                    `json:"want,omitempty"`

	// Task is the task that the agents perform. Request is the content of a REQUEST, which
	// only a broker passes on. Exactly one of the two is set.
	Task    performatives.TaskRequest `json:"task,omitzero"`
	Request performatives.Content     `json:"request,omitzero"`

	// Receiver is the designated receiver of the recruits' results. Empty means the sender
	// of the PROXY, the only receiver that a broker accepts.
	Receiver performatives.AgentID `json:"designated_receiver,omitempty"`
	// Ticket is the in_reply_to of the deliveries, by which the receiver recognises them: it
	// should be hard to guess. Empty means the id of the PROXY. [Recruit] makes a ticket if
	// its own party is the receiver.
	Ticket string `json:"ticket,omitempty"`
}

// Validate reports a Proxy that does not say which agents it wants, or what for.
func (p Proxy) Validate() error {
	switch {
	case len(p.Capabilities) == 0 && len(p.Agents) == 0:
		return wrongProxy("capabilities", "at least one name, or agents")
	case p.Match != "" && p.Match != performatives.MatchAll && p.Match != performatives.MatchAny:
		return wrongProxy("match_type", "all or any")
	case p.Want != "" && p.Want != WantOne && p.Want != WantAll:
		return wrongProxy("want", "one or all")
	case len(p.Agents) > codons.MaxChildren:
		return wrongProxy("agents", fmt.Sprintf("at most %d", codons.MaxChildren))
	case len(p.Ticket) > performatives.MaxIDLength:
		return wrongProxy("ticket", fmt.Sprintf("at most %d bytes", performatives.MaxIDLength))
	case p.forTask() == !p.Request.IsZero():
		return wrongProxy("task", "a task or a request, and not both")
	case p.forTask():
		return p.Task.Validate()
	}
	return nil
}

// forTask reports whether the agents perform a task.
func (p Proxy) forTask() bool { return p.Task.TaskType != "" }

// wrongProxy returns the refusal of a Proxy with a wrong field.
func wrongProxy(field, want string) error {
	return &performatives.Refusal{Code: performatives.CodeInvalidPayload, Field: field, Text: field + ": want " + want}
}

// ProxyReply is a message of one asked agent: its act and content.
type ProxyReply struct {
	Agent        performatives.AgentID      `json:"agent"`
	Performative performatives.Performative `json:"performative"`
	Content      performatives.Content      `json:"content,omitzero"`
	// Delivered says that the designated receiver has confirmed the recruit's result or
	// failure.
	Delivered bool `json:"delivered,omitempty"`
}

// Result returns the content of an INFORM_RESULT. The error is a [*performatives.Refusal] when
// the agent refused or failed.
func (r ProxyReply) Result() (performatives.InformResult, error) {
	if err := r.Err(); err != nil {
		return performatives.InformResult{}, err
	}
	return performatives.Decode[performatives.InformResult](r.Content)
}

// Err returns a [*performatives.Refusal] when the agent refused or failed, else nil.
func (r ProxyReply) Err() error {
	var payload any
	switch r.Performative { //nolint:exhaustive // the acts that refuse, also without a readable content
	case performatives.ActTaskReject:
		payload, _ = performatives.Decode[performatives.TaskReject](r.Content)
	case performatives.ActRefuse:
		payload, _ = performatives.Decode[performatives.Refuse](r.Content)
	case performatives.ActNotUnderstood:
		payload, _ = performatives.Decode[performatives.NotUnderstood](r.Content)
	case performatives.ActFailure:
		payload, _ = performatives.Decode[performatives.Failure](r.Content)
	default:
		return nil
	}
	refusal, _, _ := performatives.RefusalIn(payload)
	refusal.Code, refusal.From = cmp.Or(refusal.Code, performatives.CodeFailed), r.Agent
	return &refusal
}

// replyOf returns the reply of an agent whose conversation ended with err.
func replyOf(agent performatives.AgentID, err error) ProxyReply {
	f := codons.FailureOf(err)
	r := performatives.Refusal{Act: performatives.ActFailure, Code: f.ErrorCode, Text: f.ErrorText, RetryAfter: f.RetryAfter}
	refuses := []performatives.Performative{performatives.ActTaskReject, performatives.ActRefuse, performatives.ActNotUnderstood}
	if refusal := performatives.RefusalOf(err); refusal != nil && slices.Contains(refuses, refusal.Act) {
		r.Act = refusal.Act
	}
	return ProxyReply{Agent: agent, Performative: r.Act, Content: performatives.ContentOf(r.Payload(nil))}
}

// ProxyReplies is the content of the INFORM that ends a brokering or a recruiting.
type ProxyReplies struct {
	Replies []ProxyReply `json:"replies"` // the final answer of each agent that was asked, in the order in which they answered
}

// ProxyNews is one report of a mediator before its result, in the intermediate_results of a
// STATUS_UPDATE. Either Asked or Reply is set.
type ProxyNews struct {
	Asked []performatives.AgentID `json:"asked,omitempty"` // the agents that the mediator will ask
	Reply *ProxyReply             `json:"reply,omitempty"` // a message of one of them: acceptance, progress or final answer
}

// update returns the STATUS_UPDATE that carries the news.
func (n ProxyNews) update() performatives.StatusUpdate {
	u := performatives.StatusUpdate{Description: "agents were found", Results: performatives.ContentOf(n)}
	if n.Reply != nil {
		u.Description = string(n.Reply.Agent) + " said " + n.Reply.Performative.String()
	}
	return u
}
