package actors

import (
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// A producer may append a message before the band closes, and set its bit after the
// mailbox was drained.
func TestReleaseKeepsQueuedMessages(t *testing.T) {
	b := new(band)
	b.push("late", 8, bounded)
	b.close()
	b.release()
	if !b.claim() {
		t.Fatal("the message has gone")
	}
	if got := b.pop(1); got != "late" {
		t.Errorf("got %v", got)
	}
	b.release()
	if b.claim() {
		t.Error("there is another message")
	}
}

// The oldest message is the first that the consumer has claimed and not served, before those that
// are queued. A value that is no message has no time.
func TestBandOldest(t *testing.T) {
	var b band
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	at := func(second int) time.Time { return noon.Add(time.Duration(second) * time.Second) }
	push := func(second int) {
		t.Helper()
		m, err := performatives.New(performatives.Envelope{
			ID: "m", Performative: performatives.ActInform, Sender: "x", Receiver: "a", Timestamp: at(second), Payload: performatives.Raw(`{}`),
		})
		if err != nil {
			t.Fatal(err)
		}
		b.push(m, 10, bounded)
	}
	want := func(what string, oldest time.Time) {
		t.Helper()
		if got := b.oldest(); !got.Equal(oldest) {
			t.Errorf("%s: %v, want %v", what, got, oldest)
		}
	}
	want("empty", time.Time{})
	for i := range 3 {
		push(1 + i)
	}
	want("three queued", at(1))
	b.claim()
	b.pop(1)
	push(4)
	want("two claimed, one queued", at(2))
	b.pop(1)
	want("one claimed, one queued", at(3))
	b.pop(1)
	want("one queued", at(4))
	b.push(&note{}, 10, bounded)
	b.claim()
	b.pop(1)
	want("a claimed note", time.Time{})
	push(5)
	want("a claimed note, one queued", at(5))
	b.pop(1)
	b.push(&note{}, 10, bounded)
	push(6)
	b.claim()
	b.pop(1)
	want("a claimed message behind a note", at(6))
	b.pop(1)
	b.pop(1)
	want("all served", time.Time{})
}
