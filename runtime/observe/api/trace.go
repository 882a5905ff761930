package api

import (
	"net/http"

	"github.com/ribosome-agents/ribosome/runtime/observe"
)

// traceView is the answer of GET /api/traces/{id}.
type traceView struct {
	observe.Trace
	partial
}

func (h *Handler) trace(r *http.Request) (traceView, *failure) {
	t, ok := h.options.Recorder.Trace(r.PathValue("id"))
	if !ok {
		return traceView{}, notFound("unknown_trace", "no message of this trace is recorded on this node")
	}
	return traceView{Trace: t}, nil
}

// mergeTraces puts together the messages of one trace that the nodes have recorded. The id of the
// trace is that of the first part.
func mergeTraces(_ *http.Request, parts []part[traceView]) traceView {
	v := parts[0].view
	for _, p := range parts[1:] {
		v.Messages = append(v.Messages, p.view.Messages...)
	}
	v.Order()
	return v
}
