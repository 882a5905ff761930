package actors

import (
	"strings"
	"sync"

	"github.com/ribosome-agents/ribosome/performatives"
)

// maxStoppedAgents is the largest number of stopped agents that a system remembers. A
// message for an agent that stopped earlier is refused with
// [performatives.CodeUnknownAgent].
const maxStoppedAgents = 1024

// stoppedAgents is a bounded list of the ids of stopped agents. A message for one of them
// is refused with [performatives.CodeStopped] and not with
// [performatives.CodeUnknownAgent].
type stoppedAgents struct {
	mu   sync.Mutex
	ids  map[performatives.AgentID]int // number of occurrences in ring
	ring []performatives.AgentID
	next int
}

func (s *stoppedAgents) add(id performatives.AgentID) {
	id = performatives.AgentID(strings.Clone(string(id.Fold()))) // a copy: the id may be a substring of a whole message
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ids == nil {
		s.ids = make(map[performatives.AgentID]int)
	}
	s.ids[id]++
	if len(s.ring) < maxStoppedAgents {
		s.ring = append(s.ring, id)
		return
	}
	oldest := s.ring[s.next]
	if s.ids[oldest]--; s.ids[oldest] == 0 {
		delete(s.ids, oldest)
	}
	s.ring[s.next] = id
	s.next = (s.next + 1) % maxStoppedAgents
}

func (s *stoppedAgents) has(id performatives.AgentID) bool {
	id = id.Fold()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ids[id] > 0
}
