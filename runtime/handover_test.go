package runtime_test

import (
	"testing"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// gated is a handler that waits before a message that its test holds back.
type gated struct {
	wire.Handler
	held          performatives.MessageID
	came, release chan struct{}
}

// Receive waits if it is told to.
func (g gated) Receive(s *wire.Session, m *performatives.Message) error {
	if m.ID() == g.held {
		g.came <- struct{}{}
		<-g.release
	}
	return g.Handler.Receive(s, m)
}

// What a session says after another has taken its agent over is counted and goes to nobody: its
// peer may not hear that it is refused.
func TestReplacedSessionIsCounted(t *testing.T) {
	for _, act := range []performatives.Performative{performatives.ActInform, performatives.ActRequest} {
		for _, to := range []performatives.AgentID{"Eliza", "Bob"} { // an agent here, and one of another session
			g := gated{held: "late", came: make(chan struct{}), release: make(chan struct{})}
			h := newHub(t, noPeerOptions, func(o *wire.Options) { g.Handler, o.Handler = o.Handler, &g })
			h.spawn("Eliza", always(scripted{receive: echo}))
			bob := newCaller(t, h, nil)
			bob.say(message(t, "Bob", "system", performatives.ActQueryCapabilities, offers("read")))
			bob.answer(1)
			fates := listen(t, h.Node, events.KindMessageDeadLettered, events.KindMessageRefused)
			first, second := newCaller(t, h, nil), newCaller(t, h, nil)
			first.say(message(t, "Jules", "system", performatives.ActQueryCapabilities, offers("debug_code")))
			first.answer(1)
			first.say(message(t, "Jules", to, act, func(e *performatives.Envelope) { e.ID = g.held }))
			<-g.came
			second.say(message(t, "Jules", "system", performatives.ActQueryCapabilities, offers("debug_code")))
			second.answer(1)
			close(g.release)
			await(t, fates, 1, func(e events.Event) bool {
				switch e := e.(type) {
				case events.DeadLetter:
					return act == performatives.ActInform && e.Message.(*performatives.Message).ID() == g.held
				case events.MessageRefused:
					return act == performatives.ActRequest && e.Message.ID() == g.held
				}
				return false
			})
		}
	}
}
