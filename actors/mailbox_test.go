package actors

import (
	"errors"
	goruntime "runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/performatives"
)

const (
	low    = performatives.Low
	normal = performatives.Normal
	high   = performatives.High
	urgent = performatives.Urgent
)

func TestMailboxServesByPriority(t *testing.T) {
	for _, enveloped := range []bool{false, true} {
		b := newTestMailbox(0)
		for _, n := range notes(low, normal, urgent, high, low, urgent) {
			if enveloped {
				n = &actor.MessageEnvelope{Message: n}
			}
			b.PostUserMessage(n)
		}
		b.sim.Run()
		if diff := cmp.Diff([]int{2, 5, 3, 1, 0, 4}, seqs(b.user)); diff != "" {
			t.Errorf("enveloped=%v: order (-want +got):\n%s", enveloped, diff)
		}
	}
}

func TestMailboxServesUnknownMessagesAsNormal(t *testing.T) {
	b := newTestMailbox(0)
	for _, m := range []any{&note{priority: low}, "plain", &note{priority: high}} {
		b.PostUserMessage(m)
	}
	b.sim.Run()
	if b.user[1] != "plain" {
		t.Errorf("got %v, want the plain message second", b.user)
	}
}

func TestMailboxServesSystemMessagesFirstAndInOrder(t *testing.T) {
	b := newTestMailbox(0)
	var atFirst int
	b.receive = func(any) { atFirst = len(b.systems) }
	b.PostUserMessage(&note{priority: urgent})
	b.PostSystemMessage(1)
	b.PostSystemMessage(2)
	b.sim.Run()
	if diff := cmp.Diff([]any{1, 2}, b.systems); diff != "" || atFirst != 2 {
		t.Errorf("%d system messages before the first user message, want 2; (-want +got):\n%s", atFirst, diff)
	}
}

func TestMailboxRefusesWhenABandIsFull(t *testing.T) {
	const capacity = 40
	b := newTestMailbox(capacity)
	for i := range capacity + 2 {
		b.PostUserMessage(&actor.MessageEnvelope{Message: &note{priority: low, seq: i}})
	}
	if diff := cmp.Diff([]int{40, 41}, seqs(b.refused.messages)); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	if _, ok := b.refused.messages[0].(*actor.MessageEnvelope); !ok || b.refused.reasons[0] != ReasonFull {
		t.Errorf("refused %T for %v, want the envelope, for full", b.refused.messages[0], b.refused.reasons[0])
	}
	if err := b.Post(&note{priority: low}); !errors.Is(err, ErrMailboxFull) || len(b.refused.messages) != 2 {
		t.Errorf("Post = %v, and %d refused; want ErrMailboxFull, and 2", err, len(b.refused.messages))
	}
	if err := b.Post(&note{priority: high}); err != nil {
		t.Errorf("Post to another band = %v", err)
	}
	if n := b.Len(low); n != capacity || b.UserMessageCount() != capacity+1 {
		t.Errorf("Len = %d, UserMessageCount = %d", n, b.UserMessageCount())
	}
	b.sim.Run()
	if len(b.user) != capacity+1 || b.UserMessageCount() != 0 {
		t.Errorf("handled %d, and %d left", len(b.user), b.UserMessageCount())
	}
}

// The claimed batch counts towards the capacity.
func TestMailboxCountsTheClaimedBatch(t *testing.T) {
	const capacity = 16
	b := newTestMailbox(capacity)
	for i := range capacity {
		b.PostUserMessage(&note{seq: i})
	}
	b.sim.Step()
	accepted := 0
	for b.Post(&note{}) == nil {
		accepted++
	}
	if accepted != 1 {
		t.Errorf("accepted %d more messages after handling one, want 1", accepted)
	}
}

func TestMailboxSuspension(t *testing.T) {
	b := newTestMailbox(0)
	b.PostSystemMessage(&actor.SuspendMailbox{})
	b.PostUserMessage(&note{priority: urgent})
	b.PostSystemMessage("system")
	b.sim.Run()
	if len(b.user) != 0 || len(b.systems) != 1 {
		t.Fatalf("suspended: handled %d user and %d system messages, want 0 and 1", len(b.user), len(b.systems))
	}
	b.PostSystemMessage(&actor.ResumeMailbox{})
	b.sim.Run()
	if len(b.user) != 1 {
		t.Errorf("resumed: handled %d user messages, want 1", len(b.user))
	}
}

// A mailbox suspended within a claim continues with the rest of the claim.
func TestMailboxKeepsTheClaimWhileSuspended(t *testing.T) {
	b := newTestMailbox(0)
	for i := range 5 {
		b.PostUserMessage(&note{seq: i})
	}
	b.receive = func(m any) {
		if m.(*note).seq == 1 {
			b.PostSystemMessage(&actor.SuspendMailbox{})
		}
	}
	b.sim.Run()
	if diff := cmp.Diff([]int{0, 1}, seqs(b.user)); diff != "" {
		t.Errorf("suspended (-want +got):\n%s", diff)
	}
	b.PostSystemMessage(&actor.ResumeMailbox{})
	b.sim.Run()
	if diff := cmp.Diff([]int{0, 1, 2, 3, 4}, seqs(b.user)); diff != "" {
		t.Errorf("resumed (-want +got):\n%s", diff)
	}
}

