package observe

import (
	"time"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
)

// RateInterval is the length of the interval of a [Sample]. Intervals begin at its multiples, by
// the clock of the node.
const RateInterval = 5 * time.Second

// rateIntervals is how many intervals that are over are kept: ten minutes.
const rateIntervals = 120

// Sample has a recorder's counts of one interval.
type Sample struct {
	Time        time.Time `json:"time"`         // the begin of the interval
	Messages    uint64    `json:"messages"`     // sent by agents of the node, or come to it from others
	Refused     uint64    `json:"refused"`      // messages
	DeadLetters uint64    `json:"dead_letters"` // messages, without repeated ones
	Begun       uint64    `json:"begun"`        // sides of conversations
	Ended       uint64    `json:"ended"`        // sides of conversations, also those that failed
	Errors      uint64    `json:"errors"`       // of jobs and handlers that failed or panicked
	Failed      uint64    `json:"failed"`       // sides of conversations that timed out, were abandoned or misread, or whose work failed
}

// Rates returns a sample for each of the last intervals that are over, the oldest first: those of
// ten minutes, or since the recorder began. The caller owns the result.
func (r *Recorder) Rates() []Sample {
	mu := r.lock()
	all := r.rates.samples(time.Now())
	mu.Unlock()
	if len(all) == 0 {
		return all
	}
	first := numberOf(all[0].Time)
	for _, i := range r.node.all() { // those that have ended are counted already
		if at := numberOf(i.Began) - first; i.State != machine.Idle && !i.Began.Before(r.vitals.since) && at >= 0 && at < int64(len(all)) {
			all[at].Begun++
		}
	}
	return all
}

// rates counts by intervals.
type rates struct {
	first     int64                     // the number of the first interval
	intervals [rateIntervals + 1]Sample // the interval with number n is at n modulo their number; the last one is not over
	spare     Sample                    // takes the counts of times that are too old
}

func numberOf(t time.Time) int64 { return t.Unix() / int64(RateInterval/time.Second) }

func beginOf(number int64) time.Time {
	return time.Unix(number*int64(RateInterval/time.Second), 0).UTC()
}

// at returns the counts of the interval of a time.
func (r *rates) at(t time.Time) *Sample {
	number := numberOf(t)
	if number < 0 {
		return &r.spare
	}
	s := &r.intervals[number%int64(len(r.intervals))]
	switch known := numberOf(s.Time); {
	case s.Time.IsZero() || known < number:
		*s = Sample{Time: beginOf(number)}
		r.first = min(r.first, number)
	case known > number:
		return &r.spare
	}
	return s
}

func (r *rates) samples(now time.Time) []Sample {
	last := numberOf(now) - 1
	samples := make([]Sample, 0, rateIntervals)
	for number := max(r.first, last-rateIntervals+1, 0); number <= last; number++ {
		s := r.intervals[number%int64(len(r.intervals))]
		if s.Time.IsZero() || numberOf(s.Time) != number {
			s = Sample{Time: beginOf(number)}
		}
		samples = append(samples, s)
	}
	return samples
}

// Add adds the counts of another sample.
func (s *Sample) Add(other Sample) {
	s.Messages += other.Messages
	s.Refused += other.Refused
	s.DeadLetters += other.DeadLetters
	s.Begun += other.Begun
	s.Ended += other.Ended
	s.Failed += other.Failed
	s.Errors += other.Errors
}

// end counts the end of a side in a state.
func (s *Sample) end(state machine.State) {
	s.Ended++
	switch state { //nolint:exhaustive // the terminal states of all tables that count as failed
	case standard.StateFailed, standard.StateTimedOut, standard.StateAbandoned, standard.StateMisread:
		s.Failed++
	}
}
