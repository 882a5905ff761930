package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/observe"
	"github.com/ribosome-agents/ribosome/wire"
)

// The outcomes of a cancellation.
const (
	outcomeReceipt = "receipt"       // the peer has said that nothing runs any more
	outcomeEnded   = "already_ended" // it ended in another state before CANCEL took effect
	outcomeRunning = "still_running" // the peer may still work
)

// CancelView is the answer of a cancellation.
type CancelView struct {
	Outcome string `json:"outcome"`
	State   string `json:"state,omitempty"` // of the initiator's side, or of the responder's if that has ended for want of an initiator
	partial        // the nodes that have not said what they have
}

// join adds the outcome of a further side. still_running counts most, and already_ended least.
func (v *CancelView) join(other CancelView) {
	order := []string{"", outcomeEnded, outcomeReceipt, outcomeRunning}
	switch cmp.Compare(slices.Index(order, v.Outcome), slices.Index(order, other.Outcome)) {
	case -1:
		*v = other
	case 0:
		v.State = cmp.Or(v.State, other.State)
	}
}

// stopped reports whether a side has ended because of the cancellation, or may still run.
func (v *CancelView) stopped() bool {
	return v.Outcome == outcomeReceipt || v.Outcome == outcomeRunning
}

// sideParam is the parameter of a cancellation that names the only sides which are to end: the
// initiators', or the responders'.
const sideParam = "side"

// The outcomes of a cancellation that has not taken place.
const (
	outcomeUnknown     = "unknown_conversation" // no node that has answered knows it
	outcomeIncomplete  = "incomplete"           // the same, and other nodes have not answered
	outcomeUnreachable = "unreachable"          // no side of it is an agent of a node that has answered
	outcomeNoRow       = "no_row"               // the table of the codon does not let the responder end
)

// withdrawal is the body of POST /api/conversations/{id}/cancel.
type withdrawal struct {
	Reason string `json:"reason,omitempty"`
}

// cancel cancels a conversation on behalf of its initiator, wherever in the cluster that is. If it
// is on none of the nodes, the responder ends its side.
func (h *Handler) cancel(_ wire.Identity, r *http.Request, act *observe.OperatorActed) (any, *failure) {
	act.What, act.Of, act.Conversation = "cancel", r.PathValue("id"), performatives.ConversationID(r.PathValue("id"))
	var body withdrawal
	if err := readBody(r, &body); err != nil && !errors.Is(err, io.EOF) {
		return nil, badRequest("body", `the body has to be JSON such as {"reason":"…"}, or {}`)
	}
	if f := checkReason(body.Reason); f != nil {
		return nil, f
	}
	act.Reason = body.Reason
	only := r.URL.Query().Get(sideParam)
	if only != "" && only != machine.Initiator.String() && only != machine.Responder.String() {
		return nil, badRequest(sideParam, "side has to be initiator or responder")
	}
	ctx, end := context.WithTimeout(r.Context(), maxAct)
	defer end()
	c := &cancellation{h: h, r: r.WithContext(ctx), id: act.Conversation, only: only, peers: h.peers(r), silent: h.lost(r), reason: body.Reason}
	c.sides = h.options.Node.Conversation(c.id)
	c.ends = h.options.Node.Events().Subscribe(events.SubscribeOptions{Capacity: 1 << 14, Kinds: []events.Kind{lifecycle.KindEnded}})
	defer c.ends.Close()
	c.run()
	return c.answer(act)
}

// cancellation is one request to cancel a conversation, and its result. Several sides may have its
// id: those of a group, or those of agents that a program has asked with one id.
type cancellation struct {
	h    *Handler
	r    *http.Request // its context ends after maxAct
	id   performatives.ConversationID
	only string // the role of the sides that may end; empty for both

	reason string // of the operator; empty for none
	ends   *events.Subscription

	peers   []Peer
	sides   []codons.Info            // those at this node that were under way at first
	others  []part[ConversationView] // what other nodes know of it
	silent  []Absent                 // the nodes that have not said what they have
	view    CancelView               // of the sides that were told to end; zero for none
	by      []string                 // the nodes of these sides
	noRow   bool                     // the table of a responder does not let it end
	ended   bool                     // another node has said that its sides had ended
	refused *failure                 // of a node that has a side and has refused to end it; nil for none
	refuser string                   // that node
}

