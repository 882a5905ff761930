package exchange

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Request is a request that waits for its answer: of the peer, or to the peer. A dialect embeds it
// in what relates its messages to a request.
type Request struct {
	Agent        performatives.AgentID      // of the peer, folded
	Kind         string                     // the message type
	Act          performatives.Performative `json:",omitzero"` // of the message
	ID           performatives.MessageID
	Reference    string // the in_reply_to of its answer
	Conversation performatives.ConversationID
	Asker        performatives.AgentID
	Receiver     performatives.AgentID
	Cancel       performatives.MessageID // the CANCEL of the request that has no answer yet
	CancelRef    string                  // the in_reply_to of the answer to that
	Expires      time.Time               `json:",omitzero"` // from then on, it makes room for others; zero = never
	gone         bool
}

func (r *Request) request() *Request { return r }

// Over reports whether the request has been removed.
func (r *Request) Over() bool { return r.gone }

// RequestOf returns the request that a message of the peer is.
func RequestOf(e *performatives.Envelope, kind string) Request {
	return Request{
		Agent: e.Sender.Fold(), Kind: kind, Act: e.Performative, ID: e.ID, Reference: string(e.ID), Conversation: e.ConversationID,
		Asker: e.Sender, Receiver: e.Receiver,
	}
}

// RequestTo returns the request to the peer that a message of this node is.
func RequestTo(m *performatives.Message, kind string) Request {
	return Request{
		Agent: m.Receiver().Fold(), Kind: kind, Act: m.Performative(), ID: m.ID(), Reference: ReferenceTo(m), Conversation: m.ConversationID(),
		Asker: m.Sender(), Receiver: m.Receiver(),
	}
}

// ReferenceTo returns the in_reply_to of the answer to a message.
func ReferenceTo(m *performatives.Message) string { return cmp.Or(m.ReplyWith(), string(m.ID())) }

// IsOfCancel reports whether a message with that in_reply_to answers the CANCEL of the request.
func (r *Request) IsOfCancel(inReplyTo string) bool {
	return r.Cancel != "" && inReplyTo == r.CancelRef
}

// Failure returns the FAILURE that ends the request for its asker, in place of an answer that could
// not be read. It is nil if from can be no agent.
func (r *Request) Failure(stamp performatives.Stamp, from performatives.AgentID, code performatives.Code, text string) *performatives.Message {
	m, _ := performatives.New(performatives.Envelope{
		ID: stamp.ID, Timestamp: stamp.Time, Sender: from, Receiver: r.Asker, ConversationID: r.Conversation, InReplyTo: cmp.Or(r.CancelRef, r.Reference),
		Payload: performatives.Failure{ErrorCode: code, ErrorText: text},
	})
	return m
}

// InWords returns a text about the request with its type in place of its act (addenda §9).
func (r *Request) InWords(text string) string {
	act := r.Act.String()
	return strings.ReplaceAll(strings.ReplaceAll(text, act+" "+r.Kind, r.Kind), act, r.Kind)
}

// Key is a name that an agent has given, such as the id of a message: two agents may use the same
// one. The zero value is no name. In a [Pending] whose requests have ids that name them alone, the
// agent is empty.
type Key struct {
	Agent performatives.AgentID // folded
	Name  string
}

// KeyOf returns the key of the name of an agent, or the zero Key for an empty name.
func KeyOf(agent performatives.AgentID, name string) Key {
	if name == "" {
		return Key{}
	}
	return Key{agent.Fold(), name}
}

// Party is one end of a conversation with one agent, or of a request to it.
type Party struct {
	agent, with performatives.AgentID // folded
	name        string                // of the conversation, or of the request
}

// Between returns the party that an agent is in something of that name with another agent.
func Between(agent, with performatives.AgentID, name string) Party {
	return Party{agent.Fold(), with.Fold(), name}
}

// PartyOf returns the party that the sender of a message is in its conversation.
func PartyOf(m *performatives.Message) Party {
	return Between(m.Sender(), m.Receiver(), string(m.ConversationID()))
}

