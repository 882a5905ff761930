package codons

import (
	"fmt"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Want is how many agents a [Proxy] is for.
type Want string

// The ways to want agents. The zero value stands for WantOne.
const (
	WantOne Want = "one" // the first that takes it on
	WantAll Want = "all" // all that are found, each with an equal share of the mediator's budget
)

// Proxy is the content of PROXY: which agents are wanted, and what is to be asked
// of them (FIPA proxy, SC00037J). It must not be changed once it is sent.
type Proxy struct {
	// Capabilities are what an agent must have, all of them unless Match says any.
	Capabilities []string                `json:"capabilities,omitempty"`
	Match        performatives.MatchType `json:"match_type,omitempty"`
	// Agents, when not empty, are the only ones that may be asked, at most [MaxChildren].
	Agents []performatives.AgentID `json:"agents,omitempty"`
	Want   Want                    `json:"want,omitempty"`

	// Task is what they are asked to perform; or Request what they are asked to do,
	// the content of a REQUEST, which only a broker passes on.
	Task    performatives.TaskRequest `json:"task,omitzero"`
	Request performatives.Content     `json:"request,omitzero"`

	// Receiver is the designated receiver, to whom those recruited deliver. Empty
	// means who sends the PROXY. A broker passes on to nobody else.
	Receiver performatives.AgentID `json:"designated_receiver,omitempty"`
	// Ticket is what those recruited refer to as they deliver (in_reply_to), so that the
	// receiver can tell them from others: it should be hard to guess. Without it, they
	// refer to the PROXY. [Recruit] makes one where the deliveries come to itself.
	Ticket string `json:"ticket,omitempty"`
}

// Validate checks that the Proxy says whom it wants and for what.
func (p Proxy) Validate() error {
	switch {
	case len(p.Capabilities) == 0 && len(p.Agents) == 0:
		return wrongProxy("capabilities", "at least one name, or agents")
	case p.Match != "" && p.Match != performatives.MatchAll && p.Match != performatives.MatchAny:
		return wrongProxy("match_type", "all or any")
	case p.Want != "" && p.Want != WantOne && p.Want != WantAll:
		return wrongProxy("want", "one or all")
	case len(p.Agents) > MaxChildren:
		return wrongProxy("agents", fmt.Sprintf("at most %d", MaxChildren))
	case len(p.Ticket) > performatives.MaxIDLength:
		return wrongProxy("ticket", fmt.Sprintf("at most %d bytes", performatives.MaxIDLength))
	case p.forTask() == !p.Request.IsZero():
		return wrongProxy("task", "a task or a request, and not both")
	case p.forTask():
		return p.Task.Validate()
	}
	return nil
}

// forTask reports whether it is a task that is asked for.
func (p Proxy) forTask() bool { return p.Task.TaskType != "" }

func wrongProxy(field, want string) error {
	return &performatives.Refusal{Code: performatives.CodeInvalidPayload, Field: field, Text: field + ": want " + want}
}

// ProxyReply is what one agent said to what it was asked: its act, and the content.
type ProxyReply struct {
	Agent        performatives.AgentID      `json:"agent"`
	Performative performatives.Performative `json:"performative"`
	Content      performatives.Content      `json:"content,omitzero"`
	// Delivered says, of one who was recruited, that the designated receiver has
	// confirmed what came of its task, be it a failure.
	Delivered bool `json:"delivered,omitempty"`
}

// Result returns the content of an INFORM_RESULT, or why there is none: a
// [*performatives.Refusal].
func (r ProxyReply) Result() (performatives.InformResult, error) {
	if err := r.Err(); err != nil {
		return performatives.InformResult{}, err
	}
	return performatives.Decode[performatives.InformResult](r.Content)
}

// Err returns what the agent turned it down with, or failed with, as a
// [*performatives.Refusal]; nil when it did neither.
func (r ProxyReply) Err() error {
	var code performatives.Code
	var text string
	switch r.Performative { //nolint:exhaustive // the acts that turn down
	case performatives.ActTaskReject:
		p, _ := performatives.Decode[performatives.TaskReject](r.Content) // without a content it turns down even so
		code, text = p.ReasonCode, p.ReasonText
	case performatives.ActRefuse:
		p, _ := performatives.Decode[performatives.Refuse](r.Content)
		code, text = p.ReasonCode, p.ReasonText
	case performatives.ActNotUnderstood:
		p, _ := performatives.Decode[performatives.NotUnderstood](r.Content)
		code, text = p.ReasonCode, p.ReasonText
	case performatives.ActFailure:
		p, _ := performatives.Decode[performatives.Failure](r.Content)
		code, text = p.ErrorCode, p.ErrorText
	default:
		return nil
	}
	if code == "" {
		code = performatives.CodeFailed
	}
	return &performatives.Refusal{Code: code, Text: text, Act: r.Performative, From: r.Agent}
}

// turnedDown is the reply of an agent that a conversation with ended in err.
func turnedDown(agent performatives.AgentID, err error) ProxyReply {
	f := failureOf(err)
	r := ProxyReply{Agent: agent, Performative: performatives.ActFailure}
	if refusal := asRefusal(err); refusal != nil && refusal.Act != 0 {
		r.Performative = refusal.Act
	}
	switch r.Performative { //nolint:exhaustive // the rest is a failure
	case performatives.ActTaskReject:
		r.Content = performatives.ContentOf(performatives.TaskReject{ReasonCode: f.ErrorCode, ReasonText: f.ErrorText})
	case performatives.ActRefuse:
		r.Content = performatives.ContentOf(performatives.Refuse{ReasonCode: f.ErrorCode, ReasonText: f.ErrorText})
	case performatives.ActNotUnderstood:
		r.Content = performatives.ContentOf(performatives.NotUnderstood{ReasonCode: f.ErrorCode, ReasonText: f.ErrorText})
	default:
		r.Performative = performatives.ActFailure
		r.Content = performatives.ContentOf(f)
	}
	return r
}

// ProxyReplies is the content of the INFORM that ends a brokering or a recruiting.
type ProxyReplies struct {
	Replies []ProxyReply `json:"replies"` // the last word of each agent that took it on or was to, in no order
}

// ProxyNews is what a mediator says meanwhile, the intermediate results of a
// STATUS_UPDATE: whom it is about to ask, or what one of them has just said: that
// it took the task on, how far it is, or its last word.
type ProxyNews struct {
	Asked []performatives.AgentID `json:"asked,omitempty"`
	Reply *ProxyReply             `json:"reply,omitempty"`
}

// update is the STATUS_UPDATE of news.
func (n ProxyNews) update() performatives.StatusUpdate {
	u := performatives.StatusUpdate{Description: "agents were found", Results: performatives.ContentOf(n)}
	if n.Reply != nil {
		u.Description = string(n.Reply.Agent) + " said " + n.Reply.Performative.String()
	}
	return u
}
