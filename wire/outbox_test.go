package wire

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Every band gets its share of each write when the highest band is flooded.
func TestNoBandStarves(t *testing.T) {
	o := newOutbox(Limits{}.WithDefaults())
	o.resume()
	put := func(p performatives.Priority) {
		m, err := performatives.New(performatives.Envelope{ID: "1", Sender: "a", Timestamp: time.Unix(1, 0), Performative: performatives.ActInform, Priority: p})
		if err != nil {
			t.Fatal(err)
		}
		if r := o.put(m); r != putQueued {
			t.Fatalf("put: %d", r)
		}
	}
	for _, p := range []performatives.Priority{performatives.Urgent, performatives.Low, performatives.Normal, performatives.High} {
		for range 2 * maxBatch {
			put(p)
		}
	}
	var b batch
	o.take(&b, maxBatch)
	got := make(map[performatives.Priority]int)
	last := performatives.Urgent
	for _, m := range b.messages {
		got[m.Priority()]++
		if m.Priority().Band() > last.Band() {
			t.Errorf("%v is written after %v", m.Priority(), last)
		}
		last = m.Priority()
	}
	const least = maxBatch / bandShare
	if got[performatives.Urgent] != maxBatch-3*least || got[performatives.High] != least || got[performatives.Normal] != least || got[performatives.Low] != least {
		t.Errorf("a write of %d messages holds %v", len(b.messages), got)
	}
}

// A session tells how long its messages wait.
func TestWaitInTheOutbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutbox(Limits{}.WithDefaults())
		o.resume()
		m, err := performatives.New(performatives.Envelope{ID: "1", Sender: "a", Timestamp: time.Unix(1, 0), Performative: performatives.ActInform})
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			o.put(m)
		}
		time.Sleep(time.Second)
		if got := o.wait.Delay(); got != time.Second {
			t.Errorf("wait %v", got)
		}
		o.take(new(batch), 50)
		if got := o.wait.Delay(); got != 0 {
			t.Errorf("wait %v of a short queue", got)
		}
		for range 50 {
			o.put(m)
		}
		time.Sleep(time.Second)
		if o.drain(); o.wait.Delay() != 0 {
			t.Errorf("wait %v of an outbox that has ended", o.wait.Delay())
		}
	})
}

// The slots reserved for a lower band never exceed its queued messages.
func TestReservedSlotsAreNotWasted(t *testing.T) {
	o := newOutbox(Limits{}.WithDefaults())
	o.resume()
	for i := range maxBatch + 1 {
		e := performatives.Envelope{ID: "1", Sender: "a", Timestamp: time.Unix(1, 0), Performative: performatives.ActInform, Priority: performatives.Urgent}
		if i == 0 {
			e.Priority = performatives.Low
		}
		m, err := performatives.New(e)
		if err != nil {
			t.Fatal(err)
		}
		o.put(m)
	}
	var b batch
	o.take(&b, maxBatch)
	if n := len(b.messages); n != maxBatch || b.messages[n-1].Priority() != performatives.Low || b.messages[n-2].Priority() != performatives.Urgent {
		t.Errorf("%d messages, %v at the end", n, b.messages[n-1].Priority())
	}
	if o.take(&b, maxBatch); len(b.messages) != 1 {
		t.Errorf("%d messages are left, want 1", len(b.messages))
	}
}
