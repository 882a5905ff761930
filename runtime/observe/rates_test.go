package observe

import (
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
)

// Each event counts in the interval of its time; an interval that is not over is not listed, and
// what is too old is not counted.
func TestRatesByInterval(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	r := rates{first: numberOf(start)}
	r.at(start.Add(time.Second)).Messages++
	r.at(start.Add(12 * time.Second)).Refused += 2
	r.at(start.Add(13*time.Second)).DeadLetters++
	if got := r.samples(start.Add(4 * time.Second)); len(got) != 0 {
		t.Errorf("the first interval is not over: %+v", got)
	}
	got := r.samples(start.Add(17 * time.Second))
	if len(got) != 3 || got[0].Messages != 1 || got[1] != (Sample{Time: beginOf(numberOf(start) + 1)}) || got[2].Refused != 2 || got[2].DeadLetters != 1 {
		t.Errorf("%+v", got)
	}
	for i, s := range got {
		if !s.Time.Equal(start.Add(time.Duration(i) * RateInterval)) {
			t.Errorf("sample %d is of %v", i, s.Time)
		}
	}
	later := start.Add(time.Hour)
	if r.at(later).Ended++; len(r.samples(later)) != rateIntervals || r.samples(later.Add(RateInterval))[rateIntervals-1].Ended != 1 {
		t.Errorf("an hour later: %+v", r.samples(later.Add(RateInterval)))
	}
	r.at(later.Add(-(rateIntervals+1)*RateInterval)).Messages++ // it has the place of a newer one
	r.at(time.Time{}).Messages++
	for _, s := range r.samples(later.Add(RateInterval)) {
		if s.Messages != 0 {
			t.Errorf("an old event counts: %+v", s)
		}
	}
	if r.at(start.Add(later.Sub(start)-time.Minute)).Begun++; r.samples(later)[rateIntervals-12].Begun != 1 {
		t.Errorf("an event that comes late does not count: %+v", r.samples(later))
	}
}

// A side counts as failed when nobody wanted its end.
func TestRatesOfEnds(t *testing.T) {
	for state, want := range map[machine.State]Sample{
		standard.StateAnswered:  {Ended: 1},
		standard.StateTimedOut:  {Ended: 1, Failed: 1},
		standard.StateFailed:    {Ended: 1, Failed: 1},
		standard.StateAbandoned: {Ended: 1, Failed: 1},
	} {
		var got, sum Sample
		got.end(state)
		sum.Add(got)
		if got != want || sum != got {
			t.Errorf("%s: %+v, %+v", state, got, sum)
		}
	}
}

// A side counts in the interval in which it began, also while it is under way; not one that has no
// step yet, nor one that began before the recorder.
func TestRatesOfBegins(t *testing.T) {
	r := &Recorder{vitals: newHealth(), recent: newEntries(), options: Options{Conversations: 1, Bytes: 1 << 20}}
	last := beginOf(numberOf(time.Now()) - 1)
	r.rates.first, r.vitals.since = numberOf(last)-1, last
	r.events = new(events.Stream).SubscribeBatches(1)
	under := func(began time.Time, state machine.State) codons.Info { return codons.Info{State: state, Began: began} }
	r.node.all = func() []codons.Info {
		return []codons.Info{
			under(last, "asked"), under(last.Add(time.Second), "asked"), under(last, machine.Idle), under(last.Add(-1), "asked"), under(time.Now().Add(time.Hour), "asked"),
		}
	}
	for _, began := range []time.Time{last, last.Add(-1)} {
		r.endedLocked(0, &lifecycle.Ended{At: events.At{Time: last}, Subject: &lifecycle.Subject{}, Began: began})
	}
	all := r.Rates()
	if n := len(all); n < 2 || all[0].Begun != 0 || all[1].Begun != 3 || all[1].Ended != 2 || n > 2 && all[2].Begun != 0 {
		t.Errorf("%+v", all)
	}
}

// Add adds each of the counts.
func TestAddSamples(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	sum := Sample{Time: at, Messages: 1, Refused: 2, DeadLetters: 3, Begun: 4, Ended: 5, Errors: 6, Failed: 7}
	sum.Add(Sample{Time: at.Add(time.Hour), Messages: 10, Refused: 20, DeadLetters: 30, Begun: 40, Ended: 50, Errors: 60, Failed: 70})
	if want := (Sample{Time: at, Messages: 11, Refused: 22, DeadLetters: 33, Begun: 44, Ended: 55, Errors: 66, Failed: 77}); sum != want {
		t.Errorf("got %+v", sum)
	}
}
