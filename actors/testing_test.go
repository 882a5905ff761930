package actors

import (
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/internal/leakcheck"
	"github.com/ribosome-agents/ribosome/performatives"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// note is a message with a priority.
type note struct {
	priority performatives.Priority
	sender   int
	seq      int
}

func (n *note) Priority() performatives.Priority { return n.priority }

// bubble runs test with virtual time, and advances the clock at the end: the engine
// starts a goroutine for the first dead letter of an interval.
func bubble(t *testing.T, test func(*testing.T)) {
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Second) })
		test(t)
	})
}

func newSystem() *actor.ActorSystem {
	return actor.NewActorSystem(actor.WithDeadLetterThrottleInterval(1), actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError + 1}))
	}))
}

// recorder is a message invoker that records its calls.
type recorder struct {
	user, systems []any
	failures      []any
	receive       func(message any) // called with each user message after it is recorded
}

func (r *recorder) InvokeUserMessage(m any) {
	r.user = append(r.user, m)
	if r.receive != nil {
		r.receive(m)
	}
}
func (r *recorder) InvokeSystemMessage(m any)     { r.systems = append(r.systems, m) }
func (r *recorder) EscalateFailure(reason, _ any) { r.failures = append(r.failures, reason) }

// refusals records refused messages.
type refusals struct {
	messages []any
	reasons  []Reason
}

func (r *refusals) add(m any, reason Reason) {
	r.messages = append(r.messages, m)
	r.reasons = append(r.reasons, reason)
}

// testMailbox is a mailbox with a recorder, served when the simulation runs.
type testMailbox struct {
	*Mailbox
	*recorder
	refused refusals
	sim     *Sim
}

func newTestMailbox(capacity int) *testMailbox {
	return newTestMailboxOf(MailboxOptions{Capacity: capacity})
}

func newTestMailboxOf(o MailboxOptions) *testMailbox {
	b := &testMailbox{recorder: &recorder{}, sim: NewSim(SimOptions{})}
	o.OnRefuse = b.refused.add
	b.Mailbox = NewMailbox(o)
	b.RegisterHandlers(b.recorder, b.sim)
	b.Start()
	return b
}

// notes returns one note per priority, numbered in order.
func notes(priorities ...performatives.Priority) []any {
	all := make([]any, len(priorities))
	for i, p := range priorities {
		all[i] = &note{priority: p, seq: i}
	}
	return all
}

// seqs returns the numbers of notes, with or without envelope.
func seqs(messages []any) []int {
	var all []int
	for _, m := range messages {
		all = append(all, actor.UnwrapEnvelopeMessage(m).(*note).seq)
	}
	return all
}
