package performatives_test

import (
	"testing"
	"time"
	"unsafe"

	p "github.com/ribosome-agents/ribosome/performatives"
)

// The number of forwards stops at its limit, and does not begin anew.
func TestForwards(t *testing.T) {
	m := mustNew(t, envelope(p.ActInform))
	if got := m.Forward().Forwards(); got != 1 || m.Forwards() != 0 {
		t.Errorf("passed on once: %d, and %d before", got, m.Forwards())
	}
	for _, forwards := range []struct{ stored, want int }{{-1, 0}, {7, 7}, {p.MaxForwards + 1, p.MaxForwards}, {p.MaxForwards, p.MaxForwards}} {
		if m.SetOrigin(p.Origin{Forwards: forwards.stored}); m.Origin().Forwards != forwards.want {
			t.Errorf("stored %d, got %d", forwards.stored, m.Origin().Forwards)
		}
	}
	if got := m.Forward().Forwards(); got != p.MaxForwards {
		t.Errorf("passed on again: %d", got)
	}
}

func TestShiftReplyBy(t *testing.T) {
	e := envelope(p.ActRequest)
	e.ReplyBy = time.Time{}
	m := mustNew(t, e)
	if m.ShiftReplyBy(time.Hour); !m.ReplyBy().IsZero() {
		t.Errorf("without a deadline: %v", m.ReplyBy())
	}
	e.ReplyBy = noon
	m = mustNew(t, e)
	if m.ShiftReplyBy(-time.Hour); !m.ReplyBy().Equal(noon.Add(-time.Hour)) {
		t.Errorf("an hour before %v: %v", noon, m.ReplyBy())
	}
}

// Go allocates 352 bytes for a message. A longer one takes 384.
func TestMessageSize(t *testing.T) {
	if n := unsafe.Sizeof(p.Message{}); unsafe.Sizeof(n) == 8 && n > 352 {
		t.Errorf("a message has %d bytes", n)
	}
}
