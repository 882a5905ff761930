package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/approval"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/observe"
	"github.com/ribosome-agents/ribosome/wire"
)

// maxAct is how long a request waits for what it brings about: the end of a conversation, or of a drain.
const maxAct = 30 * time.Second

// errOperator is the reason that the caller of a cancelled conversation gets.
var errOperator = errors.New("an operator has cancelled the conversation")

// The outcomes of a cancellation.
const (
	outcomeReceipt = "receipt"       // the peer has said that nothing runs any more
	outcomeEnded   = "already_ended" // it ended in another state before CANCEL took effect
	outcomeRunning = "still_running" // the peer may still work
)

// cancelView is the answer of a cancellation.
type cancelView struct {
	Outcome string `json:"outcome"`
	State   string `json:"state,omitempty"` // of the initiator's side
}

func (h *Handler) cancel(_ wire.Identity, w http.ResponseWriter, r *http.Request) observe.OperatorActed {
	id := performatives.ConversationID(r.PathValue("id"))
	act := observe.OperatorActed{What: "cancel", Of: string(id)}
	n := h.options.Node
	ends := n.Events().Subscribe(actors.SubscribeOptions{Capacity: 1 << 14, Kinds: []actors.Kind{codons.KindTransition}})
	defer ends.Close()
	if !codons.Withdraw(n.System(), id, errOperator) {
		act.Outcome = h.notCancelled(w, r, id)
		return act
	}
	patience := time.NewTimer(maxAct)
	defer patience.Stop()
	check := time.NewTicker(time.Second) // in case that the event was lost
	defer check.Stop()
	v := cancelView{Outcome: outcomeRunning}
	for waiting := true; waiting; {
		select {
		case record := <-ends.C:
			t, ok := record.Event.(codons.Transition)
			if waiting = !ok || t.Conversation != id || t.Role != machine.Initiator || !t.Ended; !waiting {
				v = ended(string(t.To))
			}
		case <-check.C:
			if state, over := h.endOf(id); over {
				v, waiting = ended(state), false
			}
		case <-patience.C:
			waiting = false
		case <-r.Context().Done():
			waiting = false
		}
	}
	answer(w, http.StatusOK, v)
	act.Outcome = v.Outcome
	return act
}

// ended returns the outcome of a conversation whose initiator has come to a terminal state.
func ended(state string) cancelView {
	switch machine.State(state) { //nolint:exhaustive // the states that a cancellation brings about
	case codons.StateCancelled:
		return cancelView{outcomeReceipt, state}
	case codons.StateAbandoned, codons.StateTimedOut, codons.StateFailed:
		return cancelView{outcomeRunning, state}
	}
	return cancelView{outcomeEnded, state}
}

// endOf returns the recorded state of the initiator's side, and whether no side of the initiator is under way.
func (h *Handler) endOf(id performatives.ConversationID) (state string, over bool) {
	for _, i := range h.options.Node.Conversation(id) {
		if i.Role == machine.Initiator {
			return "", false
		}
	}
	c, _ := h.options.Recorder.Conversation(id)
	for _, s := range c.Sides {
		if s.Role == machine.Initiator.String() {
			state = s.State
		}
	}
	return state, true
}

// notCancelled answers a cancellation of a conversation that no agent of the node has under way as its initiator. That the record of the node has no side under way
// does not say that it has ended: there is no side of agents that are not of this node.
func (h *Handler) notCancelled(w http.ResponseWriter, r *http.Request, id performatives.ConversationID) (outcome string) {
	c, found := h.options.Recorder.Conversation(id)
	seen := slices.ContainsFunc(c.Sides, endedInitiator) // the responder's side may end a little later
	var others elsewhere
	if !seen {
		if others = h.cancelElsewhere(w, r); others.outcome != "" {
			return others.outcome
		}
	}
	switch {
	case !found && !others.known:
		code, text := "unknown_conversation", "no conversation with this id is under way or recorded"
		if len(others.silent) > 0 {
			code, text = "incomplete", "no node that has answered knows it; no answer came from "+strings.Join(others.silent, ", ")
		}
		fail(w, http.StatusNotFound, code, text)
		return code
	case !seen && (c.Live || len(c.Sides) == 0 && !others.ended):
		fail(w, http.StatusConflict, "unreachable", "its initiator is not an agent of a node that has answered, such as a program that has connected as an agent: only its initiator can cancel it")
		return "unreachable"
	}
	state, _ := h.endOf(id)
	answer(w, http.StatusOK, cancelView{outcomeEnded, state})
	return outcomeEnded
}

func endedInitiator(s observe.Side) bool { return s.Ended && s.Role == machine.Initiator.String() }

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
	Approve bool   `json:"approve"`
	Reason  string `json:"reason"`
}

func (h *Handler) decide(_ wire.Identity, w http.ResponseWriter, r *http.Request) observe.OperatorActed {
	act := observe.OperatorActed{What: "decide", Of: r.PathValue("id"), Outcome: "invalid"}
	var d decision
	if err := readBody(r, &d); err != nil {
		fail(w, http.StatusBadRequest, "body", `the body has to be JSON such as {"approve":true,"reason":"…"}`)
		return act
	}
	if act.What = "deny"; d.Approve {
		act.What = "approve"
	}
	o, open := h.step(act.Of)
	err := approval.ErrNotOpen
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
	if d.Approve {
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

// drain has the node drain. The name of the node has to be part of the request, so that a wrong address drains no other one.
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
