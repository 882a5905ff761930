package actors

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/performatives"
)

// heldMailboxes are mailboxes on one worker that is blocked, so that posted messages wait
// in the pool's queues.
type heldMailboxes struct {
	mailboxes []*Mailbox
	done      sync.WaitGroup
	served    []string // in order; written by the single worker
}

// heldInvoker is the invoker of one of the mailboxes.
type heldInvoker struct {
	s    *heldMailboxes
	name string
}

func (i heldInvoker) InvokeSystemMessage(any) {}

func (i heldInvoker) InvokeUserMessage(message any) {
	i.s.served = append(i.s.served, fmt.Sprint(i.name, " ", message))
	i.s.done.Done()
}

func (heldInvoker) EscalateFailure(any, any) {}

// bandMessage is a message of a band.
type bandMessage struct {
	text     string
	priority performatives.Priority
}

func (b bandMessage) Priority() performatives.Priority { return b.priority }

func (b bandMessage) String() string { return b.text }

// foreign is a dispatcher that is no [Pool], with the queues of one.
type foreign struct{ *Pool }

// dispatchers returns a pool, and a dispatcher with its queues.
func dispatchers(p *Pool) [2]actor.Dispatcher { return [...]actor.Dispatcher{p, foreign{p}} }

// serveHeld runs post while the only worker is blocked, and returns the order in which
// the messages were served. It has to be the same on any dispatcher with those queues.
func serveHeld(t *testing.T, mailboxes, messages int, post func(m []*Mailbox)) []string {
	t.Helper()
	pool := NewPool(PoolOptions{Workers: 1, Stall: 1 << 40})
	defer func() { _ = pool.Close(t.Context()) }()
	var served [2][]string
	for i, d := range dispatchers(pool) {
		s := &heldMailboxes{}
		s.done.Add(messages)
		for i := range mailboxes {
			m := NewMailbox(MailboxOptions{})
			m.RegisterHandlers(heldInvoker{s, fmt.Sprint(i)}, d)
			m.Start()
			s.mailboxes = append(s.mailboxes, m)
		}
		held, release := make(chan struct{}), make(chan struct{})
		pool.Schedule(func() { close(held); <-release })
		<-held
		post(s.mailboxes)
		close(release)
		s.done.Wait()
		served[i] = s.served
	}
	if !slices.Equal(served[0], served[1]) {
		t.Errorf("served %q, and %q on another dispatcher", served[0], served[1])
	}
	return served[0]
}

func inBand(text string, p performatives.Priority) any { return bandMessage{text, p} }

func TestUrgentMessageMovesItsMailboxForward(t *testing.T) {
	got := serveHeld(t, 3, 4, func(m []*Mailbox) {
		m[0].PostUserMessage(inBand("first", performatives.Normal))
		m[1].PostUserMessage(inBand("second", performatives.High))
		m[2].PostUserMessage(inBand("late", performatives.Urgent))
		m[1].PostUserMessage(inBand("later", performatives.Urgent)) // its mailbox is queued already
	})
	want := []string{"2 late", "1 later", "1 second", "0 first"}
	if !slices.Equal(got, want) {
		t.Errorf("served %q, want %q", got, want)
	}
}

// urgentConversation is a conversation of URGENT priority.
type urgentConversation struct{ Conversation }

func (urgentConversation) Priority() performatives.Priority { return performatives.Urgent }

