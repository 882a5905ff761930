// Package account counts the outcomes of the messages of a test. The tests of each layer check in
// one way that every message is accounted for.
package account

import (
	"fmt"
	"slices"
	"sync"
)

// Outcome is a count of a message.
type Outcome int

// The outcomes of a message.
const (
	Accepted Outcome = iota // the layer under test has taken the message on
	Handled                 // a receiver has it
	Refused                 // its sender was told that it was not delivered
	Dead                    // it is a dead letter
	outcomes
)

// Counts are the outcomes of one message, or of many, by [Outcome].
type Counts [outcomes]int

// Ended returns how often the message was handled, refused or dead-lettered.
func (c Counts) Ended() int { return c[Handled] + c[Refused] + c[Dead] }

// Settled reports whether the message has ended as often as it was accepted.
func (c Counts) Settled() bool { return c[Accepted] == c.Ended() }

// String names the counts.
func (c Counts) String() string {
	return fmt.Sprintf("accepted %d, handled %d, refused %d, dead letters %d", c[Accepted], c[Handled], c[Refused], c[Dead])
}

// Messages holds the counts of the messages of a test by a key, such as their ids. The zero
// Messages is empty. It is safe for concurrent use.
type Messages[K comparable] struct {
	mu       sync.Mutex
	messages map[K]*Counts
}

// Count counts an outcome of a message, and returns the message's counts.
func (l *Messages[K]) Count(message K, o Outcome) Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.messages == nil {
		l.messages = make(map[K]*Counts)
	}
	c := l.messages[message]
	if c == nil {
		c = new(Counts)
		l.messages[message] = c
	}
	c[o]++
	return *c
}

// Of returns the counts of a message.
func (l *Messages[K]) Of(message K) Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.messages[message]; c != nil {
		return *c
	}
	return Counts{}
}

// Totals returns the sums of the counts of all messages.
func (l *Messages[K]) Totals() (all Counts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.messages {
		for o, n := range c {
			all[o] += n
		}
	}
	return all
}

// Wrong returns a line for each message whose counts are not right, sorted. A nil right is
// [Counts.Settled].
func (l *Messages[K]) Wrong(right func(message K, c Counts) bool) (lines []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if right == nil {
		right = func(_ K, c Counts) bool { return c.Settled() }
	}
	for message, c := range l.messages {
		if !right(message, *c) {
			lines = append(lines, fmt.Sprintf("%v: %s", message, *c))
		}
	}
	slices.Sort(lines)
	return lines
}
