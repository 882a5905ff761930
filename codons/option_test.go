package codons

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

func TestRetryWaits(t *testing.T) {
	for name, c := range map[string]struct {
		retry Retry
		want  []time.Duration // without jitter
	}{
		"default":          {Retry{}, []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second}},
		"first":            {Retry{First: time.Second}, []time.Duration{time.Second, 2 * time.Second}},
		"max":              {Retry{First: time.Second, Max: 3 * time.Second}, []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second}},
		"max before first": {Retry{First: 5 * time.Second, Max: time.Second}, []time.Duration{5 * time.Second, 5 * time.Second}},
		"Never":            {NoRetry(), []time.Duration{Never, Never}},
	} {
		t.Run(name, func(t *testing.T) {
			for i, want := range c.want {
				plain := c.retry
				plain.Jitter = -1
				if got := plain.Wait("m", i+1); got != want {
					t.Errorf("retry %d: %v, want %v", i+1, got, want)
				}
				if got := c.retry.Wait("m", i+1); want != Never && (got > want || got < want-want/4) {
					t.Errorf("retry %d with jitter: %v, want at most a quarter less than %v", i+1, got, want)
				}
			}
			if got := c.retry.Wait("m", 1000); got <= 0 {
				t.Errorf("the thousandth: %v", got)
			}
		})
	}
}

// TestJitterSpreads checks that the retries of messages sent at the same time differ, and that they
// repeat for the same ids.
func TestJitterSpreads(t *testing.T) {
	seen := map[time.Duration]bool{}
	for i := range 100 {
		id := performatives.MessageID(rune('a' + i))
		wait := Retry{}.Wait(id, 1)
		if wait != (Retry{}).Wait(id, 1) {
			t.Fatal("two waits for one message")
		}
		seen[wait] = true
		if wait := (Retry{Jitter: 5}).Wait(id, 1); wait < 0 {
			t.Errorf("with a jitter of more than all: %v", wait)
		}
	}
	if len(seen) < 90 {
		t.Errorf("%d different waits for 100 messages", len(seen))
	}
}

// abandoned is a side that is told of the end without an end state.
type abandoned struct {
	Side
	cause error
}

func (a *abandoned) Abandoned(_ *Conversation, cause error) { a.cause = cause }

// The watcher of a conversation is told, once, that it was abandoned.
func TestAbandonedIsWatched(t *testing.T) {
	side := &abandoned{}
	var states []machine.State
	c := &Conversation{watch: func(_ machine.Symbol, at machine.State) { states = append(states, at) }}
	c.side, c.at.State = side, machine.Idle
	for range 2 {
		c.Abandon(errors.New("gone"))
	}
	if !slices.Equal(states, []machine.State{standard.StateAbandoned}) || side.cause == nil {
		t.Errorf("watched %v, told of %v", states, side.cause)
	}
}
