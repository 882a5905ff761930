package api

import (
	"net/http"
	"slices"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/observe"
)

// failureView is a failure of an agent, and the node that has recorded it.
type failureView struct {
	observe.Failure
	Node string `json:"node"`
}

// failureList is the answer of GET /api/failures.
type failureList struct {
	Failures []failureView `json:"failures"`
	partial
}

func (h *Handler) failures(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	limit, ok := limitIn(w, r)
	if !ok {
		return
	}
	all := h.failuresOf(performatives.AgentID(q.Get("agent")), performatives.ConversationID(q.Get("conversation")))
	answer(w, http.StatusOK, failureList{Failures: all[:min(limit, len(all))]})
}

// failuresOf returns the failures of this node, as [observe.Recorder.Failures] does.
func (h *Handler) failuresOf(agent performatives.AgentID, in performatives.ConversationID) []failureView {
	all := []failureView{}
	for _, f := range h.options.Recorder.Failures(agent, in) {
		all = append(all, failureView{f, h.options.Node.Name()})
	}
	return all
}

// mergeFailures lists the latest failures of the nodes.
func mergeFailures(r *http.Request, parts []part[failureList]) (v failureList) {
	limit, _ := limitOf(r) // this node has answered
	v.Failures = []failureView{}
	for _, p := range parts {
		v.Failures = append(v.Failures, p.view.Failures...)
	}
	latestFirst(v.Failures)
	v.Failures = v.Failures[:min(limit, len(v.Failures))]
	return v
}

func latestFirst(all []failureView) {
	slices.SortStableFunc(all, func(a, b failureView) int { return b.Time.Compare(a.Time) })
}
