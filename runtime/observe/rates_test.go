package observe

import (
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
)

// Each event counts in the interval of its time; an interval that is not over is not listed, and what is too old is not counted.
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

// A side counts when it begins, when it ends, and as failed when nobody wanted this end.
func TestRatesOfSides(t *testing.T) {
	for _, test := range []struct {
		step codons.Transition
		want Sample
	}{
		{codons.Transition{From: machine.Idle, To: "asked"}, Sample{Begun: 1}},
		{codons.Transition{From: "asked", To: "working"}, Sample{}},
		{codons.Transition{From: "asked", To: codons.StateAnswered, Ended: true}, Sample{Ended: 1}},
		{codons.Transition{From: "asked", To: codons.StateTimedOut, Ended: true}, Sample{Ended: 1, Failed: 1}},
		{codons.Transition{From: machine.Idle, To: codons.StateFailed, Ended: true}, Sample{Begun: 1, Ended: 1, Failed: 1}},
		{codons.Transition{From: "asked", To: codons.StateFailed}, Sample{}},
	} {
		var got, sum Sample
		got.step(&test.step)
		sum.Add(got)
		if got != test.want || sum != got {
			t.Errorf("%s to %s: %+v, %+v", test.step.From, test.step.To, got, sum)
		}
	}
}
