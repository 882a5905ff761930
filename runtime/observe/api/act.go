package api

import (
	"context"
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

// stepView is a step that waits for a decision. Its content is the agent's, masked.
type stepView struct {
	ID           int                          `json:"id"`   // on its node
	Node         string                       `json:"node"` // whose queue has it
	From         performatives.AgentID        `json:"from"`
	Conversation performatives.ConversationID `json:"conversation_id"`
	Since        time.Time                    `json:"since"`
	Until        time.Time                    `json:"until,omitzero"`
	Step         any                          `json:"step"`
}

// approvalList is the answer of GET /api/approvals.
type approvalList struct {
	Approvals []stepView `json:"approvals"`
	partial
}

func (h *Handler) approvals(w http.ResponseWriter, _ *http.Request) {
	all := []stepView{}
	if q := h.options.Approvals; q != nil {
		for _, o := range q.Open() {
			all = append(all, stepView{o.ID, h.options.Node.Name(), o.From, o.Conversation, o.Since, o.Until, h.options.Recorder.Masked(o.Step)})
		}
	}
	answer(w, http.StatusOK, approvalList{Approvals: all})
}

// decision is the body of POST /api/approvals/{id}.
type decision struct {
	Approve *bool  `json:"approve"` // required
	Reason  string `json:"reason"`
}

// maxReason is the longest reason of an act, in bytes.
const maxReason = 1000

// badReason answers a request whose reason is too long.
func badReason(w http.ResponseWriter, reason string) bool {
	if len(reason) <= maxReason {
		return false
	}
	fail(w, http.StatusBadRequest, "reason", fmt.Sprintf("the reason has %d bytes; want at most %d", len(reason), maxReason))
	return true
}

func (h *Handler) decide(_ wire.Identity, w http.ResponseWriter, r *http.Request) observe.OperatorActed {
	act := observe.OperatorActed{What: "decide", Of: r.PathValue("id"), Outcome: "invalid"}
	var d decision
	err := readBody(r, &d)
	if err == nil && d.Approve == nil {
		err = errors.New("approve is missing: it has to be true or false")
	}
	if err != nil {
		fail(w, http.StatusBadRequest, "body", `the body has to be JSON such as {"approve":true,"reason":"…"}: `+err.Error())
		return act
	}
	if act.What = "deny"; *d.Approve {
		act.What = "approve"
	}
	if badReason(w, d.Reason) {
		return act
	}
	act.Reason = d.Reason
	o, open := h.step(act.Of)
	err = approval.ErrNotOpen
	if open {
		act.Agent, act.Conversation = o.From, o.Conversation
		err = h.verdict(o.ID, d)
	}
	if err != nil {
		act.Outcome = "not_open"
		fail(w, http.StatusNotFound, "not_open", "no open step has this number: it was decided or withdrawn, or its deadline has passed")
		return act
	}
	act.Outcome = "decided"
	answer(w, http.StatusOK, status{"decided"})
	return act
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

// drainView is the answer of POST /api/node/drain.
type drainView struct {
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
func (h *Handler) drain(who wire.Identity, w http.ResponseWriter, r *http.Request) observe.OperatorActed {
	n := h.options.Node
	act := observe.OperatorActed{What: "drain", Of: n.Name(), Outcome: "forbidden"}
	if r.URL.Query().Get(nodeParam) == "" {
		act.Outcome = "node"
		fail(w, http.StatusBadRequest, "node", "say which node is to drain: POST /api/node/drain?node=NAME; GET /api/members lists those that there are")
		return act
	}
	v, err := drainView{Node: n.Name(), Outcome: outcomeHandedOver}, error(performatives.CodeForbidden)
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
		fail(w, http.StatusForbidden, "forbidden", "only an operator of the node "+n.Name()+" may drain it; its --operators says who is one")
		return act
	case err != nil:
		v.Outcome = outcomeDraining
	}
	if act.Outcome = v.Outcome; v.Lost != "" {
		act.Outcome += ": " + v.Lost
	}
	answer(w, http.StatusOK, v)
	return act
}
