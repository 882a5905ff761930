package bridge

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/recent"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/requestid"
)

// call is a request of the peer without an answer.
type call struct {
	ID           performatives.MessageID
	Sender       performatives.AgentID
	Receiver     performatives.AgentID
	Conversation performatives.ConversationID
	ReplyBy      time.Time
	Priority     performatives.Priority
	Tool         string
	Arrived      time.Time
	Expires      time.Time
	Partial      bool // it was answered, by a question for more input
	Canceled     bool // the peer has withdrawn it
	hello        bool // it is a handshake
	first        bool // it is the sender's first handshake
	ended        bool
}

// ask is a request of this node that the peer has not answered yet.
type ask struct {
	message *performatives.Message // without its payload
	cancel  *performatives.Message // the CANCEL of it, without its payload; nil = none
	expires time.Time
}

// greeting is the handshake of an agent of the peer.
type greeting struct {
	extensions extensions // that both ends use
}

// party is one end of a conversation with one agent of the peer.
type party struct {
	agent, with  performatives.AgentID // folded
	conversation performatives.ConversationID
}

func partyOf(m *performatives.Message) party {
	return party{m.Sender().Fold(), m.Receiver().Fold(), m.ConversationID()}
}

// pending has the handshakes and the requests without an answer, of both ends. The session's lock
// guards it.
type pending struct {
	limit   int
	greeted map[performatives.AgentID]*greeting // the agents of the peer that have shaken hands, by folded id
	calls   map[requestid.Key]*call
	cancels map[requestid.Key]*call          // by the id of the CANCEL
	asks    map[requestid.Key]*ask           // by its id and its sender
	askIDs  map[performatives.MessageID]*ask // the last one with that id
	parties map[party]*ask
	swept   time.Time // of the last sweep

	// The CANCELs that have overtaken their requests: of the peer, and of this node without their
	// payloads.
	early recent.Map[requestid.Key, struct{}]
	ahead recent.Map[party, *performatives.Message]
}

// maxGreeted is the largest number of agents that shake hands over one session.
const maxGreeted = 4096

// linger is the time after its deadline for which an entry is kept: the refusal for a passed
// deadline comes later than the deadline. Entries are dropped only to make room.
const linger = time.Minute

// unlimited is the time for which a request without a deadline is kept at least.
const unlimited = time.Hour

func newPending(limit int) pending {
	return pending{
		limit: limit, greeted: make(map[performatives.AgentID]*greeting), calls: make(map[requestid.Key]*call), cancels: make(map[requestid.Key]*call),
		asks: make(map[requestid.Key]*ask), askIDs: make(map[performatives.MessageID]*ask), parties: make(map[party]*ask),
	}
}

func (c *call) key() requestid.Key { return requestid.Of(c.Sender, c.ID) }

// addCall adds a request of the peer. It reports false if there is no room.
func (p *pending) addCall(c *call, now time.Time) bool {
	if p.full(len(p.calls)) && !p.sweep(now) {
		return false
	}
	p.calls[c.key()] = c
	return true
}

func (p *pending) full(n int) bool { return p.limit > 0 && n >= p.limit }

// removeCall removes a call. The answer to its CANCEL, if there is one, still finds it.
func (p *pending) removeCall(c *call) {
	c.ended = true
	if p.calls[c.key()] == c {
		delete(p.calls, c.key())
	}
}

// handedOver is a request of the peer whose answer another session writes.
type handedOver struct {
	Call    *call
	Cancels []performatives.MessageID
}

// Requests returns the requests of an agent of the peer. It implements [wire.HandoverCodec].
func (s *session) Requests(agent performatives.AgentID) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	open := make(map[performatives.MessageID]*handedOver)
	for _, c := range s.pending.calls {
		if !c.hello && c.Sender.Is(agent) {
			open[c.ID] = &handedOver{Call: c}
		}
	}
	for k, c := range s.pending.cancels {
		if x := open[c.ID]; x != nil && x.Call == c {
			x.Cancels = append(x.Cancels, k.ID())
		}
	}
	return json.Marshal(slices.Collect(maps.Values(open)))
}

