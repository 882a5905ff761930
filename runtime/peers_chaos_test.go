package runtime_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
)

// replyTracker counts the replies to each request of a test, by message id.
type replyTracker struct {
	mu      sync.Mutex
	ends    map[string]int             // for a broadcast, by the sender of the reply, too
	toAll   map[string]bool            // the broadcasts
	over    map[string]<-chan struct{} // closed with the session of the request
	strays  []string                   // replies without a request
	answers map[string][]string        // to each request, in words
	changed chan struct{}
}

func newReplyTracker() *replyTracker {
	return &replyTracker{ends: make(map[string]int), toAll: make(map[string]bool), over: make(map[string]<-chan struct{}), answers: make(map[string][]string), changed: make(chan struct{}, 1)}
}

// ask records a request before it is sent. over is closed with its session; it is nil for
// a request that must get a reply.
func (y *replyTracker) ask(m *performatives.Message, over <-chan struct{}) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.ends[string(m.ID())], y.over[string(m.ID())] = 0, over
}

// broadcast records a broadcast before it is sent. Each agent may reply once, or not at all.
func (y *replyTracker) broadcast(m *performatives.Message) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.toAll[string(m.ID())] = true
}

// end records a reply of an agent.
func (y *replyTracker) end(ref string, by performatives.AgentID, what string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.toAll[ref] {
		y.ends[ref+" of "+string(by)]++
		return
	}
	if _, ok := y.ends[ref]; !ok {
		y.strays = append(y.strays, what)
	}
	y.ends[ref]++
	y.answers[ref] = append(y.answers[ref], what)
	select {
	case y.changed <- struct{}{}:
	default:
	}
}

// receive is the Receive of the requesting agent.
func (y *replyTracker) receive(_ *actors.Context, m *performatives.Message) {
	if !m.Performative().ExpectsReply() { // else a broadcast of the other side
		y.end(m.InReplyTo(), m.Sender(), fmt.Sprint(m.Performative(), " ", m.AsRefusal()))
	}
}

// awaitAll waits until each request has a reply, or its session has ended.
func (y *replyTracker) awaitAll(t *testing.T, whose string) {
	t.Helper()
	timeout := time.After(patience.Time)
	for {
		open, over := y.open()
		if len(open) == 0 {
			return
		}
		select {
		case <-y.changed:
		case <-over:
		case <-timeout:
			t.Errorf("%s waits for %d answers, as to %s", whose, len(open), open[0])
			return
		}
	}
}

// open returns the requests without a reply, and a channel that signals when to look
// again.
func (y *replyTracker) open() (open []string, over <-chan struct{}) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for ref, n := range y.ends {
		select {
		case <-y.over[ref]:
			continue
		default:
		}
		if n == 0 {
			open, over = append(open, ref), y.over[ref]
		}
	}
	return open, over
}

func (y *replyTracker) check(t *testing.T, whose string) {
	t.Helper()
	y.mu.Lock()
	defer y.mu.Unlock()
	for ref, n := range y.ends {
		if n > 1 {
			t.Errorf("%s has %d answers to %s: %q", whose, n, ref, y.answers[ref])
		}
	}
	for _, what := range y.strays {
		t.Errorf("%s gets %s", whose, what)
	}
}

// randomResponder replies to some requests at once, and to others after later ones.
type randomResponder struct {
	mu   sync.Mutex
	rng  *rand.Rand
	held []*performatives.Message
	done bool // reply to every request at once
}

func newRandomResponder(seed uint64) *randomResponder {
	return &randomResponder{rng: rand.New(rand.NewPCG(seed, 0))}
}

// next takes a request, and returns the requests to reply to now.
func (h *randomResponder) next(m *performatives.Message) []*performatives.Message {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.done || m.Performative() == performatives.ActCancel {
		return []*performatives.Message{m}
	}
	h.held = append(h.held, m)
	if h.rng.IntN(8) < 3 {
		return nil
	}
	h.rng.Shuffle(len(h.held), func(i, j int) { h.held[i], h.held[j] = h.held[j], h.held[i] })
	n := 1 + h.rng.IntN(min(3, len(h.held)))
	now := h.held[len(h.held)-n:]
	h.held = h.held[:len(h.held)-n]
	return append([]*performatives.Message(nil), now...)
}

// rest returns the requests without a reply.
func (h *randomResponder) rest() []*performatives.Message {
	h.mu.Lock()
	defer h.mu.Unlock()
	rest := h.held
	h.held, h.done = nil, true
	return rest
}