// Linger is the time after its deadline for which a request is kept: the refusal for a passed
// deadline comes later than the deadline. Requests are dropped only to make room.
const Linger = time.Minute

// Expiry returns the time from which a request makes room for others. One without a deadline has
// the timeout.
func Expiry(replyBy, now time.Time, timeout time.Duration) time.Time {
	if replyBy.IsZero() {
		replyBy = now.Add(timeout)
	}
	return replyBy.Add(Linger)
}

// defaultPending is the limit where the session sets none.
const defaultPending = 16_384

// request is a pointer to a type that embeds [Request].
type request interface {
	comparable
	request() *Request
}

// Pending has the requests of one direction of a session, of the type *R that embeds [Request]. It
// is not safe for concurrent use.
type Pending[R request] struct {
	removed func(R)
	limit   int
	ours    bool
	ids     map[Key]R // by the id of the request, and by that of its CANCEL
	indexes []interface{ put(x R, in bool) }
	order   []R // the oldest first, and some that are gone
	n       int
	swept   time.Time
}

// Init makes p empty. A limit of zero means 16,384. Ours says that two agents may use the same id,
// as those of this node do. Removed, which may be nil, is called for each request that is removed.
func (p *Pending[R]) Init(limit int, ours bool, removed func(R)) {
	*p = Pending[R]{
		removed: removed, limit: cmp.Or(max(limit, 0), defaultPending), ours: ours, ids: make(map[Key]R),
	}
}

// Len returns the number of requests.
func (p *Pending[R]) Len() int { return p.n }

func (p *Pending[R]) key(asker performatives.AgentID, id performatives.MessageID) Key {
	if !p.ours {
		asker = ""
	}
	return KeyOf(asker, string(id))
}

// Find returns the request that a message is about: that with the id, or the one whose CANCEL has
// it. It returns nil if there is none.
func (p *Pending[R]) Find(asker performatives.AgentID, id string) R {
	return p.ids[p.key(asker, performatives.MessageID(id))]
}

// Room reports whether there is room for one more request. If there is none, it removes those that
// have expired, at most once a second.
func (p *Pending[R]) Room(now time.Time) bool {
	if p.n < p.limit || now.Sub(p.swept) < time.Second {
		return p.n < p.limit
	}
	p.swept = now
	for _, x := range slices.Clone(p.order) {
		if at := x.request().Expires; !at.IsZero() && !now.Before(at) {
			p.Remove(x)
		}
	}
	return p.n < p.limit
}

// Expire lets a request make room at once.
func (p *Pending[R]) Expire(x R) {
	x.request().Expires = time.Unix(0, 0)
	p.swept = time.Time{}
}

// Add adds a request. It replaces the one with its id, and at the limit the oldest one.
func (p *Pending[R]) Add(x R) {
	r := x.request()
	p.Remove(p.Find(r.Asker, string(r.ID)))
	if p.n >= p.limit {
		p.Remove(p.order[0]) // Remove leaves none at the front that is gone
	}
	if len(p.order) >= 2*p.limit {
		p.order = slices.DeleteFunc(p.order, func(y R) bool { return y.request().gone })
	}
	p.ids[p.key(r.Asker, r.ID)] = x
	p.order = append(p.order, x)
	p.n++
	for _, i := range p.indexes {
		i.put(x, true)
	}
}

// AddCancel notes the CANCEL of a request, and the in_reply_to of the answer to it. An empty id
// means that the CANCEL was not served, and that the request continues. It ignores a request that
// has been removed.
func (p *Pending[R]) AddCancel(x R, id performatives.MessageID, reference string) {
	r := x.request()
	if r.gone {
		return
	}
	if r.Cancel != "" {
		delete(p.ids, p.key(r.Asker, r.Cancel))
	}
	if r.Cancel, r.CancelRef = id, reference; id != "" {
		p.ids[p.key(r.Asker, id)] = x
	}
}

