package actors

import "testing"

// A producer may append a message before the band closes, and set its bit after the
// mailbox was drained.
func TestReleaseKeepsQueuedMessages(t *testing.T) {
	b := new(band)
	b.push("late", 8, false)
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