// work is the Receive of an agent that replies in this way until it gets an INFORM.
func (h *randomResponder) work(c *actors.Context, m *performatives.Message) {
	now := h.rest
	if m.Performative().ExpectsReply() {
		now = func() []*performatives.Message { return h.next(m) }
	}
	for _, q := range now() {
		_ = c.ReplyAs(q, performatives.ActInform, performatives.Raw(`{"n":2}`)) // the sender may have stopped
	}
}

// chaosTest is a test with a hub and a remote agent whose sessions are cut, stopped and
// replaced.
type chaosTest struct {
	*hub
	front        *runtime.Node // with the agents that talk with the peer: the hub's, or one that the hub is connected to
	uplink       *outpost      // of the hub to front; nil if that is the hub's own
	t            *testing.T
	seed         uint64
	asked, posed *replyTracker    // requests of the hub's agent, and of the peer
	worker, peer *randomResponder // the responders of these requests

	mu      sync.Mutex
	ticks   chan struct{} // one value per sent request
	current *wire.Session // current session of the peer
	cuts    []func()
}

// Each request to the remote agent gets exactly one reply, however its sessions end. Each request
// of the remote agent gets one, unless its session is lost. Each agent replies to a broadcast at
// most once.
func TestPeerChaos(t *testing.T) {
	eachSeed(t, 3, func(t *testing.T, seed uint64) { runPeerChaos(t, seed, false) })
}

// The same holds where a node is between the remote agent and the others, and is cut off at times.
func TestChainChaos(t *testing.T) {
	eachSeed(t, 3, func(t *testing.T, seed uint64) { runPeerChaos(t, seed, true) })
}

func runPeerChaos(t *testing.T, seed uint64, chain bool) {
	s := &chaosTest{t: t, ticks: make(chan struct{}, 24), seed: seed, asked: newReplyTracker(), posed: newReplyTracker(), worker: newRandomResponder(seed), peer: newRandomResponder(seed + 1)}
	small := func(o *wire.Options) {
		if seed%3 == 1 {
			o.Limits.Outbox = 8
		}
	}
	if chain {
		far := newHub(t, noPeerOptions)
		s.front, s.uplink = far.Node, connected(t, far, "out", nil)
		s.hub = newHubOf(t, s.uplink.Node, noPeerOptions, small)
	} else {
		s.hub = newHub(t, noPeerOptions, small)
		s.front = s.Node
	}
	spawnBig(t, s.front, "asker", s.asked.receive)
	spawnBig(t, s.front, "worker", s.worker.work)
	s.connect()
	var talking sync.WaitGroup
	over := make(chan struct{})
	for i := range 2 {
		talking.Go(func() { askAll(t, s.front, "asker", "Jules", i, s.asked, s.ticks) })
		talking.Go(func() { s.sendRequests(i) })
	}
	var shaking sync.WaitGroup
	shaking.Go(func() { s.disturbSessions(over) })
	talking.Wait()
	close(over)
	shaking.Wait()
	s.finish()
}

// spawnBig starts an agent whose mailbox never becomes full.
func spawnBig(t *testing.T, n *runtime.Node, id performatives.AgentID, receive func(*actors.Context, *performatives.Message)) {
	t.Helper()
	if err := n.Spawn(patience.Context(t), id, always(scripted{receive: receive, topics: []string{"x"}}), runtime.WithCapacity(1<<16)); err != nil {
		t.Fatal(err)
	}
}

