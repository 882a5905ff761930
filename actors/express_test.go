package actors

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
)

// scheduled are mailboxes on one worker that is held up, so that what is posted
// meanwhile waits in the pool's queues.
type scheduled struct {
	mailboxes []*Mailbox
	done      sync.WaitGroup
	served    []string // in order; one worker writes it
}

// invoke is what one of the mailboxes serves its messages to.
type invoke struct {
	s    *scheduled
	name string
}

func (i invoke) InvokeSystemMessage(any) {}

func (i invoke) InvokeUserMessage(message any) {
	i.s.served = append(i.s.served, fmt.Sprint(i.name, " ", message))
	i.s.done.Done()
}

func (invoke) EscalateFailure(any, any) {}

// banded is a message of a band.
type banded struct {
	text     string
	priority performatives.Priority
}

func (b banded) Priority() performatives.Priority { return b.priority }

func (b banded) String() string { return b.text }

// hold runs post while the only worker is held up, and returns the order in which
// the messages were served.
func hold(t *testing.T, mailboxes, messages int, post func(m []*Mailbox)) []string {
	t.Helper()
	pool := NewPool(PoolOptions{Workers: 1, Stall: 1 << 40})
	defer func() { _ = pool.Close(t.Context()) }()
	s := &scheduled{}
	s.done.Add(messages)
	for i := range mailboxes {
		m := NewMailbox(MailboxOptions{})
		m.RegisterHandlers(invoke{s, fmt.Sprint(i)}, pool)
		m.Start()
		s.mailboxes = append(s.mailboxes, m)
	}
	held, release := make(chan struct{}), make(chan struct{})
	pool.Schedule(func() { close(held); <-release })
	<-held
	post(s.mailboxes)
	close(release)
	s.done.Wait()
	return s.served
}

func inBand(text string, p performatives.Priority) any { return banded{text, p} }

func TestAnUrgentMessageBringsItsMailboxForward(t *testing.T) {
	got := hold(t, 3, 4, func(m []*Mailbox) {
		m[0].PostUserMessage(inBand("first", performatives.Normal))
		m[1].PostUserMessage(inBand("second", performatives.High))
		m[2].PostUserMessage(inBand("late", performatives.Urgent))
		m[1].PostUserMessage(inBand("later", performatives.Urgent)) // its mailbox waits already
	})
	want := []string{"2 late", "1 later", "1 second", "0 first"}
	if !slices.Equal(got, want) {
		t.Errorf("served %q, want %q", got, want)
	}
}

// TestCommandsDoNotHurry although they have the highest band: every conversation's
// end is one.
func TestCommandsDoNotHurry(t *testing.T) {
	for message, want := range map[any]bool{
		&alias{}: false, &end{}: false, &again{}: false, &begin{}: true, hurry{}: true,
	} {
		if got := expressly(performatives.Urgent.Band(), message); got != want {
			t.Errorf("%T: %t, want %t", message, got, want)
		}
	}
	if expressly(performatives.High.Band(), hurry{}) {
		t.Error("a band below urgent is in a hurry")
	}
}

// TestTheExpressLaneStarvesNobody has urgent mailboxes without end before an
// ordinary one.
func TestTheExpressLaneStarvesNobody(t *testing.T) {
	const crowd = 3 * expressStreak
	got := hold(t, crowd+1, crowd+1, func(m []*Mailbox) {
		m[0].PostUserMessage(inBand("patient", performatives.Low))
		for _, m := range m[1:] {
			m.PostUserMessage(inBand("urgent", performatives.Urgent))
		}
	})
	if at := slices.Index(got, "0 patient"); at != expressStreak {
		t.Errorf("the ordinary one was served as number %d, want %d", at, expressStreak)
	}
}

// rally is two mailboxes that keep each other busy: whoever is served an urgent
// message sends the other an ordinary one and an urgent one.
type rally struct {
	other  *Mailbox
	pool   *Pool
	rounds int // left
	queued int // the most that the pool's queues had
	done   chan struct{}
}

func (*rally) InvokeSystemMessage(any)  {}
func (*rally) EscalateFailure(any, any) {}

func (r *rally) InvokeUserMessage(message any) {
	if message.(banded).priority != performatives.Urgent {
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
	r.queued = max(r.queued, r.pool.queue.n+r.pool.express.n)
}

// TestNoQueueHasAMailboxTwice although each turn in the express lane overtakes one in
// the queue, which has its own turn but seldom.
func TestNoQueueHasAMailboxTwice(t *testing.T) {
	pool := NewPool(PoolOptions{Workers: 1, Stall: 1 << 40})
	var sides [2]*rally
	for i := range sides {
		sides[i] = &rally{other: NewMailbox(MailboxOptions{}), pool: pool, rounds: 1000, done: make(chan struct{})}
	}
	for i, r := range sides {
		r.other.RegisterHandlers(sides[1-i], pool)
	}
	for _, r := range sides {
		r.other.Start()
	}
	sides[0].other.PostUserMessage(inBand("serve", performatives.Urgent))
	<-sides[1].done
	closePool(t, pool) // the other one may not have ended its turn yet
	for i, r := range sides {
		if r.queued > 2*len(sides) {
			t.Errorf("side %d: the queues had %d entries for %d mailboxes", i, r.queued, len(sides))
		}
	}
}

// TestHurryingWhatAnotherHasScheduled has someone without a hurry be faster between
// an urgent message and its wakeup.
func TestHurryingWhatAnotherHasScheduled(t *testing.T) {
	got := hold(t, 2, 3, func(m []*Mailbox) {
		m[0].PostUserMessage(inBand("first", performatives.Normal))
		m[1].PostUserMessage(inBand("second", performatives.Normal))
		if reason := m[1].band(performatives.Urgent).push(inBand("late", performatives.Urgent), 1, false); reason != 0 {
			t.Error(reason)
		}
		m[1].word.Or(1 << performatives.Urgent.Band())
		m[1].schedule(true)
	})
	if want := []string{"1 late", "1 second", "0 first"}; !slices.Equal(got, want) {
		t.Errorf("served %q, want %q", got, want)
	}
}

// band returns the band of a priority.
func (m *Mailbox) band(p performatives.Priority) *band { return m.newBand(p.Band()) }
