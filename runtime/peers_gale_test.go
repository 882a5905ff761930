package runtime_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
)

// fates is how many ends each question of a test has had, by their ids.
type fates struct {
	mu      sync.Mutex
	ends    map[string]int
	over    map[string]<-chan struct{} // closed with the session by which it was asked
	strays  []string                   // answers to what nobody here has asked
	changed chan struct{}
}

func newFates() *fates {
	return &fates{ends: make(map[string]int), over: make(map[string]<-chan struct{}), changed: make(chan struct{}, 1)}
}

// ask notes a question before it is sent, by a session if over is not nil.
func (y *fates) ask(m *performatives.Message, over <-chan struct{}) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.ends[string(m.ID())], y.over[string(m.ID())] = 0, over
}

// end notes an answer.
func (y *fates) end(ref, what string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if _, ok := y.ends[ref]; !ok {
		y.strays = append(y.strays, what)
	}
	y.ends[ref]++
	select {
	case y.changed <- struct{}{}:
	default:
	}
}

// hear is the Receive of who asks.
func (y *fates) hear(_ *actors.Context, m *performatives.Message) {
	y.end(m.InReplyTo(), fmt.Sprint(m.Performative(), " ", m.AsRefusal()))
}

// settled waits until each question has an end, or its session has.
func (y *fates) settled(t *testing.T, whose string) {
	t.Helper()
	timeout := time.After(patience)
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

// open returns what has no end, and when to look again besides.
func (y *fates) open() (open []string, over <-chan struct{}) {
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

func (y *fates) check(t *testing.T, whose string) {
	t.Helper()
	y.mu.Lock()
	defer y.mu.Unlock()
	for ref, n := range y.ends {
		if n > 1 {
			t.Errorf("%s has %d answers to %s", whose, n, ref)
		}
	}
	for _, what := range y.strays {
		t.Errorf("%s gets %s", whose, what)
	}
}

// hesitant fates some questions at once, and others after later ones.
type hesitant struct {
	mu   sync.Mutex
	rng  *rand.Rand
	held []*performatives.Message
	done bool // it hesitates no more
}

func newHesitant(seed uint64) *hesitant { return &hesitant{rng: rand.New(rand.NewPCG(seed, 0))} }

// next takes a question, and returns those to answer now.
func (h *hesitant) next(m *performatives.Message) []*performatives.Message {
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

// rest returns what has no answer yet.
func (h *hesitant) rest() []*performatives.Message {
	h.mu.Lock()
	defer h.mu.Unlock()
	rest := h.held
	h.held, h.done = nil, true
	return rest
}

// work is the Receive of an agent that answers like that, until it gets an INFORM.
func (h *hesitant) work(c *actors.Context, m *performatives.Message) {
	now := h.rest
	if m.Performative().ExpectsReply() {
		now = func() []*performatives.Message { return h.next(m) }
	}
	for _, q := range now() {
		_ = c.ReplyAs(q, performatives.ActInform, performatives.Raw(`{"n":2}`)) // who asked may be gone
	}
}

// gale is a test of a hub and an agent outside that comes by many sessions.
type gale struct {
	*hub
	t            *testing.T
	seed         uint64
	asked, posed *fates    // by the hub's agent, and by the peer
	worker, peer *hesitant // who answers them

	mu      sync.Mutex
	ticks   chan struct{} // something has been said
	current *wire.Session // by which the peer speaks
	cuts    []func()
}

// Whatever becomes of the sessions of an agent and of what stands for it, each question
// to it has one end, and each of its own has one unless its session is lost.
func TestEndsInAGale(t *testing.T) { eachSeed(t, 3, blow) }

func blow(t *testing.T, seed uint64) {
	s := &gale{t: t, ticks: make(chan struct{}, 24), seed: seed, asked: newFates(), posed: newFates(), worker: newHesitant(seed), peer: newHesitant(seed + 1)}
	s.hub = newHub(t, noPeerOptions, func(o *wire.Options) {
		if seed%3 == 1 {
			o.Limits.Outbox = 8
		}
	})
	spawnBig(t, s.Node, "asker", s.asked.hear)
	spawnBig(t, s.Node, "worker", s.worker.work)
	s.connect()
	var talking sync.WaitGroup
	over := make(chan struct{})
	for i := range 2 {
		talking.Go(func() { askAll(t, s.Node, "asker", "Jules", i, s.asked, s.ticks) })
		talking.Go(func() { s.poses(i) })
	}
	var shaking sync.WaitGroup
	shaking.Go(func() { s.shake(over) })
	talking.Wait()
	close(over)
	shaking.Wait()
	s.finish()
}

// spawnBig starts an agent whose mailbox is never full.
func spawnBig(t *testing.T, n *runtime.Node, id performatives.AgentID, receive func(*actors.Context, *performatives.Message)) {
	t.Helper()
	if err := n.Spawn(within(t), id, always(scripted{receive: receive, topics: []string{"x"}}), runtime.WithCapacity(1<<16)); err != nil {
		t.Fatal(err)
	}
}

// connect opens the next session of the peer, which takes it over from the one before.
func (s *gale) connect() {
	r := galePeer{s, make(chan struct{})}
	session, cut, err := s.dial(nil, r)
	if err != nil {
		s.t.Error(err)
		return
	}
	_ = session.Send(message(s.t, "Jules", "system", performatives.ActQueryCapabilities, offers("x"), func(e *performatives.Envelope) { e.ID = "hello" }))
	select {
	case <-r.welcome:
	case <-session.Done(): // what the one before has said last came later
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = session
	s.cuts = append(s.cuts, cut)
}

// galePeer is the peer, at its end of all sessions.
type galePeer struct {
	s       *gale
	welcome chan struct{}
}

func (galePeer) Opened(*wire.Session) {}

func (galePeer) Closed(*wire.Session, error) {}

func (h galePeer) Undelivered(*wire.Session, *performatives.Message, *performatives.Refusal) {}

// Receive answers, or takes an answer.
func (h galePeer) Receive(_ *wire.Session, m *performatives.Message) error {
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
		h.s.posed.end(m.InReplyTo(), fmt.Sprint(m.Performative(), " ", m.AsRefusal()))
	}
	return nil
}

func (s *gale) reply(q *performatives.Message) {
	answer, err := q.ReplyFrom("Jules", s.System().Stamp(), performatives.ActInform, performatives.Raw(`{"n":2}`))
	if err != nil {
		s.t.Error(err)
		return
	}
	s.mu.Lock()
	session := s.current
	s.mu.Unlock()
	_ = session.Send(answer) // who asked is told by the end of the session
}

const galeQuestions = 100

// poses has the peer ask.
func (s *gale) poses(n int) {
	for i := range galeQuestions {
		m := message(s.t, "Jules", "worker", performatives.ActRequest, func(e *performatives.Envelope) {
			e.ID = performatives.MessageID(fmt.Sprintf("posed %d %d", n, i))
			e.ConversationID = performatives.ConversationID(e.ID)
		})
		s.ticks <- struct{}{}
		s.mu.Lock()
		s.posed.ask(m, s.current.Done())
		if err := s.current.Send(m); err != nil {
			s.posed.end(string(m.ID()), "")
		}
		s.mu.Unlock()
	}
}

// shake has things happen to the sessions.
func (s *gale) shake(over <-chan struct{}) {
	rng := rand.New(rand.NewPCG(s.seed, 2))
	for {
		for range 12 {
			select {
			case <-over:
				return
			case <-s.ticks:
			}
		}
		switch rng.IntN(5) {
		case 0, 1:
			s.stopProxy()
		case 2:
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
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			_ = session.Stop(ctx)
			cancel()
			s.connect()
		}
	}
}

func (s *gale) stopProxy() {
	if err := s.StopAgent(within(s.t), "Jules"); err != nil {
		s.t.Error(err)
	}
}

// finish has all that is open come to its end.
func (s *gale) finish() {
	s.worker.release(s.t, s.Node, "worker")
	if s.seed%3 != 1 { // else fates may have found the outbox full
		s.posed.settled(s.t, "the peer")
	}
	for _, cut := range s.cuts {
		cut()
	}
	s.asked.settled(s.t, "the asker")
	if err := s.Stop(within(s.t)); err != nil {
		s.t.Fatal(err)
	}
	s.asked.check(s.t, "the asker")
	s.posed.check(s.t, "the peer")
	if s.t.Failed() {
		s.t.Log(s.Counts())
	}
}

// release has the agent answer.
func (h *hesitant) release(t *testing.T, n *runtime.Node, id performatives.AgentID) {
	t.Helper()
	if err := n.Send(message(t, "asker", id, performatives.ActInform)); err != nil {
		t.Error(err)
	}
}

// askAll asks question after question.
func askAll(t *testing.T, n *runtime.Node, from, to performatives.AgentID, who int, y *fates, ticks chan<- struct{}) {
	for i := range galeQuestions {
		ticks <- struct{}{}
		m := message(t, from, to, performatives.ActRequest, func(e *performatives.Envelope) {
			e.ID = performatives.MessageID(fmt.Sprintf("%s %d %d", from, who, i))
			e.ConversationID = performatives.ConversationID(e.ID)
		})
		y.ask(m, nil)
		if err := n.Send(m); err != nil {
			y.end(string(m.ID()), "")
		}
	}
}