func TestMailboxKeepsTheRestOfTheBatchWhenAHandlerPanics(t *testing.T) {
	b := newTestMailbox(0)
	cause := errors.New("broken")
	b.receive = func(m any) {
		if m.(*note).seq == 1 {
			panic(cause)
		}
	}
	for i := range 4 {
		b.PostUserMessage(&note{seq: i})
	}
	b.sim.Run()
	if diff := cmp.Diff([]int{0, 1, 2, 3}, seqs(b.user)); diff != "" {
		t.Errorf("handled (-want +got):\n%s", diff)
	}
	if len(b.failures) != 1 {
		t.Fatalf("%d failures, want 1", len(b.failures))
	}
	p, ok := b.failures[0].(*PanicError)
	if !ok || !errors.Is(p, cause) {
		t.Fatalf("failure = %v, want the panic's value", b.failures[0])
	}
	if !strings.Contains(string(p.Stack), "mailbox_test.go") {
		t.Errorf("the stack does not name the handler:\n%s", p.Stack)
	}
}

func TestMailboxOutlivesAHandlerThatEndsItsGoroutine(t *testing.T) {
	pool := NewPool(PoolOptions{Workers: 1})
	r := &recorder{}
	done := make(chan struct{})
	r.receive = func(m any) {
		if m.(*note).seq == 0 {
			goruntime.Goexit()
		}
		close(done)
	}
	m := NewMailbox(MailboxOptions{})
	m.RegisterHandlers(r, pool)
	m.PostUserMessage(&note{seq: 0})
	m.PostUserMessage(&note{seq: 1})
	m.Start()
	<-done
	closePool(t, pool)
	if len(r.failures) != 1 || !errors.Is(r.failures[0].(error), errGoexit) {
		t.Errorf("failures = %v, want one, of Goexit", r.failures)
	}
}

func TestMailboxCloseRefusesEverything(t *testing.T) {
	b := newTestMailbox(0)
	b.PostSystemMessage(&actor.SuspendMailbox{})
	for _, n := range notes(low, urgent) {
		b.PostUserMessage(n)
	}
	b.Close()
	b.Close()
	b.PostSystemMessage(&actor.SuspendMailbox{}) // a suspended mailbox still refuses
	b.sim.Run()
	b.PostUserMessage(&note{priority: normal, seq: 2})
	b.PostUserMessage(&note{priority: low, seq: 3})
	if err := b.Post(&note{}); !errors.Is(err, ErrStopped) {
		t.Errorf("Post = %v, want ErrStopped", err)
	}
	if diff := cmp.Diff([]int{1, 0, 2, 3}, seqs(b.refused.messages)); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	if b.refused.reasons[0] != ReasonStopped || len(b.user) != 0 {
		t.Errorf("reason %v, handled %v; want stopped, and nothing", b.refused.reasons[0], b.user)
	}
}

func TestMailboxGivesMemoryBackAfterABurst(t *testing.T) {
	b := newTestMailbox(1 << 20)
	for range 100_000 {
		b.PostUserMessage(&note{})
	}
	b.sim.Run()
	kept := 0
	for _, s := range []*segment{b.bands[normal.Band()].Load().head, b.bands[normal.Band()].Load().out, b.bands[normal.Band()].Load().spare} {
		for ; s != nil; s = s.next {
			kept++
		}
	}
	if kept > 2 {
		t.Errorf("an empty band keeps %d segments, want 2 or fewer", kept)
	}
}

// The queue does not keep references to handled messages.
func TestMailboxForgetsHandledMessages(t *testing.T) {
	b := newTestMailbox(0)
	for range 3 * segmentSize {
		b.PostUserMessage(&note{})
	}
	b.sim.Run()
	q := b.bands[normal.Band()].Load()
	for _, s := range []*segment{q.tail, q.spare} {
		if s != nil && s.items != [segmentSize]any{} {
			t.Error("an empty segment refers to a message")
		}
	}
}

func TestMailboxAllocatesNothingPerMessage(t *testing.T) {
	racetest.Skip(t) // with it, a sync.Pool drops a part of what it gets
	b := newTestMailbox(0)
	b.receive = func(any) { b.user = b.user[:0] }
	messages := notes(low, normal, high, urgent)
	per := testing.AllocsPerRun(100, func() {
		for range 50 {
			for _, m := range messages {
				b.PostUserMessage(m)
			}
		}
		b.sim.Run()
	})
	if per >= 1 {
		t.Errorf("%v allocations for 200 messages, want none", per)
	}
}

// The fields of producers and consumer are on separate cache lines, in a Mailbox and in a
// band.
func TestLayout(t *testing.T) {
	if size := unsafe.Sizeof(Mailbox{}); size != 128 {
		t.Errorf("a Mailbox has %d bytes, want 128", size)
	}
	if at := unsafe.Offsetof(Mailbox{}.invoker); at != 64 {
		t.Errorf("the consumer's side of a Mailbox is at %d, want 64", at)
	}
	if size := unsafe.Sizeof(band{}); size != 128 {
		t.Errorf("a band has %d bytes, want 128", size)
	}
	if at := unsafe.Offsetof(band{}.out); at != 64 {
		t.Errorf("the consumer's side of a band is at %d, want 64", at)
	}
	if size := unsafe.Sizeof(segment{}); size != 512 {
		t.Errorf("a segment has %d bytes, want 512", size)
	}
}

func TestMailboxRejectsInvalidOptions(t *testing.T) {
	for _, capacity := range []int{-1, 1 << 40} {
		if err := (MailboxOptions{Capacity: capacity}).validate(); err == nil || !strings.Contains(err.Error(), "Capacity") {
			t.Errorf("capacity %d: err = %v, want one that names Capacity", capacity, err)
		}
	}
	if err := (MailboxOptions{Capacity: 1, LongBytes: -1}).validate(); err == nil || !strings.Contains(err.Error(), "LongBytes") {
		t.Errorf("err = %v, want one that names LongBytes", err)
	}
}
