package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/ribosome-agents/ribosome/codons/approval"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/observe"
	"github.com/ribosome-agents/ribosome/wire"
)

// maxAct is how long a request waits for what it brings about: the end of a conversation, or of a
// drain.
const maxAct = 30 * time.Second

// StepView is a step that waits for a decision. Its content is the agent's, masked.
type StepView struct {
	ID           int                          `json:"id"`   // on its node
	Node         string                       `json:"node"` // whose queue has it
	From         performatives.AgentID        `json:"from"`
	Conversation performatives.ConversationID `json:"conversation_id"`
	Since        time.Time                    `json:"since"`
	Until        time.Time                    `json:"until,omitzero"`
	Step         json.RawMessage              `json:"step"`
}

// ApprovalList is the answer of GET /api/approvals.
type ApprovalList struct {
	Approvals []StepView `json:"approvals"`
	partial
}

func (h *Handler) approvals(*http.Request) (ApprovalList, *failure) {
	v := ApprovalList{Approvals: []StepView{}}
	if q := h.options.Approvals; q != nil {
		for _, o := range q.Open() {
			v.Approvals = append(v.Approvals, StepView{o.ID, h.options.Node.Name(), o.From, o.Conversation, o.Since, o.Until, h.options.Recorder.Masked(o.Step)})
		}
	}
	return v, nil
}

// decision is the body of POST /api/approvals/{id}.
type decision struct {
	Approve *bool  `json:"approve"` // required
	Reason  string `json:"reason"`
}

// maxReason is the longest reason of an act, in bytes.
const maxReason = 1000

// checkReason refuses a reason that is too long.
func checkReason(reason string) *failure {
	if len(reason) <= maxReason {
		return nil
	}
	return badRequest("reason", fmt.Sprintf("the reason has %d bytes; want at most %d", len(reason), maxReason))
}

func (h *Handler) decide(_ wire.Identity, r *http.Request, act *observe.OperatorActed) (any, *failure) {
	act.What, act.Of = "decide", r.PathValue("id")
	var d decision
	err := readBody(r, &d)
	if err == nil && d.Approve == nil {
		err = errors.New("approve is missing: it has to be true or false")
	}
	if err != nil {
		return nil, badRequest("body", `the body has to be JSON such as {"approve":true,"reason":"…"}: `+err.Error())
	}
	if act.What = "deny"; *d.Approve {
		act.What = "approve"
	}
	if f := checkReason(d.Reason); f != nil {
		return nil, f
	}
	act.Reason = d.Reason
	o, open := h.step(act.Of)
	err = approval.ErrNotOpen
	if open {
		act.Agent, act.Conversation = o.From, o.Conversation
		err = h.verdict(o.ID, d)
	}
	if err != nil {
		return nil, notFound("not_open", "no open step has this number: it was decided or withdrawn, or its deadline has passed")
	}
	act.Outcome = "decided"
	return status{act.Outcome}, nil
}

// step returns the open step with a number.
func (h *Handler) step(number string) (step approval.Open, open bool) {
	id, err := strconv.Atoi(number)
	if err != nil || h.options.Approvals == nil {
		return approval.Open{}, false
	}
	all := h.options.Approvals.Open()
	i := slices.IndexFunc(all, func(o approval.Open) bool { return o.ID == id })
	if i < 0 {
		return approval.Open{}, false
	}
	return all[i], true
}

func (h *Handler) verdict(id int, d decision) error {
	if *d.Approve {
		return h.options.Approvals.Approve(id, d.Reason)
	}
	return h.options.Approvals.Deny(id, d.Reason)
}

// DrainView is the answer of POST /api/node/drain.
type DrainView struct {
	Node    string `json:"node"`
	Epoch   uint64 `json:"epoch"` // of this run of the node; zero without a cluster
	Outcome string `json:"outcome"`
	Lost    string `json:"lost"` // which agents were not handed over; empty for none
}

// The outcomes of a drain.
const (
	outcomeHandedOver = "handed_over" // the node leaves, and its program ends
	outcomeDraining   = "draining"    // it takes longer than maxAct, and goes on; the same request waits for it
)

// drain has the node drain. The name of the node has to be part of the request, so that a wrong
// address drains no other one.
func (h *Handler) drain(who wire.Identity, r *http.Request, act *observe.OperatorActed) (any, *failure) {
	n := h.options.Node
	act.What, act.Of = "drain", n.Name()
	if r.URL.Query().Get(nodeParam) == "" {
		return nil, badRequest("node", "say which node is to drain: POST /api/node/drain?node=NAME; GET /api/members lists those that there are")
	}
	v, err := DrainView{Node: n.Name(), Outcome: outcomeHandedOver}, error(performatives.CodeForbidden)
	for _, m := range n.Members() {
		if m.Name == n.Name() {
			v.Epoch = m.Epoch
		}
	}
	if h.options.Drain != nil {
		ctx, cancel := context.WithTimeout(r.Context(), maxAct)
		defer cancel()
		v.Lost, err = h.options.Drain(ctx, string(who.Name))
	}
	switch {
	case errors.Is(err, performatives.CodeForbidden):
		return nil, failed(http.StatusForbidden, "forbidden", "only an operator of the node "+n.Name()+" may drain it; its --operators says who is one")
	case err != nil:
		v.Outcome = outcomeDraining
	}
	if act.Outcome = v.Outcome; v.Lost != "" {
		act.Outcome += ": " + v.Lost
	}
	return v, nil
}
