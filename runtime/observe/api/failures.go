package api

import (
	"net/http"
	"slices"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/observe"
)

// failureList is the answer of GET /api/failures.
type failureList struct {
	Failures []observe.Failure `json:"failures"`
	partial
}

func (h *Handler) failures(r *http.Request) (v failureList, f *failure) {
	q := r.URL.Query()
	limit, f := limitOf(r)
	if f != nil {
		return v, f
	}
	all := h.options.Recorder.Failures(performatives.AgentID(q.Get("agent")), performatives.ConversationID(q.Get("conversation")))
	v.Failures = all[:min(limit, len(all))]
	return v, nil
}

// mergeFailures lists the latest failures of the nodes.
func mergeFailures(r *http.Request, parts []part[failureList]) (v failureList) {
	limit, _ := limitOf(r) // this node has answered
	v.Failures = listed(parts, func(l failureList) []observe.Failure { return l.Failures })
	latestFirst(v.Failures)
	v.Failures = v.Failures[:min(limit, len(v.Failures))]
	return v
}

func latestFirst(all []observe.Failure) {
	slices.SortStableFunc(all, func(a, b observe.Failure) int { return b.Time.Compare(a.Time) })
}