// run has the initiators' sides end, or else those of the responders. The responders at this node
// are told to end before other nodes are asked, unless the initiator may be at one of those: that
// one is asked first.
func (c *cancellation) run() {
	system, own := c.h.options.Node.System(), c.h.options.Node.Name()
	var first, further []Peer
	for _, p := range c.peers {
		if c.may(machine.Initiator) && c.initiates(p) {
			first = append(first, p)
		} else {
			further = append(further, p)
		}
	}
	if c.may(machine.Initiator) {
		if n := codons.Withdraw(system, c.id, codons.ByOperator(c.reason)); n > 0 {
			c.add(own, c.awaitEnds(n, machine.Initiator))
		}
		if !c.view.stopped() {
			c.pass(machine.Initiator, c.askNodes(first))
		}
		if c.view.stopped() {
			return
		}
	}
	stopped := 0
	if c.may(machine.Responder) {
		var err error
		stopped, err = codons.StopWork(system, c.id, codons.ByOperator(c.reason))
		c.noRow = errors.Is(err, codons.ErrNoStop)
	}
	nodes := c.askNodes(further)
	if c.may(machine.Initiator) {
		c.pass(machine.Initiator, nodes)
	}
	var here CancelView
	var awaits sync.WaitGroup
	if stopped > 0 {
		awaits.Go(func() { here = c.awaitEnds(stopped, machine.Responder) })
	}
	if c.may(machine.Responder) && (stopped > 0 || !c.view.stopped()) {
		c.pass(machine.Responder, c.others)
	}
	awaits.Wait()
	if stopped > 0 {
		c.add(own, here)
	}
}

// may reports whether sides with a role may be told to end.
func (c *cancellation) may(role machine.Role) bool { return c.only == "" || c.only == role.String() }

// initiates reports whether another node may have the initiator of a responder at this node.
func (c *cancellation) initiates(p Peer) bool {
	n := c.h.options.Node
	return slices.ContainsFunc(c.sides, func(i codons.Info) bool {
		node, known := n.NodeOf(i.Peer)
		return known && i.Role == machine.Responder && performatives.AgentID(node).Is(performatives.AgentID(p.Node))
	})
}

// add adds the answer of a node whose sides were told to end.
func (c *cancellation) add(node string, v CancelView) {
	c.view.join(v)
	c.by = append(c.by, node)
}

// askNodes asks other nodes, all at once, which sides of the conversation they have, as its view
// does. It returns what those know that do.
func (c *cancellation) askNodes(peers []Peer) []part[ConversationView] {
	asks := c.r.Clone(c.r.Context())
	asks.Method, asks.URL.RawQuery = http.MethodGet, ""
	asks.URL.Path, asks.URL.RawPath = strings.TrimSuffix(c.r.URL.Path, "/cancel"), strings.TrimSuffix(c.r.URL.EscapedPath(), "/cancel")
	known, silent := ask[ConversationView](c.h, asks, peers)
	c.others, c.silent = append(c.others, known...), append(c.silent, silent...)
	return known
}

// pass has other nodes that have sides with a role under way end them, all at once.
func (c *cancellation) pass(role machine.Role, to []part[ConversationView]) {
	asks := c.r.Clone(c.r.Context())
	q := asks.URL.Query()
	q.Set(sideParam, role.String())
	asks.URL.RawQuery = q.Encode()
	peers := slices.DeleteFunc(slices.Clone(c.peers), func(p Peer) bool {
		return !slices.ContainsFunc(to, func(n part[ConversationView]) bool {
			return n.node == p.Node && n.view.Live && slices.ContainsFunc(n.view.Sides, func(s observe.Side) bool { return !s.Ended && s.Role == role.String() })
		})
	})
	body, _ := json.Marshal(withdrawal{c.reason}) // a text can be encoded
	answers, errs := c.h.askPeers(asks, peers, string(body))
	for i, p := range peers {
		c.passed(p.Node, answers[i], errs[i])
	}
}

// passed records what another node has answered to the request to end its sides.
func (c *cancellation) passed(node string, a *answered, err error) {
	var v CancelView
	switch {
	case err != nil:
		c.add(node, CancelView{Outcome: outcomeRunning})
	case a.status == http.StatusNotFound:
	case a.status == http.StatusConflict:
		c.noRow = c.noRow || a.failure().Error.Code == outcomeNoRow
	case a.status == http.StatusOK && json.Unmarshal(a.body, &v) == nil:
		c.ended = true
		c.add(node, v)
	default:
		c.refused, c.refuser = a.failure(), node
	}
}

