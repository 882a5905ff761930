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
	State   string `json:"state,omitempty"` // of the initiator's side, or of the responder's if that has ended for want of an initiator
}

// sideParam is the parameter of a cancellation that names the only side which is to end: the initiator's, or the responder's.
const sideParam = "side"

// The outcomes of a cancellation that has not taken place.
const (
	outcomeUnknown     = "unknown_conversation" // no node that has answered knows it
	outcomeIncomplete  = "incomplete"           // the same, and other nodes have not answered
	outcomeUnreachable = "unreachable"          // no side of it is an agent of a node that has answered
	outcomeNoRow       = "no_row"               // the table of the codon does not let the responder end
)

// cancel cancels a conversation on behalf of its initiator, wherever in the cluster that is. If it is on none of the nodes, the responder ends its side.
func (h *Handler) cancel(_ wire.Identity, w http.ResponseWriter, r *http.Request) observe.OperatorActed {
	act := observe.OperatorActed{What: "cancel", Of: r.PathValue("id")}
	only := r.URL.Query().Get(sideParam)
	switch only {
	case "", machine.Initiator.String(), machine.Responder.String():
	default:
		fail(w, http.StatusBadRequest, sideParam, "side has to be initiator or responder")
		act.Outcome = sideParam
		return act
	}
	var others elsewhere
	for _, role := range []machine.Role{machine.Initiator, machine.Responder} {
		if only != "" && only != role.String() {
			continue
		}
		var done bool
		if act.Outcome, done = h.cancelSide(w, r, role, &others); done {
			return act
		}
	}
	act.Outcome = h.notCancelled(w, performatives.ConversationID(act.Of), others)
	return act
}

// cancelSide has a side end at this node, or at another one, and answers the request if one has it.
func (h *Handler) cancelSide(w http.ResponseWriter, r *http.Request, role machine.Role, others *elsewhere) (outcome string, done bool) {
	id, n := performatives.ConversationID(r.PathValue("id")), h.options.Node
	ends := n.Events().Subscribe(actors.SubscribeOptions{Capacity: 1 << 14, Kinds: []actors.Kind{codons.KindEnded}})
	defer ends.Close()
	err := codons.ErrNoWork
	switch {
	case role == machine.Responder:
		_, err = codons.StopWork(n.System(), id)
	case codons.Withdraw(n.System(), id, errOperator) > 0:
		err = nil
	default:
		if c, _ := h.options.Recorder.Conversation(id); slices.ContainsFunc(c.Sides, endedInitiator) { // the responder's side may end a little later
			state, _ := h.endOf(id, role)
			answer(w, http.StatusOK, cancelView{outcomeEnded, state})
			return outcomeEnded, true
		}
	}
	if err == nil {
		v := h.awaitEnd(r.Context(), ends, id, role)
		answer(w, http.StatusOK, v)
		return v.Outcome, true
	}
	others.noRow = others.noRow || errors.Is(err, codons.ErrNoStop)
	h.cancelElsewhere(w, r, role, others)
	return others.outcome, others.outcome != ""
}

// awaitEnd waits until a side has ended, for maxAct at most.
func (h *Handler) awaitEnd(ctx context.Context, ends *actors.Subscription, id performatives.ConversationID, role machine.Role) cancelView {
	ctx, cancel := context.WithTimeout(ctx, maxAct)
	defer cancel()
	check := time.NewTicker(time.Second) // in case that the event was lost
	defer check.Stop()
	for {
		select {
		case record := <-ends.C:
			if e, ok := record.Event.(codons.Ended); ok && e.Conversation == id && e.Role == role {
				return ended(role, e.State, e.Code)
			}
		case <-check.C:
			if state, over := h.endOf(id, role); over {
				return ended(role, machine.State(state), "")
			}
		case <-ctx.Done():
			return cancelView{Outcome: outcomeRunning}
		}
	}
}

// ended returns the outcome of a conversation of which a side has come to a terminal state. code is why it is no good end; empty if that is not known. After [codons.StopWork],
// a responder says by it whether something still runs.
func ended(role machine.Role, state machine.State, code performatives.Code) cancelView {
	switch {
	case state == codons.StateCancelled, role == machine.Responder && state == codons.StateFailed && code == performatives.CodeCanceled:
		return cancelView{outcomeReceipt, string(state)}
	case state == codons.StateAbandoned, state == codons.StateTimedOut, state == codons.StateFailed:
		return cancelView{outcomeRunning, string(state)}
	}
	return cancelView{outcomeEnded, string(state)}
}

// endOf returns the recorded state of a side, and whether it is not under way.
func (h *Handler) endOf(id performatives.ConversationID, role machine.Role) (state string, over bool) {
	for _, i := range h.options.Node.Conversation(id) {
		if i.Role == role {
			return "", false
		}
	}
	c, _ := h.options.Recorder.Conversation(id)
	for _, s := range c.Sides {
		if s.Role == role.String() {
			state = s.State
		}
	}
	return state, true
}

// notCancelled answers a cancellation of a conversation that no node which has answered has a side of under way. That the record of the node has no such side does not
// say that it has ended: there is no side of agents that are not of this node.
func (h *Handler) notCancelled(w http.ResponseWriter, id performatives.ConversationID, others elsewhere) (outcome string) {
	c, found := h.options.Recorder.Conversation(id)
	switch {
	case others.noRow:
		fail(w, http.StatusConflict, outcomeNoRow, "its initiator is not an agent of a node that has answered, and the table of its codon has no row by which the responder can end now: only its initiator can cancel it")
		return outcomeNoRow
	case !found && !others.known:
		code, text := outcomeUnknown, "no conversation with this id is under way or recorded"
		if len(others.silent) > 0 {
			code, text = outcomeIncomplete, "no node that has answered knows it; no answer came from "+strings.Join(others.silent, ", ")
		}
		fail(w, http.StatusNotFound, code, text)
		return code
	case c.Live || len(c.Sides) == 0 && !others.ended:
		fail(w, http.StatusConflict, outcomeUnreachable, "neither side of it is an agent of a node that has answered: the nodes only pass its messages on, such as between two programs that have connected as agents, and only its initiator can cancel it")
		return outcomeUnreachable
	}
	state, _ := h.endOf(id, machine.Initiator)
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
