package api

import (
	"net/http"

	"github.com/ribosome-agents/ribosome/actors/events"
)

// Through has the handler send requests to other nodes through t.
func (h *Handler) Through(t http.RoundTripper) { h.client.Transport = t }

// Patterns returns the patterns of all routes but the one of what there is not.
func (h *Handler) Patterns() []string { return h.patterns }

// Frame returns the text of an event for a reader without filters.
func (h *Handler) Frame(record events.Record) string { return h.event(filter{}, record) }

// Answers has a value of the type of the answer of each route that answers with JSON.
var Answers = map[string]any{
	"GET /healthz": status{}, "GET /readyz": readiness{}, "GET /api/node": NodeView{}, "GET /api/nodes": NodeList{}, "POST /api/node/drain": DrainView{},
	"GET /api/members": MemberList{}, "GET /api/agents": AgentList{}, "GET /api/refusals": refusalList{}, "GET /api/failures": failureList{}, "GET /api/rates": rateView{},
	"GET /api/conversations": ConversationList{}, "GET /api/conversations/{id}": ConversationView{}, "GET /api/traces/{id}": traceView{}, "GET /api/conversations/{id}/tree": TreeView{}, "GET /api/session": SessionView{},
	"POST /api/conversations/{id}/cancel": CancelView{}, "GET /api/codons/{name}": codonView{}, "GET /api/approvals": ApprovalList{},
	"POST /api/approvals/{id}": status{},
}

// Values of the types of other JSON texts: a refused request, the body of a decision, and the data
// of three kinds of events.
var (
	Failed   = failure{}
	Decided  = decision{}
	Live     = liveMessage{}
	Overload = liveOverload{}
	Stands   = nodeState{}
)

// Complete returns an answer all of whose members have values as the handler can make it: a list
// has no messages, and the keys of what is queued are priorities.
func Complete(answer any) any {
	switch v := answer.(type) {
	case ConversationList:
		v.Conversations[0].Messages = nil
		return v
	case TreeView:
		v.Conversations[0].Messages = nil
		return v
	case AgentList:
		v.Agents[0].Queued = map[string]int{"low": 1, "normal": 1, "high": 1, "urgent": 1}
		return v
	}
	return answer
}

// Addresses returns how many addresses have counts of their refusals.
func Addresses(h *Handler) int {
	h.denied.mu.Lock()
	defer h.denied.mu.Unlock()
	return len(h.denied.by)
}
