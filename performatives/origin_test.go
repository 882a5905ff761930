package performatives_test

import (
	"math"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/internal/racetest"
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

// Each field of an origin is stored, also where it alone is another one.
func TestOriginIsStored(t *testing.T) {
	m := mustNew(t, envelope(p.ActInform))
	for _, o := range []p.Origin{
		{Principal: "Ada"},
		{Principal: "Bob"},
		{Principal: "Bob", Activation: 1},
		{Principal: "Bob", Activation: 1, Answers: 1},
		{Principal: "Bob", Activation: 1, Answers: 1, Forwards: 1},
		{Principal: "Bob", Activation: 1, Answers: 1, Forwards: 1},
		{},
	} {
		if m.SetOrigin(o); m.Origin() != o || m.Principal() != o.Principal || m.Activation() != o.Activation || m.Answered() != o.Answers || m.Forwards() != o.Forwards {
			t.Errorf("got %+v, want %+v", m.Origin(), o)
		}
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

// Go allocates 240 bytes for a message. A longer one takes 256.
func TestMessageSize(t *testing.T) {
	if n := unsafe.Sizeof(p.Message{}); unsafe.Sizeof(n) == 8 && n > 240 {
		t.Errorf("a message has %d bytes", n)
	}
}

// Go allocates 128 bytes for the rare fields. Longer ones take 144. The weight of a message counts
// them: it is one.
func TestRareSize(t *testing.T) {
	e := envelope(p.ActInform)
	e.MessageType, e.Language, e.Metadata = "", "", nil
	m := mustNew(t, e)
	without := m.Size()
	if m.Weigh(); m.Weight() != m.Size() {
		t.Errorf("a message of %d bytes weighs %d", m.Size(), m.Weight())
	}
	e.Activation = 1
	if n := mustNew(t, e).Size() - without; n < 1 || unsafe.Sizeof(n) == 8 && n > 128 {
		t.Errorf("the rare fields have %d bytes", n)
	}
}

// What is set in a copy of a message that was passed on does not change the message, whose rare
// fields the copy has.
func TestACopyHasRareFieldsOfItsOwn(t *testing.T) {
	e := envelope(p.ActInform)
	e.MessageType, e.Principal, e.Activation, e.Answers = p.TypeSealed, "Ada", 3, 4
	m := mustNew(t, e)
	before := m.Envelope()
	for name, change := range map[string]func(*p.Message){
		"SetOrigin":    func(m *p.Message) { m.SetOrigin(p.Origin{Principal: "Bob", Activation: 5, Answers: 6}) },
		"Authenticate": func(m *p.Message) { m.Authenticate("Bob") },
		"Activate":     func(m *p.Message) { m.Activate(7) },
		"Arrive":       func(m *p.Message) { m.Arrive(noon.AddDate(1, 0, 0)) }, // too late for Message itself
		"Weigh":        func(m *p.Message) { m.Weigh() },
		"Header": func(m *p.Message) {
			if m.MarkAuthentic(); m.Header().Authentic() || m.Header().MessageType() != "" {
				t.Error("the header is authentic, or sealed")
			}
		},
	} {
		copied := m.Forward()
		if change(copied); name != "Header" && cmp.Equal(copied.Envelope(), before) && copied.Weight() == 0 && copied.Arrived().Equal(m.Arrived()) {
			t.Errorf("%s has not changed the copy", name)
		}
		if diff := cmp.Diff(before, m.Envelope()); diff != "" {
			t.Errorf("%s has changed the message (-before +after):\n%s", name, diff)
		}
		if m.Weight() > 0 || !m.Arrived().Equal(m.Timestamp()) {
			t.Errorf("%s has changed the message: it weighs %d, and arrived at %v", name, m.Weight(), m.Arrived())
		}
	}
}

// A message has arrived when a session says so, and its copies at the same time; one that was made
// here, when it was made.
func TestArrived(t *testing.T) {
	m := mustNew(t, envelope(p.ActInform))
	if !m.Arrived().Equal(m.Timestamp()) {
		t.Errorf("made here at %v, arrived at %v", m.Timestamp(), m.Arrived())
	}
	for _, late := range []time.Duration{-time.Hour, time.Millisecond, 0, 3 * time.Second, -30 * 24 * time.Hour, math.MinInt32 * time.Millisecond, math.MaxInt32 * time.Millisecond, 56 * 365 * 24 * time.Hour} { // the sender's clock is wrong, or has no battery
		m := m.Forward()
		forwarded := m.Forward()
		at := m.Timestamp().Add(late)
		m.Arrive(at)
		changed, err := m.With(func(e *p.Envelope) { e.Timestamp = e.Timestamp.Add(time.Hour) })
		if err != nil {
			t.Fatal(err)
		}
		for name, got := range map[string]*p.Message{"itself": m, "a changed copy": changed, "a forwarded one": m.Forward()} {
			if late == 0 && name == "a changed copy" {
				continue // it counts as made here
			}
			if !got.Arrived().Equal(at) {
				t.Errorf("%v late, %s: %v, want %v", late, name, got.Arrived(), at)
			}
		}
		if !forwarded.Arrived().Equal(m.Timestamp()) {
			t.Errorf("a copy from before: %v", forwarded.Arrived())
		}
	}
}

// A message without an origin gets no memory for one.
func TestOriginAllocs(t *testing.T) {
	racetest.Skip(t)
	e := envelope(p.ActRequest)
	e.Metadata, e.MessageType, e.Budget, e.Principal, e.Activation, e.Answers, e.Language = nil, "", p.Content{}, "", 0, 0, p.LanguageJSON
	if n := testing.AllocsPerRun(100, func() {
		m, err := p.New(e)
		if err != nil {
			t.Fatal(err)
		}
		m.SetOrigin(p.Origin{Forwards: 1})
		m.Authenticate("")
		m.Activate(0)
		m.Arrive(e.Timestamp.Add(time.Second))
		sinkMessage = m
	}); n != 1 {
		t.Errorf("%v allocations", n)
	}
}