// awaitEnds waits until a number of sides with a role have ended.
func (c *cancellation) awaitEnds(sides int, role machine.Role) (v CancelView) {
	check := time.NewTicker(time.Second) // in case that an event was lost
	defer check.Stop()
	for gone := false; sides > 0; {
		select {
		case record := <-c.ends.C:
			if e, ok := record.Event.(lifecycle.Ended); ok && e.Conversation == c.id && e.Role == role {
				v.join(ended(role, e.State, e.Code))
				sides--
			}
		case <-check.C:
			state, over := c.h.endOf(c.id, role)
			if gone && over { // and the event has not come since the last check
				v.join(ended(role, machine.State(state), ""))
				return v
			}
			gone = over
		case <-c.r.Context().Done():
			return CancelView{Outcome: outcomeRunning}
		}
	}
	return v
}

// ended returns the outcome of a conversation of which a side has come to a terminal state. code is
// why it is no good end; empty if that is not known. After [codons.StopWork], a responder says by
// it whether something still runs.
func ended(role machine.Role, state machine.State, code performatives.Code) CancelView {
	switch {
	case state == standard.StateCancelled, role == machine.Responder && state == standard.StateFailed && code == performatives.CodeCanceled:
		return CancelView{Outcome: outcomeReceipt, State: string(state)}
	case state == standard.StateAbandoned, state == standard.StateTimedOut, state == standard.StateFailed:
		return CancelView{Outcome: outcomeRunning, State: string(state)}
	}
	return CancelView{Outcome: outcomeEnded, State: string(state)}
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

// answer returns the answer, and notes the outcome. A side that cannot end, or whose node has
// refused to end it, may still run.
func (c *cancellation) answer(act *observe.OperatorActed) (any, *failure) {
	if !c.view.stopped() {
		return c.notCancelled(act)
	}
	if c.noRow || c.refused != nil {
		c.view.join(CancelView{Outcome: outcomeRunning})
	}
	c.view.lack(c.silent)
	act.Outcome = c.view.Outcome
	if by := slices.Compact(c.by); len(by) > 1 || by[0] != c.h.options.Node.Name() {
		act.Outcome = strings.Join(by, ", ") + ": " + c.view.Outcome
	}
	return c.view, nil
}

// notCancelled is answer for a conversation that no node which has answered has a side of under
// way. That the record of the node has no such side does not say that it has ended: there is no
// side of agents that are not of this node.
func (c *cancellation) notCancelled(act *observe.OperatorActed) (any, *failure) {
	own, known := c.h.options.Recorder.Conversation(c.id)
	state, _ := c.h.endOf(c.id, machine.Initiator)
	live, ended := own.Live, c.ended || len(own.Sides) > 0
	for _, n := range c.others {
		known, live, ended = true, live || n.view.Live, ended || !n.view.Live && len(n.view.Sides) > 0
		for _, s := range n.view.Sides {
			if s.Role == machine.Initiator.String() && (s.Ended || !n.view.Live) {
				state = cmp.Or(state, s.State)
			}
		}
	}
	state = cmp.Or(c.view.State, state)
	missing := unanswered(c.silent)
	switch {
	case c.refused != nil:
		act.Outcome = c.refuser + ": " + c.refused.text()
		if c.refused.Error.Code == "" {
			return nil, failed(http.StatusBadGateway, "node_unreachable", "the node "+c.refuser+" does not answer as a node does: "+c.refused.text())
		}
		return nil, c.refused
	case c.noRow:
		return nil, failed(http.StatusConflict, outcomeNoRow, "its initiator is not an agent of a node that has answered, and the table of its codon has no row by which the responder can end now: only its initiator can cancel it"+missing)
	case c.view.Outcome != "", c.only == machine.Initiator.String() && state != "": // it has ended
	case !known && missing == "":
		return nil, notFound(outcomeUnknown, "no conversation with this id is under way or recorded")
	case !known:
		return nil, notFound(outcomeIncomplete, "no node that has answered knows it"+missing)
	case live || !ended:
		return nil, failed(http.StatusConflict, outcomeUnreachable, "neither side of it is an agent of a node that has answered: the nodes only pass its messages on, such as between two programs that have connected as agents, and only its initiator can cancel it"+missing)
	}
	act.Outcome = outcomeEnded
	return CancelView{outcomeEnded, state, partial{c.silent}}, nil
}
