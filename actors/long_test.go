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

// longMessage is a message from outside of about so many bytes.
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

// All long messages together have so many bytes of room, in whichever bands they are, and
// give it back when they are served.
func TestMailboxBoundsLongMessages(t *testing.T) {
	b := newBenchOf(MailboxOptions{LongBytes: 100 << 10})
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
	if b.long.Load() != 0 {
		t.Errorf("%d units are held by nobody", b.long.Load())
	}
}

// A message that is longer than all the room gets in alone.
func TestMailboxTakesOneThatIsTooLong(t *testing.T) {
	b := newBenchOf(MailboxOptions{LongBytes: 100 << 10})
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

// What is refused by the band, or because the actor stops, holds no room.
func TestMailboxForgetsRefusedLongMessages(t *testing.T) {
	b := newBenchOf(MailboxOptions{Capacity: 1})
	for range 3 {
		b.PostUserMessage(longMessage(t, normal, 10<<10))
	}
	b.Close()
	b.sim.Run()
	b.PostUserMessage(longMessage(t, normal, 10<<10))
	if len(b.user) != 0 || len(b.refused.messages) != 4 || b.long.Load() != 0 {
		t.Errorf("%d served, %d refused, %d units held", len(b.user), len(b.refused.messages), b.long.Load())
	}
}

// A message that is refused takes no room from another meanwhile.
func TestMailboxRefusesOnlyWhatIsTooMuch(t *testing.T) {
	b := newBenchOf(MailboxOptions{LongBytes: 100 << 10})
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

// The bound of a system is that of each of its mailboxes: an agent's, one's of another
// capacity, and a conversation's.
func TestLongBytesHoldEverywhere(t *testing.T) {
	s, err := NewSystem(Options{LongBytes: 5 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Stop(context.Background()) }()
	conversation := s.newConversationMailbox().(*Mailbox)
	for name, config := range map[string]*mailboxConfig{"usual": s.mailbox, "own capacity": s.mailboxConfig(7), "conversation": conversation.config} {
		if config.long != 5 {
			t.Errorf("%s: %d KiB", name, config.long)
		}
	}
}

// Who has departed is remembered without the message that named it.
func TestDepartedKeepNoMessage(t *testing.T) {
	text := strings.Repeat("x", 100)
	var d departed
	d.add(performatives.AgentID(text[:5]))
	if unsafe.StringData(string(d.ring[0])) == unsafe.StringData(text) {
		t.Error("it keeps the text that it was given a part of")
	}
}