// connect opens the next session of the peer, which replaces the previous one.
func (s *chaosTest) connect() {
	r := chaosPeer{s, make(chan struct{})}
	session, cut, err := s.dial(nil, r)
	if err != nil {
		s.t.Error(err)
		return
	}
	_ = session.Send(message(s.t, "Jules", "system", performatives.ActQueryCapabilities, offers("x"), func(e *performatives.Envelope) { e.ID = "hello" }))
	select {
	case <-r.welcome:
	case <-session.Done(): // replaced by a late message of the previous session
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = session
	s.cuts = append(s.cuts, cut)
}

// chaosPeer is the handler of the peer's end of each session.
type chaosPeer struct {
	s       *chaosTest
	welcome chan struct{}
}

func (chaosPeer) Opened(*wire.Session) {}

func (chaosPeer) Closed(*wire.Session, error) {}

func (h chaosPeer) Undelivered(*wire.Session, *performatives.Message, *performatives.Refusal) {}

// Receive handles a request or a reply.
func (h chaosPeer) Receive(_ *wire.Session, m *performatives.Message) error {
	if m.InReplyTo() == "hello" {
		close(h.welcome)
		return nil
	}
	if m.Performative().ExpectsReply() {
		for _, q := range h.s.peer.next(m) {
			h.s.reply(q)
		}
		return nil
	}
	if m.InReplyTo() != "" {
		h.s.posed.end(m.InReplyTo(), m.Sender(), fmt.Sprint(m.Performative(), " ", m.AsRefusal()))
	}
	return nil
}

func (s *chaosTest) reply(q *performatives.Message) {
	answer, err := q.ReplyFrom("Jules", s.System().Stamp(), performatives.ActInform, performatives.Raw(`{"n":2}`))
	if err != nil {
		s.t.Error(err)
		return
	}
	s.mu.Lock()
	session := s.current
	s.mu.Unlock()
	_ = session.Send(answer) // if it fails, the end of the session fails the request
}

const chaosRequests = 100

// sendRequests sends requests from the peer.
func (s *chaosTest) sendRequests(n int) {
	for i := range chaosRequests {
		m := message(s.t, "Jules", "worker", performatives.ActRequest, func(e *performatives.Envelope) {
			e.ID = performatives.MessageID(fmt.Sprintf("posed %d %d", n, i))
			e.ConversationID = performatives.ConversationID(e.ID)
		})
		s.ticks <- struct{}{}
		s.mu.Lock()
		s.posed.ask(m, s.current.Done())
		if err := s.current.Send(m); err != nil {
			s.posed.end(string(m.ID()), "", "")
		}
		if i%10 == 0 {
			all := message(s.t, "Jules", "", performatives.ActRequest)
			s.posed.broadcast(all)
			_ = s.current.Send(all) // the session may have ended
		}
		s.mu.Unlock()
	}
}

// disturbSessions replaces, cuts and stops sessions at random, and cuts the uplink.
func (s *chaosTest) disturbSessions(over <-chan struct{}) {
	rng := rand.New(rand.NewPCG(s.seed, 2))
	for {
		for range 12 {
			select {
			case <-over:
				return
			case <-s.ticks:
			}
		}
		switch rng.IntN(4) {
		case 0:
			if s.uplink != nil {
				s.uplink.disconnect()
				if err := s.uplink.up.Connect(patience.Context(s.t)); err != nil {
					s.t.Error(err)
				}
			}
		case 1, 2:
			s.connect()
		case 3:
			s.mu.Lock()
			cut := s.cuts[len(s.cuts)-1]
			s.mu.Unlock()
			cut()
			s.connect()
		case 4:
			s.mu.Lock()
			session := s.current
			s.mu.Unlock()
			ctx, cancel := context.WithTimeout(context.Background(), patience.Time)
			_ = session.Stop(ctx)
			cancel()
			s.connect()
		}
	}
}

// finish ends all pending requests, and checks the replies.
func (s *chaosTest) finish() {
	s.worker.release(s.t, s.front, "worker")
	if s.seed%3 != 1 { // with a small outbox, a reply may have been refused
		s.posed.awaitAll(s.t, "the peer")
	}
	for _, cut := range s.cuts {
		cut()
	}
	s.asked.awaitAll(s.t, "the asker")
	for _, n := range []*runtime.Node{s.Node, s.front} {
		if err := n.Stop(patience.Context(s.t)); err != nil { // the second time harmless
			s.t.Fatal(err)
		}
	}
	s.asked.check(s.t, "the asker")
	s.posed.check(s.t, "the peer")
	if s.t.Failed() {
		s.t.Log(s.Counts())
	}
}

// release makes the responder reply to all requests.
func (h *randomResponder) release(t *testing.T, n *runtime.Node, id performatives.AgentID) {
	t.Helper()
	if err := n.Send(message(t, "asker", id, performatives.ActInform)); err != nil {
		t.Error(err)
	}
}

// askAll sends requests one after the other.
func askAll(t *testing.T, n *runtime.Node, from, to performatives.AgentID, who int, y *replyTracker, ticks chan<- struct{}) {
	for i := range chaosRequests {
		ticks <- struct{}{}
		m := message(t, from, to, performatives.ActRequest, func(e *performatives.Envelope) {
			e.ID = performatives.MessageID(fmt.Sprintf("%s %d %d", from, who, i))
			e.ConversationID = performatives.ConversationID(e.ID)
		})
		y.ask(m, nil)
		if err := n.Send(m); err != nil {
			y.end(string(m.ID()), "", "")
		}
		if i%10 == 0 {
			all := message(t, from, "", performatives.ActRequest)
			y.broadcast(all)
			_ = n.Send(all) // the error is that nobody can take it
		}
	}
}
