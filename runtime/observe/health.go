package observe

import (
	"hash/maphash"
	"math/bits"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// vitals are the counts of one agent since its start, or since the counting began if that was
// later.
type vitals struct {
	last     time.Time // of the last message that it has taken or sent
	taken    uint64    // messages out of its mailbox
	answered uint64    // requests
	failed   uint64    // those of them whose answer is FAILURE
	took     time.Duration

	incidents Incidents // of a Recorder
}

// maxVitals is how many agents have [vitals].
const maxVitals = 10_000

// question identifies a request by the members that its answer repeats: the hash of the agent that
// asks, and of the id or the reply_with of the request. The texts may be parts of a long message,
// whose memory they would hold.
type question uint64

// asked is a request that waits for its answer.
type asked struct {
	agent uint64    // the hash of its folded id
	at    time.Time // its first event
}

// maxAsked is how many requests one generation of them has. There are two; when the younger is
// full, the older is forgotten, and the answers to its requests are not counted.
const maxAsked = 8192

// health counts the messages that agents take, and their answers.
type health struct {
	since          time.Time
	seed           maphash.Seed
	agents         map[performatives.AgentID]*vitals // by folded id
	younger, older map[question]asked
}

func newHealth() health {
	return health{since: time.Now().UTC(), seed: maphash.MakeSeed(), agents: make(map[performatives.AgentID]*vitals), younger: make(map[question]asked)}
}

// hash returns the hash of an agent's folded id.
func (h *health) hash(folded performatives.AgentID) uint64 {
	return maphash.String(h.seed, string(folded))
}

func (h *health) question(asker performatives.AgentID, ref string) question {
	return question(bits.RotateLeft64(h.hash(asker.Fold()), 1) ^ maphash.String(h.seed, ref))
}

// Health returns the health of an agent: the figures reported by itself or, if there are none,
// those counted by the recorder since the start of the agent, or since its own start. A response
// time lasts from the first event of a request to the sending of its result; AGREE, TASK_ACCEPT and
// STATUS_UPDATE are no results. The latest 8,192 open requests, at least, are known. Agents beyond
// the first 10,000 have no counts. ok is false if the node has no such agent. Safe for concurrent
// use.
func (r *Recorder) Health(id performatives.AgentID) (h runtime.Health, ok bool) {
	h, ok = r.health(id)
	if ok && !h.Reported {
		defer r.lock().Unlock()
		r.vitals.complete(&h)
	}
	return h, ok
}

// HealthCounter counts the health of agents on a node that has no [Recorder]. It begins to count at
// the first call of Health, and costs nothing before. Its owner must call Close.
type HealthCounter struct {
	node *runtime.Node
	once sync.Once // of begin; Close uses it up

	listener // its lock guards vitals; it has no events before begin
	vitals   health
}

// NewHealthCounter returns a HealthCounter of the node's agents.
func NewHealthCounter(node *runtime.Node) *HealthCounter { return &HealthCounter{node: node} }

// Health returns the health of an agent, as [Recorder.Health] does. The counts begin with the first
// call, which returns zeros: see [runtime.Health.CountedSince]. After Close, Health returns the
// counts until then. Safe for concurrent use.
func (c *HealthCounter) Health(id performatives.AgentID) (h runtime.Health, ok bool) {
	if h, ok = c.node.Health(id); !ok || h.Reported {
		return h, ok
	}
	if c.once.Do(c.begin); c.events != nil {
		defer c.lock().Unlock()
		c.vitals.complete(&h)
	}
	return h, true
}

// begin starts the counting.
func (c *HealthCounter) begin() {
	c.vitals = newHealth()
	c.listen(c.node, DefaultQueue,
		events.On(func(_ uint64, ev *events.MessageSent) { c.vitals.sent(ev) }), events.On(func(_ uint64, ev *events.MessageReceived) { c.vitals.received(ev) }),
		events.On(c.vitals.started), events.On(c.vitals.stopped))
}

// Close ends the counting. It returns when the events that are queued are counted. Closing again
// does nothing.
func (c *HealthCounter) Close() {
	if c.once.Do(func() {}); c.events != nil {
		c.end()
	}
}

// complete adds the counts of an agent to its health.
func (h *health) complete(of *runtime.Health) {
	of.CountedSince = h.since
	v := h.agents[of.Agent.Fold()]
	if v == nil {
		return
	}
	of.Processed = max(v.taken, v.answered)
	if v.last.After(of.LastHeartbeat) {
		of.LastHeartbeat = v.last
	}
	if v.answered > 0 {
		of.ResponseMillis = float64(v.took) / float64(v.answered) / float64(time.Millisecond)
		of.ErrorRate = float64(v.failed) / float64(v.answered)
	}
}

// started drops the counts of an agent that begins anew. An agent that its supervisor restarts
// keeps its counts.
func (h *health) started(_ uint64, ev *events.AgentStarted) {
	if !ev.Again {
		delete(h.agents, ev.Agent.Fold())
	}
}

// stopped drops the counts of an agent that runs no more.
func (h *health) stopped(_ uint64, ev *events.AgentStopped) { delete(h.agents, ev.Agent.Fold()) }

// of returns the vitals of an agent; nil beyond the bound.
func (h *health) of(folded performatives.AgentID) *vitals {
	v := h.agents[folded]
	if v == nil && len(h.agents) < maxVitals {
		v = new(vitals)
		h.agents[folded.Clone()] = v
	}
	return v
}

// received counts a message that an agent has taken out of its mailbox, and notes a request.
func (h *health) received(ev *events.MessageReceived) {
	h.taken(ev)
	h.ask(ev.Message, ev.Time)
}

// taken counts a message that an agent has taken out of its mailbox.
func (h *health) taken(ev *events.MessageReceived) {
	if v := h.of(ev.Agent.Fold()); v != nil {
		v.taken++
		v.last = ev.Time
	}
}

// sent counts a message that was sent.
func (h *health) sent(ev *events.MessageSent) {
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
	q := h.question(m.Sender(), string(m.ID()))
	if _, known := h.find(q); known {
		return
	}
	a := asked{h.hash(m.Receiver().Fold()), at}
	h.note(q, a)
	if ref := m.ReplyWith(); ref != "" && ref != string(m.ID()) {
		h.note(h.question(m.Sender(), ref), a)
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
	q := h.question(m.Receiver(), m.InReplyTo())
	a, ok := h.find(q)
	if !ok || a.agent != h.hash(from) {
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

// Incidents are a recorder's counts of one agent since the agent started, or since the recorder
// began.
type Incidents struct {
	Errors   uint64 // jobs and handlers that failed or panicked
	Restarts uint64
}

// Incidents returns the incidents of each agent that has had some and runs, by the
// [performatives.AgentID.Fold] of its id. The caller owns the result.
func (r *Recorder) Incidents() map[performatives.AgentID]Incidents {
	defer r.lock().Unlock()
	all := make(map[performatives.AgentID]Incidents)
	for id, v := range r.vitals.agents {
		if v.incidents != (Incidents{}) {
			all[id] = v.incidents
		}
	}
	return all
}

// incidentsLocked returns the incidents of an agent. Those of the agents beyond the bound of vitals
// are counted together.
func (r *Recorder) incidentsLocked(id performatives.AgentID) *Incidents {
	if v := r.vitals.of(id.Fold()); v != nil {
		return &v.incidents
	}
	r.counts.Uncounted++
	return &Incidents{}
}