// Remove removes a request. It ignores nil, and one that has been removed.
func (p *Pending[R]) Remove(x R) {
	var none R
	if x == none || x.request().gone {
		return
	}
	r := x.request()
	r.gone = true
	p.n--
	if p.removed != nil {
		p.removed(x)
	}
	for _, i := range p.indexes {
		i.put(x, false)
	}
	delete(p.ids, p.key(r.Asker, r.ID))
	if r.Cancel != "" {
		delete(p.ids, p.key(r.Asker, r.Cancel))
	}
	if p.n == 0 { // so that the next one takes no new memory
		clear(p.order)
		p.order = p.order[:0]
	}
	for len(p.order) > 0 && p.order[0].request().gone {
		p.order[0] = none
		p.order = p.order[1:]
	}
}

// End notes an answer to a request, or to its CANCEL. A request with a CANCEL ends with the answer
// to that.
func (p *Pending[R]) End(x R, final, ofCancel bool) {
	if ofCancel || final && x.request().Cancel == "" {
		p.Remove(x)
	}
}

// Of returns the requests of an agent of the peer, the oldest first.
func (p *Pending[R]) Of(agent performatives.AgentID) []R {
	open := []R{}
	for _, x := range p.order {
		if r := x.request(); !r.gone && r.Agent == agent.Fold() {
			open = append(open, x)
		}
	}
	return open
}

// Handover is a [wire.HandoverCodec] for the codec that embeds it.
type Handover[R request] struct {
	Lock  *sync.Mutex
	Calls *Pending[R] // of the peer
}

// Requests returns the open requests of an agent of the peer as JSON.
func (h Handover[R]) Requests(agent performatives.AgentID) ([]byte, error) {
	h.Lock.Lock()
	defer h.Lock.Unlock()
	return json.Marshal(h.Calls.Of(agent))
}

// Adopt takes over the requests that Requests of another session has returned.
func (h Handover[R]) Adopt(requests []byte) error {
	h.Lock.Lock()
	defer h.Lock.Unlock()
	var open []R
	if err := json.Unmarshal(requests, &open); err != nil {
		return fmt.Errorf("requests of another session: %w", err)
	}
	for _, x := range open {
		h.Calls.Add(x)
		h.Calls.AddCancel(x, x.request().Cancel, x.request().CancelRef)
	}
	return nil
}

// Index finds the requests of a [Pending] by another key than their id.
type Index[K comparable, R request] struct {
	key     func(R) K
	entries map[K]entry[R]
}

// entry has the requests with one key. Nearly all keys have one request, which takes no slice.
type entry[R any] struct {
	latest R
	before []R // the oldest first
}

// IndexOf returns an index of p, to which no request has been added yet. A request whose key is the
// zero value is not in it. The key of a request must not change.
func IndexOf[K comparable, R request](p *Pending[R], key func(R) K) *Index[K, R] {
	i := &Index[K, R]{key: key, entries: make(map[K]entry[R])}
	p.indexes = append(p.indexes, i)
	return i
}

func (i *Index[K, R]) put(x R, in bool) {
	var none R
	var zero K
	k := i.key(x)
	e := i.entries[k]
	switch {
	case k == zero:
		return
	case in && e.latest == none:
		e.latest = x
	case in:
		e.before, e.latest = append(e.before, e.latest), x
	case e.latest != x:
		e.before = slices.DeleteFunc(e.before, func(y R) bool { return y == x })
	case len(e.before) == 0:
		delete(i.entries, k)
		return
	default:
		last := len(e.before) - 1
		e.latest, e.before = e.before[last], e.before[:last]
	}
	i.entries[k] = e
}

// Latest returns the request with that key that was added last, or nil.
func (i *Index[K, R]) Latest(k K) R { return i.entries[k].latest }

// Oldest returns the request with that key that was added first, or nil.
func (i *Index[K, R]) Oldest(k K) R { return i.Any(k, func(R) bool { return true }) }

// Any returns the oldest request with that key for which fits reports true, or nil.
func (i *Index[K, R]) Any(k K, fits func(R) bool) R {
	var none R
	e := i.entries[k]
	if at := slices.IndexFunc(e.before, fits); at >= 0 {
		return e.before[at]
	}
	if e.latest != none && fits(e.latest) {
		return e.latest
	}
	return none
}

// Len returns the number of keys.
func (i *Index[K, R]) Len() int { return len(i.entries) }
