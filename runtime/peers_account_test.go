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
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/internal/account"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
)

// messageOutcomes records the outcomes of a test's messages, by message id. A message is
// accepted when the session's handler has received it from the peer, or when it is sent here.
type messageOutcomes struct {
	account.Messages[performatives.MessageID]
	refusals, deaths uint64 // totals of all messages; used by the observer alone
}

// count counts an outcome of a message that sendAll has made.
func (l *messageOutcomes) count(m *performatives.Message, o account.Outcome) {
	if id := string(m.ID()); strings.HasPrefix(id, "here") || strings.HasPrefix(id, "there") {
		l.Count(m.ID(), o)
	}
}

func (l *messageOutcomes) handle(m *performatives.Message) { l.count(m, account.Handled) }

func (l *messageOutcomes) observe(r events.Record) {
	switch e := r.Event.(type) {
	case events.MessageRefused:
		l.refusals++
		l.count(e.Message, account.Refused)
	case events.DeadLetter:
		l.deaths++
		if m, ok := e.Message.(*performatives.Message); ok {
			l.count(m, account.Dead)
		}
	}
}

// recordingHandler is a handler that records the messages it receives.
type recordingHandler struct {
	wire.Handler
	*messageOutcomes
}

func (w recordingHandler) Receive(s *wire.Session, m *performatives.Message) error {
	w.count(m, account.Accepted)
	return w.Handler.Receive(s, m)
}

// Each message of either side is handled, refused or dead-lettered once, however its
// connection ends.
func TestPeersAccountForEveryMessage(t *testing.T) { eachSeed(t, 4, accountForAll) }

func accountForAll(t *testing.T, seed uint64) {
	const messages, rounds = 400, 5
	l := &messageOutcomes{}
	h := newHub(t, runtime.PeerOptions{MaxOpen: 100}, func(o *wire.Options) {
		o.Handler, o.Limits.Outbox = recordingHandler{o.Handler, l}, 64
	})
	stream := h.Events().Subscribe(events.SubscribeOptions{Capacity: 1 << 16, Kinds: []events.Kind{events.KindMessageRefused, events.KindMessageDeadLettered}})
	observing := stream.Handle(l.observe)
	for i, capacity := range []int{1 << 16, 4, 1 << 16} {
		if err := h.Spawn(patience.Context(t), performatives.AgentID(fmt.Sprint("team/", i)), l.member, runtime.WithCapacity(capacity)); err != nil {
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
			ctx, cancel := context.WithCancel(patience.Context(t))
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
	if err := errors.Join(h.Stop(patience.Context(t)), observing.Stop(patience.Context(t))); err != nil || observing.Lost() > 0 { // no further messages arrive
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
			l.count(m, account.Accepted)
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
	for _, line := range l.Wrong(func(id performatives.MessageID, c account.Counts) bool {
		switch {
		case c[account.Accepted] == 0: // lost with its connection
			return true
		case abruptly(id): // written, but possibly not received
			return c[account.Refused]+c[account.Dead] <= 1 && c[account.Handled] <= 1
		}
		return c.Ended() == 1
	}) {
		t.Error(line)
	}
	totals := l.Totals()
	t.Log(totals, counts)
	if totals[account.Handled] < 100 || totals[account.Refused] < 50 || totals[account.Dead] < 50 {
		t.Errorf("%s: the test is too mild to tell", totals)
	}
	if counts.Refused != l.refusals || counts.DeadLetters != l.deaths {
		t.Errorf("%+v, but %d and %d events", counts, l.refusals, l.deaths)
	}
}

// abruptly reports whether a message was for a peer whose connection was cut.
func abruptly(id performatives.MessageID) bool {
	return strings.HasPrefix(string(id), "here 1 ") || strings.HasPrefix(string(id), "here 3 ")
}