// Commands are not expedited although they have the highest band: there is one for each
// conversation's end. The beginning of an urgent conversation is.
func TestCommandsAreNotExpedited(t *testing.T) {
	urgent, err := performatives.New(performatives.Envelope{
		ID: "m", Performative: performatives.ActInform, Sender: "b", Priority: performatives.Urgent, Timestamp: time.Unix(1, 0), Payload: performatives.Raw(`{}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	for message, want := range map[any]string{
		&alias{}: "0", &end{}: "0", &redelivery{}: "0", &conversationFailed{}: "0", &retire{}: "0", &waited{urgent}: "0", &lossMark{priority: performatives.Urgent}: "0",
		inBand("", performatives.High): "0", &begin{}: "0",
		&begin{urgentConversation{}}: "1", urgent: "1", inBand("", performatives.Urgent): "1", &actor.MessageEnvelope{Message: inBand("", performatives.Urgent)}: "1",
	} {
		got := serveHeld(t, 2, 2, func(m []*Mailbox) {
			m[0].PostUserMessage(inBand("first", performatives.Normal))
			m[1].PostUserMessage(message)
		})
		if first, _, _ := strings.Cut(got[0], " "); first != want {
			t.Errorf("%T: mailbox %s is served first, want %s", message, first, want)
		}
	}
}

// A full mailbox takes the commands that end something, among its urgent messages.
func TestCommandsThatEndHaveRoom(t *testing.T) {
	for _, message := range []any{&alias{}, &end{}, &redelivery{}, &conversationFailed{}, &retire{}} {
		b := newTestMailbox(1)
		for _, p := range []performatives.Priority{performatives.Normal, performatives.Urgent} {
			if err := b.Post(inBand("", p)); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Post(message); err != nil || b.Len(performatives.Urgent) != 2 {
			t.Errorf("%T: %v, with %d urgent messages", message, err, b.Len(performatives.Urgent))
		}
		if err := b.Post(inBand("", performatives.Urgent)); !errors.Is(err, ErrMailboxFull) {
			t.Errorf("a message that ends nothing: %v", err)
		}
	}
}

// Several urgent messages have one entry in the express queue.
func TestUrgentMessagesMoveTheirMailboxOnce(t *testing.T) {
	serveHeld(t, 1, 3, func(m []*Mailbox) {
		m[0].PostUserMessage(inBand("ordinary", performatives.Normal))
		m[0].PostUserMessage(inBand("urgent", performatives.Urgent))
		m[0].PostUserMessage(inBand("urgent too", performatives.Urgent))
		if p, ok := m[0].turns.(*Pool); ok && (p.express.n != 1 || p.queue.n != 1) {
			t.Errorf("the queues have the mailbox %d and %d times", p.express.n, p.queue.n)
		}
	})
}

// unlimited is a simulation that names no throughput.
type unlimited struct{ *Sim }

func (unlimited) Throughput() int { return 0 }

// A turn handles at least one message, whatever the dispatcher says.
func TestThroughputIsPositive(t *testing.T) {
	m, r, sim := NewMailbox(MailboxOptions{}), &recorder{}, NewSim(SimOptions{})
	m.RegisterHandlers(r, unlimited{sim})
	m.Start()
	for _, n := range notes(normal, normal) {
		m.PostUserMessage(n)
	}
	for range 4 {
		sim.Step()
	}
	if len(r.user) != 2 {
		t.Errorf("%d messages were served, want 2", len(r.user))
	}
}

// The express queue has an unbounded number of entries before an ordinary one.
func TestExpressQueueDoesNotStarveTheOther(t *testing.T) {
	const crowd = 3 * maxExpressRun
	got := serveHeld(t, crowd+1, crowd+1, func(m []*Mailbox) {
		m[0].PostUserMessage(inBand("patient", performatives.Low))
		for _, m := range m[1:] {
			m.PostUserMessage(inBand("urgent", performatives.Urgent))
		}
	})
	if at := slices.Index(got, "0 patient"); at != maxExpressRun {
		t.Errorf("the ordinary mailbox was served as number %d, want %d", at, maxExpressRun)
	}
}

// urgentPingPong is two mailboxes that send to each other: on each urgent message, one
// sends the other an ordinary and an urgent one.
type urgentPingPong struct {
	other  *Mailbox
	pool   *Pool
	rounds int // remaining rounds
	queued int // the largest number of entries in the pool's queues
	done   chan struct{}
}

func (*urgentPingPong) InvokeSystemMessage(any)  {}
func (*urgentPingPong) EscalateFailure(any, any) {}

func (r *urgentPingPong) InvokeUserMessage(message any) {
	if message.(bandMessage).priority != performatives.Urgent {
		return
	}
	if r.rounds--; r.rounds == 0 {
		close(r.done)
	}
	if r.rounds <= 0 {
		return
	}
	r.other.PostUserMessage(inBand("ordinary", performatives.Normal))
	r.other.PostUserMessage(inBand("urgent", performatives.Urgent))
	r.pool.mu.Lock()
	defer r.pool.mu.Unlock()
	r.queued = max(r.queued, int(r.pool.queue.n+r.pool.express.n))
}

// Each turn from the express queue leaves an entry in the ordinary queue, which is served
// rarely. There must be at most one.
func TestEachQueueHasAMailboxOnce(t *testing.T) {
	for _, throughput := range []int{1, 2, 100} {
		testPingPong(t, throughput)
	}
}

func testPingPong(t *testing.T, throughput int) {
	t.Helper()
	pool := NewPool(PoolOptions{Workers: 1, Throughput: throughput, Stall: 1 << 40})
	var sides [2]*urgentPingPong
	for i := range sides {
		sides[i] = &urgentPingPong{other: NewMailbox(MailboxOptions{}), pool: pool, rounds: 1000, done: make(chan struct{})}
	}
	for i, r := range sides {
		r.other.RegisterHandlers(sides[1-i], pool)
	}
	for _, r := range sides {
		r.other.Start()
	}
	sides[0].other.PostUserMessage(inBand("serve", performatives.Urgent))
	<-sides[1].done
	closePool(t, pool) // the other mailbox may still run
	for i, r := range sides {
		if r.queued > 2*len(sides) {
			t.Errorf("throughput %d, side %d: the queues had %d entries for %d mailboxes", throughput, i, r.queued, len(sides))
		}
	}
}

// Another producer schedules the mailbox in the ordinary queue between an urgent message
// and its wakeup.
func TestExpediteAScheduledMailbox(t *testing.T) {
	got := serveHeld(t, 2, 3, func(m []*Mailbox) {
		m[0].PostUserMessage(inBand("first", performatives.Normal))
		m[1].PostUserMessage(inBand("second", performatives.Normal))
		if reason := m[1].band(performatives.Urgent).push(inBand("late", performatives.Urgent), 1, bounded); reason != 0 {
			t.Error(reason)
		}
		m[1].wake(1<<performatives.Urgent.Band(), true)
	})
	if want := []string{"1 late", "1 second", "0 first"}; !slices.Equal(got, want) {
		t.Errorf("served %q, want %q", got, want)
	}
}

// band returns the band of a priority.
func (m *Mailbox) band(p performatives.Priority) *band { return m.newBand(p.Band()) }

// The engine registers an actor before it tells its mailbox of the dispatcher. So a message may come
// before. It is served after Start.
func TestUrgentMessageWhileTheEngineRegistersTheHandlers(t *testing.T) {
	m, r, sim := NewMailbox(MailboxOptions{}), &recorder{}, NewSim(SimOptions{})
	var posted sync.WaitGroup
	posted.Go(func() { m.PostUserMessage(inBand("early", performatives.Urgent)) })
	m.RegisterHandlers(r, sim)
	posted.Wait()
	m.Start()
	sim.Run()
	if len(r.user) != 1 {
		t.Errorf("served %v, want the early message", r.user)
	}
}
