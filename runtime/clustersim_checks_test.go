package runtime_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/cluster/placement"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/internal/account"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// check reports what is wrong after the calm.
func (s *clusterSwarm) check() {
	for _, wrong := range s.unsettled() {
		s.problem("%s", wrong)
	}
	s.checkMessages()
	s.checkConversations()
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
			if placement.KindOf(e.ID) == clusterKind {
				continue // see unsettledPlaced
			}
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
		if n, links := len(c.Members()), len(c.Mesh().Links()); n != clusterNodes || links != clusterNodes-1 {
			problem("%s knows %d members, and has links to %d", c.Name(), n, links)
		}
	}
	return append(wrong, s.unsettledPlaced()...)
}

// checkMessages checks that each message was handled once, refused or dead-lettered: nothing was
// lost, and nothing was made up. What a node had sent or passed on that has crashed may be lost. A
// message that was returned as one that may have arrived may have done so.
func (s *clusterSwarm) checkMessages() {
	s.mu.Lock()
	r := s.recorder
	r.observe()
	lost := 0
	for id, n := range r.passed { // by a node in the place of an agent
		if r.messages.Of(id)[account.Accepted] == 0 {
			for range n {
				r.messages.Count(id, account.Accepted)
			}
		}
	}
	wrong := r.messages.Wrong(func(id p.MessageID, c account.Counts) bool {
		sent := r.sent[id]
		crashed := func(by *clusterNode) bool {
			return by != nil && by.crashed && sent.last.Add(clusterFlight).After(by.crashedAt)
		}
		switch {
		case c[account.Accepted] == 0: // a broadcast
			return true
		case c.Ended() >= c[account.Accepted]:
		case crashed(sent.node), slices.ContainsFunc(r.passedOn[id], crashed):
			lost++
			return true
		}
		return c.Ended() >= c[account.Accepted] && c.Ended()-r.uncertain[id] <= c[account.Accepted]
	})
	for id, n := range r.refused {
		if r.answered[id] < n {
			wrong = append(wrong, fmt.Sprintf("%s: refused by another node %d times, which said so %d times", id, n, r.answered[id]))
		}
	}
	slices.Sort(wrong)
	for i, w := range wrong {
		id, _, _ := strings.Cut(w, ":")
		if sent := r.sent[p.MessageID(id)]; sent.message != nil {
			wrong[i] = fmt.Sprintf("%s: sent at %.3f: %s", w, sent.first.Sub(s.start).Seconds(), simLine(sent.message))
		}
	}
	s.mu.Unlock()
	for range lost {
		s.count("lost with its node")
	}
	for _, w := range append(wrong, r.broken...) {
		s.problem("%s", w)
	}
}

// checkConversations checks that both sides of each conversation have ended, in time, and in states
// that agree.
func (s *clusterSwarm) checkConversations() {
	r := s.recorder
	for _, side := range r.order {
		for _, run := range r.sides[side] {
			due := run.due
			if due.Before(run.began) { // a CANCEL or a request of long ago came late, and was answered
				due = run.began
			}
			switch late := run.endedAt.Sub(due) - run.node.pausedWithin(due, run.endedAt); {
			case run.died():
			case !run.ended:
				s.problem("%+v on %s is left in %s", side, run.node.Name(), run.state)
			case !run.due.IsZero() && late > clusterGrace:
				s.problem("%+v on %s ends in %s %v after its deadline", side, run.node.Name(), run.state, late)
			}
			if side.role == machine.Initiator {
				if problem := s.agreement(side, run); problem != "" {
					s.problem("%s", problem)
				}
			}
		}
		if side.role == machine.Responder && r.sides[side.opened()] == nil {
			s.problem("%+v: nobody opened it", side)
		}
	}
}

// jumpedWhile reports whether the clock of a node jumped during a side of a conversation.
func (r *clusterRecorder) jumpedWhile(run *clusterRun) bool {
	return slices.ContainsFunc(r.jumps, func(t time.Time) bool { return !t.Before(run.began) && !t.After(run.endedAt) })
}

// agreement compares the final state of an initiator with those of the responders that its request
// has reached.
func (s *clusterSwarm) agreement(side simSide, run *clusterRun) string {
	runs := s.recorder.sides[side.other()]
	begun := len(runs) > 0
	if !begun {
		runs = []*clusterRun{{state: machine.Idle, node: run.node}}
	}
	agree := simTables[side.protocol].Agree
	var ends []machine.State
	for _, other := range runs {
		if run.died() || other.died() {
			s.count("pair: a side died with its node")
			return ""
		}
		ends = append(ends, other.state)
		met := [2]map[machine.Symbol]bool{machine.Initiator: run.met, machine.Responder: other.met}
		if slices.ContainsFunc(agree, func(p machine.Pair) bool {
			return p.Initiator == run.state && p.Responder == other.state && p.Allowed(func(r machine.Role, on machine.Symbol) bool { return met[r][on] })
		}) {
			s.count(fmt.Sprintf("pair: %s, %s", run.state, other.state))
			return ""
		}
	}
	if run.state == "failed" && s.recorder.lostOnTheWay[side.conversation] {
		s.count("pair: a node on the way was lost")
		return ""
	}
	if run.state == "failed" && !begun && s.recorder.jumpedWhile(run) {
		s.count("pair: a clock jumped while its request waited") // which the receiver refuses as too late: see docs/rough-edges.md
		return ""
	}
	return fmt.Sprintf("%+v: ends in %s, the other side in %v: not listed", side, run.state, ends)
}
