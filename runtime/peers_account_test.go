package runtime_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
)

// messageOutcomes records the outcomes of a test's messages, by message id.
type messageOutcomes struct {
	mu               sync.Mutex
	came             map[performatives.MessageID]bool // received from the peer by the session's handler, or sent here
	handled, refused map[performatives.MessageID]int
	dead             map[performatives.MessageID]int
	refusals, deaths uint64 // totals of all messages
}

func newMessageOutcomes() *messageOutcomes {
	id := func() map[performatives.MessageID]int { return make(map[performatives.MessageID]int) }
	return &messageOutcomes{came: make(map[performatives.MessageID]bool), handled: id(), refused: id(), dead: id()}
}

func (l *messageOutcomes) note(fn func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fn()
}

func (l *messageOutcomes) handle(m *performatives.Message) { l.note(func() { l.handled[m.ID()]++ }) }

func (l *messageOutcomes) observe(r actors.Record) {
	l.note(func() {
		switch e := r.Event.(type) {
		case actors.MessageRefused:
			l.refusals++
			l.refused[e.Message.ID()]++
		case actors.DeadLetter:
			l.deaths++
			if m, ok := e.Message.(*performatives.Message); ok {
				l.dead[m.ID()]++
			}
		}
	})
}

// recordingHandler is a handler that records the messages it receives.
type recordingHandler struct {
	wire.Handler
	*messageOutcomes
}

func (w recordingHandler) Receive(s *wire.Session, m *performatives.Message) error {
	w.note(func() { w.came[m.ID()] = true })
	return w.Handler.Receive(s, m)
}

// Each message of either side is handled, refused or dead-lettered once, however its
// connection ends.
func TestPeersAccountForEveryMessage(t *testing.T) { eachSeed(t, 4, accountForAll) }

func accountForAll(t *testing.T, seed uint64) {
	const messages, rounds = 400, 5
	l := newMessageOutcomes()
	h := newHub(t, runtime.PeerOptions{MaxOpen: 100}, func(o *wire.Options) {
		o.Handler, o.Limits.Outbox = recordingHandler{o.Handler, l}, 64
	})
	events := h.Events().Subscribe(actors.SubscribeOptions{Kinds: []actors.Kind{actors.KindMessageRefused, actors.KindMessageDeadLettered}})
	observing := events.Handle(l.observe)
	for i, capacity := range []int{1 << 16, 4, 1 << 16} {
		if err := h.Spawn(within(t), performatives.AgentID(fmt.Sprint("team/", i)), l.member, runtime.WithCapacity(capacity)); err != nil {
			t.Fatal(err)
		}
	}
	for round := range rounds {
		c := newCaller(t, h, nil)
		c.Answer = func(_ *wire.Session, m *performatives.Message) error {
			l.handle(m)
			return nil
		}
		c.say(message(t, "Jules", "system", performatives.ActQueryCapabilities, offers("peers work")))
		c.answer(1)
		var talking sync.WaitGroup
		talking.Go(func() { l.sendAll(t, seed, round, "there", messages, c.session.Send) })
		talking.Go(func() { l.sendAll(t, seed, round, "here", messages, h.Send) })
		talking.Go(func() {
			c.Await(t, 50)
			ctx, cancel := context.WithCancel(within(t))
			if round%2 > 0 {
				cancel() // immediately: written messages may be lost
			}
			defer cancel()
			for _, s := range h.server.Sessions() {
				_ = s.Stop(ctx) // the session ends in any case
			}
		})
		talking.Wait()
		c.cut()
		h.awaitStopped("Jules", round+1)
	}
	if err := errors.Join(h.Stop(within(t)), observing.Stop(within(t))); err != nil || observing.Lost() > 0 { // no further messages arrive
		t.Fatalf("%v, and %d events were lost", err, observing.Lost())
	}
	l.check(t, h.Counts())
}

// member is an agent that replies to half of its messages.
func (l *messageOutcomes) member() actors.Agent {
	return &answerer{newActionWorker("list")().(actionWorker).actions, l}
}

type answerer struct {
	actions []performatives.Action
	*messageOutcomes
}

func (a *answerer) Describe() performatives.Capabilities {
	return performatives.Capabilities{Actions: a.actions}
}

func (a *answerer) Receive(c *actors.Context, m *performatives.Message) {
	a.handle(m)
	if rand.IntN(2) == 0 {
		echo(c, m)
	}
}

// sendAll sends the messages of one side: here, from an agent of the node, or there, from
// a peer's agent.
func (l *messageOutcomes) sendAll(t *testing.T, seed uint64, round int, side string, n int, send func(*performatives.Message) error) {
	rng := rand.New(rand.NewPCG(seed, uint64(round)))
	acts := []performatives.Performative{performatives.ActInform, performatives.ActRequest, performatives.ActTaskRequest, performatives.ActCancel, performatives.ActStatusUpdate}
	for i := range n {
		from, to := performatives.AgentID("Jules"), []performatives.AgentID{"team/0", "team/1", "team/2", "team", "system", "hub", "nobody"}[rng.IntN(7)]
		if side == "here" {
			from, to = performatives.AgentID(fmt.Sprint("team/", rng.IntN(3))), "Jules"
		}
		m := message(t, from, to, acts[rng.IntN(len(acts))], func(e *performatives.Envelope) {
			e.ID = performatives.MessageID(fmt.Sprint(side, " ", round, " ", i))
			e.ConversationID = performatives.ConversationID(fmt.Sprint(round, " ", cmp.Or(rng.IntN(30), i)))
			switch e.Performative { //nolint:exhaustive // the acts of sendAll
			case performatives.ActTaskRequest:
				e.Payload = task([]string{"list", "unheard of"}[rng.IntN(2)])
			case performatives.ActStatusUpdate:
				e.InReplyTo, e.Payload = "q", performatives.StatusUpdate{Description: "working"}
			}
		})
		if side == "here" { // a message of the peer may be lost with the connection
			l.note(func() { l.came[m.ID()] = true })
		}
		if err := send(m); err != nil {
			if r := (*performatives.Refusal)(nil); !errors.As(err, &r) {
				t.Errorf("%s: %v", m.ID(), err)
			}
		}
	}
}

func (l *messageOutcomes) check(t *testing.T, counts actors.Counts) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	totals := make(map[string]int)
	for id := range l.came {
		if !strings.HasPrefix(string(id), "here") && !strings.HasPrefix(string(id), "there") {
			continue
		}
		handled, refused, dead := l.handled[id], l.refused[id], l.dead[id]
		totals["handled"] += handled
		totals["refused"] += refused
		totals["dead"] += dead
		switch fates := handled + refused + dead; {
		case abruptly(id) && refused+dead <= 1 && handled <= 1: // written, but possibly not received
		case fates != 1:
			t.Errorf("%s: handled %d times, refused %d, dead-lettered %d", id, handled, refused, dead)
		}
	}
	t.Log(totals, counts)
	for what, n := range map[string]int{"handled": 100, "refused": 50, "dead": 50} {
		if totals[what] < n {
			t.Errorf("only %d %s: the test is too mild to tell", totals[what], what)
		}
	}
	if counts.Refused != l.refusals || counts.DeadLetters != l.deaths {
		t.Errorf("%+v, but %d and %d events", counts, l.refusals, l.deaths)
	}
}

// abruptly reports whether a message was for a peer whose connection was cut.
func abruptly(id performatives.MessageID) bool {
	return strings.HasPrefix(string(id), "here 1 ") || strings.HasPrefix(string(id), "here 3 ")
}
