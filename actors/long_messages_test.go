package actors

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/ribosome-agents/ribosome/performatives"
)

// longMessage returns a message of a remote peer of about the given size.
func longMessage(t *testing.T, p performatives.Priority, bytes int) *performatives.Message {
	t.Helper()
	m, err := performatives.New(performatives.Envelope{
		ID: "m", Performative: performatives.ActInform, Sender: "s", Receiver: "r", Timestamp: time.Unix(1, 0), Priority: p,
		Payload: performatives.Raw(`{"x":"` + strings.Repeat("x", bytes) + `"}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	m.Weigh()
	return m
}

// The limit applies to the long messages of all bands together, and served messages no
// longer count.
func TestMailboxBoundsLongMessages(t *testing.T) {
	b := newTestMailboxOf(MailboxOptions{LongBytes: 100 << 10})
	long := func(p performatives.Priority, want error) {
		t.Helper()
		if err := b.Post(longMessage(t, p, 45<<10)); !errors.Is(err, want) {
			t.Errorf("Post = %v, want %v", err, want)
		}
	}
	for range 3 {
		long(low, nil)
		long(urgent, nil)
		long(low, ErrMailboxFull)
		long(high, ErrMailboxFull)
		if err := b.Post(&note{}); err != nil {
			t.Errorf("a short one: %v", err)
		}
		b.sim.Step()
		b.sim.Run()
	}
	if len(b.user) != 9 {
		t.Errorf("%d were served", len(b.user))
	}
	if b.longQueued.Load() != 0 {
		t.Errorf("%d KiB are counted with an empty queue", b.longQueued.Load())
	}
}

// A message larger than the limit is accepted when no other long message is queued.
func TestMailboxAcceptsOversizedMessageAlone(t *testing.T) {
	b := newTestMailboxOf(MailboxOptions{LongBytes: 100 << 10})
	giant := longMessage(t, normal, 1<<20)
	for range 2 {
		if err := b.Post(giant); err != nil {
			t.Errorf("alone: %v", err)
		}
		if err := b.Post(giant); !errors.Is(err, ErrMailboxFull) {
			t.Errorf("beside another: %v", err)
		}
		b.sim.Run()
	}
}

// Messages refused because the band is full or the actor has stopped do not count.
func TestRefusedLongMessagesReleaseTheirSize(t *testing.T) {
	b := newTestMailboxOf(MailboxOptions{Capacity: 1})
	for range 3 {
		b.PostUserMessage(longMessage(t, normal, 10<<10))
	}
	b.Close()
	b.sim.Run()
	b.PostUserMessage(longMessage(t, normal, 10<<10))
	if len(b.user) != 0 || len(b.refused.messages) != 4 || b.longQueued.Load() != 0 {
		t.Errorf("%d served, %d refused, %d KiB counted", len(b.user), len(b.refused.messages), b.longQueued.Load())
	}
}

// A refused message does not reserve any size, not even temporarily.
func TestRefusedLongMessageReservesNothing(t *testing.T) {
	b := newTestMailboxOf(MailboxOptions{LongBytes: 100 << 10})
	small, large := longMessage(t, normal, 20<<10), longMessage(t, normal, 90<<10)
	if err := b.Post(small); err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	var others sync.WaitGroup
	for range 2 {
		others.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				if err := b.Post(large); !errors.Is(err, ErrMailboxFull) {
					t.Errorf("the large one: %v", err)
					return
				}
			}
		})
	}
	for range 10_000 {
		if err := b.Post(small); err != nil {
			t.Errorf("the small one: %v", err)
			break
		}
		b.sim.Step()
	}
	close(over)
	others.Wait()
}

// The limit of a system applies to each of its mailboxes: an agent's, one with another
// capacity, and a conversation's.
func TestLongBytesAppliesToEveryMailbox(t *testing.T) {
	s, err := NewSystem(Options{LongBytes: 5 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Stop(context.Background()) }()
	for name, config := range map[string]*mailboxConfig{"usual, and a conversation's": s.mailbox, "own capacity": s.mailboxConfig(7)} {
		if config.longLimit != 5 {
			t.Errorf("%s: %d KiB", name, config.longLimit)
		}
	}
}

// stoppedAgents copies the id, and does not keep the message that contained it.
func TestStoppedAgentsKeepNoMessage(t *testing.T) {
	text := strings.Repeat("x", 100)
	var d stoppedAgents
	d.add(performatives.AgentID(text[:5]))
	if unsafe.StringData(string(d.ring[0])) == unsafe.StringData(text) {
		t.Error("the stored id shares memory with the text")
	}
}
