package runtime_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/actors"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// check reports what is wrong after the calm.
func (s *clusterSwarm) check() {
	for _, wrong := range s.unsettled() {
		s.problem("%s", wrong)
	}
	s.checkNotices()
}

// unsettled compares all nodes with what they should be after the calm.
func (s *clusterSwarm) unsettled() (wrong []string) {
	problem := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	var truth []string
	for _, c := range s.nodes {
		for id := range c.agents {
			truth = append(truth, string(id)+" on "+c.Name())
		}
	}
	slices.Sort(truth)
	for _, c := range s.nodes {
		var seen []string
		for _, e := range c.Directory().All() {
			seen = append(seen, string(e.ID)+" on "+e.Node)
			if len(e.Capabilities.Actions) == 0 {
				problem("%s does not know what %s can do", c.Name(), e.ID)
			}
		}
		slices.Sort(seen)
		if !slices.Equal(seen, truth) {
			problem("the directory of %s is\n%s, want\n%s", c.Name(), strings.Join(seen, ", "), strings.Join(truth, ", "))
		}
		if n := c.Counts(); n.Open != 0 || n.Working != 0 {
			problem("%s: %d conversations are open, and %d handlers run: %+v", c.Name(), n.Open, n.Working, c.Conversations())
		}
		if n := c.OpenRecords(); n != 0 {
			problem("%s: %d records are open", c.Name(), n)
		}
		if lost := c.HeardOver(); len(lost) > 0 {
			problem("%s remembers agents of lost nodes: %v", c.Name(), lost)
		}
		if n, links := len(c.Members()), c.NodeLinks(); n != clusterNodes || links != clusterNodes-1 {
			problem("%s knows %d members, and has links to %d", c.Name(), n, links)
		}
	}
	return wrong
}

// checkNotices checks that no message was lost without a refusal, unless it was on its way from or to a node that crashed.
func (s *clusterSwarm) checkNotices() {
	s.mu.Lock()
	for _, events := range s.events {
		for len(events.C) > 0 {
			switch e := (<-events.C).Event.(type) {
			case actors.MessageRefused:
				s.settled[e.Message.ID()] = true
			case actors.DeadLetter:
				if m, ok := e.Message.(*p.Message); ok {
					s.settled[m.ID()] = true
				}
			}
		}
	}
	var lost []string
	for _, id := range slices.Sorted(maps.Keys(s.notices)) {
		n := s.notices[id]
		if s.settled[id] || n.from.crashed || n.to == nil || n.to.crashed {
			continue
		}
		lost = append(lost, fmt.Sprintf("%s of %.3f from %s to %s", id, n.at.Sub(s.start).Seconds(), n.from.Name(), n.to.Name()))
	}
	s.mu.Unlock()
	for _, l := range lost {
		s.problem("lost without a refusal: %s", l)
	}
}
