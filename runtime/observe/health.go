package observe

import (
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// vitals is what a recorder has counted of one agent since it started, or since the recorder began.
type vitals struct {
	last     time.Time // of the last message that it has taken or sent
	taken    uint64    // messages out of its mailbox
	answered uint64    // requests
	failed   uint64    // those of them whose answer is FAILURE
	took     time.Duration
}

// maxVitals is how many agents have [vitals].
const maxVitals = 10_000

// question identifies a request by what its answer has.
type question struct {
	asker performatives.AgentID // folded
	ref   string
}

// asked is a request that waits for its answer.
type asked struct {
	agent performatives.AgentID // folded
	at    time.Time
}

// maxAsked is how many requests one generation of them has. There are two; when the younger is full, the older is forgotten, and answers to
// what it had are not counted.
const maxAsked = 8192

// health counts what agents take and answer.
type health struct {
	agents         map[performatives.AgentID]*vitals // by folded id
	younger, older map[question]asked
}

// Health returns the health of an agent: what it has reported of itself or, of one that has reported no figures, what the recorder has counted since the
// agent started, or since the recorder began. A response time is that from the first event of the request to the sending of its result, AGREE, TASK_ACCEPT and STATUS_UPDATE
// being none, and the requests of the last 8192 and more are known. Of agents beyond the first 10,000 there are no counts. It is
// false when the node has no such agent.
func (r *Recorder) Health(id performatives.AgentID) (runtime.Health, bool) {
	h, ok := r.health(id)
	if !ok || h.Reported {
		return h, ok
	}
	defer r.lock().Unlock()
	v := r.vitals.agents[h.Agent.Fold()]
	if v == nil {
		return h, true
	}
	h.Processed = max(v.taken, v.answered)
	if v.last.After(h.LastHeartbeat) {
		h.LastHeartbeat = v.last
	}
	if v.answered > 0 {
		h.ResponseMillis = float64(v.took) / float64(v.answered) / float64(time.Millisecond)
		h.ErrorRate = float64(v.failed) / float64(v.answered)
	}
	return h, true
}

// of returns the vitals of an agent; nil beyond the bound.
func (h *health) of(folded performatives.AgentID) *vitals {
	v := h.agents[folded]
	if v == nil && len(h.agents) < maxVitals {
		v = new(vitals)
		h.agents[folded] = v
	}
	return v
}

func (h *health) forget(agent performatives.AgentID) { delete(h.agents, agent.Fold()) }

// received counts a message that an agent has taken out of its mailbox.
func (h *health) received(ev actors.MessageReceived) {
	if v := h.of(ev.Agent.Fold()); v != nil {
		v.taken++
		v.last = ev.Time
	}
	h.ask(ev.Message, ev.Time)
}

// sent counts a message that was sent.
func (h *health) sent(ev actors.MessageSent) {
	h.ask(ev.Message, ev.Time)
	from := ev.Message.Sender().Fold()
	h.answer(from, ev.Message, ev.Time)
	if v := h.agents[from]; v != nil {
		v.last = ev.Time
	}
}

// ask notes a request, unless it is known.
func (h *health) ask(m *performatives.Message, at time.Time) {
	act := m.Performative()
	if !act.ExpectsReply() || act == performatives.ActCancel || m.Receiver() == "" {
		return
	}
	q := question{m.Sender().Fold(), string(m.ID())}
	if _, known := h.find(q); known {
		return
	}
	a := asked{m.Receiver().Fold(), at}
	h.note(q, a)
	if ref := m.ReplyWith(); ref != "" && ref != q.ref {
		h.note(question{q.asker, ref}, a)
	}
}

func (h *health) note(q question, a asked) {
	if len(h.younger) >= maxAsked {
		h.older, h.younger = h.younger, make(map[question]asked)
	}
	h.younger[q] = a
}

func (h *health) find(q question) (asked, bool) {
	a, ok := h.younger[q]
	if !ok {
		a, ok = h.older[q]
	}
	return a, ok
}

// answer counts a result of a request.
func (h *health) answer(from performatives.AgentID, m *performatives.Message, at time.Time) {
	switch m.Performative() { //nolint:exhaustive // the acts that end no request
	case performatives.ActTaskAccept, performatives.ActAgree, performatives.ActStatusUpdate:
		return
	}
	if m.InReplyTo() == "" {
		return
	}
	q := question{m.Receiver().Fold(), m.InReplyTo()}
	a, ok := h.find(q)
	if !ok || a.agent != from {
		return
	}
	delete(h.younger, q)
	delete(h.older, q)
	v := h.of(from)
	if v == nil {
		return
	}
	v.answered++
	v.took += at.Sub(a.at)
	if m.Performative() == performatives.ActFailure {
		v.failed++
	}
}
