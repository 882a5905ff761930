// Package screen keeps what a program writes, for tests that wait for a text of it.
package screen

import (
	"bytes"
	"sync"
)

// Screen is a stream that tests can wait on. The zero Screen is ready. It may be used from any
// goroutine, and must not be copied.
type Screen struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{} // closed at the next write; nil without a waiting goroutine
}

// Write adds text. It does not fail.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
	return s.text.Write(p)
}

// String returns all text.
func (s *Screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// Next returns a channel that is closed at the next write, and all text before it.
func (s *Screen) Next() (<-chan struct{}, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed, s.text.String()
}