// Adopt takes over the requests that Requests of another session has returned. It implements
// [wire.HandoverCodec].
func (s *session) Adopt(requests []byte) error {
	var open []handedOver
	if err := json.Unmarshal(requests, &open); err != nil {
		return fmt.Errorf("bridge: requests of another session: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range open {
		s.pending.calls[x.Call.key()] = x.Call
		for _, id := range x.Cancels {
			s.pending.cancels[requestid.Of(x.Call.Sender, id)] = x.Call
		}
	}
	return nil
}

// callOf returns the call that a message of this node answers, and whether it answers the CANCEL
// of it.
func (p *pending) callOf(m *performatives.Message) (c *call, canceled bool) {
	key := requestid.Of(m.Receiver(), performatives.MessageID(m.InReplyTo()))
	if c := p.cancels[key]; c != nil {
		return c, true
	}
	if c := p.calls[key]; c != nil && !c.Partial {
		return c, false
	}
	return nil, false
}

// refused forgets a request, a handshake or a CANCEL of the peer that was not served.
func (p *pending) refused(c *call, m *performatives.Message) {
	if m != nil && m.Performative() == performatives.ActCancel {
		delete(p.cancels, requestid.From(m))
		c.Canceled = false // the request continues
		return
	}
	p.removeCall(c)
	if c.first {
		delete(p.greeted, c.Sender.Fold())
	}
}

// addAsk adds a request of this node. It reports false if there is no room.
func (p *pending) addAsk(q *ask, now time.Time) bool {
	if p.full(len(p.asks)) && !p.sweep(now) {
		return false
	}
	id := q.message.ID()
	p.asks[requestid.From(q.message)], p.askIDs[id], p.parties[partyOf(q.message)] = q, q, q
	return true
}

// askFor returns the request of this node that a message of the peer is about. A receiver that has
// not asked by that id, or none, stands for the last agent that has.
func (p *pending) askFor(id string, receiver performatives.AgentID) *ask {
	if q := p.asks[requestid.Of(receiver, performatives.MessageID(id))]; q != nil {
		return q
	}
	return p.askIDs[performatives.MessageID(id)]
}

func (p *pending) removeAsk(q *ask) {
	if k := requestid.From(q.message); p.asks[k] == q {
		delete(p.asks, k)
	}
	if id := q.message.ID(); p.askIDs[id] == q {
		delete(p.askIDs, id)
	}
	if k := partyOf(q.message); p.parties[k] == q {
		delete(p.parties, k)
	}
}

// sweep drops the entries whose deadline has passed, and reports whether there is room.
func (p *pending) sweep(now time.Time) bool {
	if !p.swept.IsZero() && now.Sub(p.swept) < time.Second { // a flood of requests must not sweep each time
		return false
	}
	p.swept = now
	for _, c := range p.calls {
		if now.After(c.Expires) {
			p.removeCall(c)
		}
	}
	for k, c := range p.cancels {
		if now.After(c.Expires) {
			delete(p.cancels, k)
		}
	}
	for _, q := range p.asks {
		if now.After(q.expires) {
			p.removeAsk(q)
		}
	}
	return !p.full(len(p.calls)) && !p.full(len(p.cancels)) && !p.full(len(p.asks))
}

// expiry returns the time from which an entry may be dropped.
func expiry(replyBy, now time.Time) time.Time {
	if replyBy.IsZero() {
		return now.Add(unlimited)
	}
	return replyBy.Add(linger)
}

// outline returns m with the smallest payload that its act permits, to be kept until its answer
// comes. Queries keep theirs.
func outline(m *performatives.Message) (*performatives.Message, error) {
	return m.With(func(e *performatives.Envelope) {
		e.Metadata, e.Shape = nil, nil
		switch {
		case e.MessageType != "":
			e.Payload = nil
		case e.Performative == performatives.ActTaskRequest:
			e.Payload = performatives.TaskRequest{TaskType: "outline"}
		case e.Performative == performatives.ActQueryCapabilities:
			e.Payload = performatives.QueryCapabilities{Type: performatives.QuerySummary}
		case e.Performative == performatives.ActCancel:
			e.Payload = performatives.Cancel{}
		case e.Performative != performatives.ActQueryIf && e.Performative != performatives.ActQueryRef:
			e.Payload = nil
		}
	})
}
