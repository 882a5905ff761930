package actors

import "testing"

// A message may be queued before the band closes and be announced after the
// mailbox has been drained.
func TestReleaseKeepsWhatIsQueued(t *testing.T) {
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
