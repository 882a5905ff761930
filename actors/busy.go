package actors

import (
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// BusyTime is the time after which an agent whose actor has not come back is logged and
// counted. The precision is a second.
const BusyTime = 5 * time.Second

// busyTick is the time between two looks at the actors that are busy.
const busyTick = 500 * time.Millisecond

// inCall describes one call of an agent's code in which its actor is. It is valid as long as
// the mailbox has stateProbed.
type inCall struct {
	since  time.Time // when a look found the actor in the call
	logged bool      // accessed by watchBusy only
}

// Busy returns since when the agent's actor has been in one call, at least, and the message
// that it handles, nil for a hook or a function of [Self.Do], [Self.Later] or [Self.After].
// The time is zero while the actor comes back within a second. Safe for concurrent use.
func (s Self) Busy() (since time.Time, m *performatives.Message) { return s.c.Registration.busy() }

// busy is [Self.Busy], and returns the zero time for an agent of another process.
func (r *Registration) busy() (since time.Time, m *performatives.Message) {
	if r.local == nil {
		return since, nil
	}
	b := r.local.inCall.Load()
	if b == nil || r.local.mailbox.state.Load()&stateProbed == 0 || time.Since(b.since) < busyTick {
		return since, nil
	}
	return b.since, r.local.handling.Load()
}

// caller names what the agent's actor is busy with.
func (c *cell) caller() Caller {
	caller := Caller{Agent: Self{c}, OnActor: true}
	if m := c.handling.Load(); m != nil {
		caller.Protocol, caller.Conversation, caller.Peer = m.Protocol(), m.ConversationID(), m.Sender()
	}
	return caller
}

// watchBusy looks at the actors of all agents, on a pool that the system owns. It sets stateProbed
// for each busy actor, which the actor clears when it comes back. It logs the actors that have not
// come back for BusyTime. long says that there may be a long turn.
func (s *System) watchBusy(long bool) {
	if !long && s.busyNow == 0 {
		return
	}
	for c := range s.registrations.locals() {
		s.probe(c)
	}
}

func (s *System) probe(c *cell) {
	b, w := c.inCall.Load(), c.mailbox.state.Load()
	switch probed := w&stateProbed != 0; {
	case !probed && b != nil:
		if b.logged {
			s.busyNow--
			Self{c}.Logger().Info("the agent's actor has come back", "after", time.Since(b.since))
		}
		c.inCall.Store(nil)
	case !probed && w&(stateRunning|stateQueued) == stateRunning:
		c.inCall.Store(&inCall{since: time.Now()})
		c.mailbox.state.Or(stateProbed)
	case probed && !b.logged && time.Since(b.since) >= BusyTime:
		b.logged = true
		s.busyNow++
		s.busy.Add(1)
		args := append(c.caller().args(), "since", b.since)
		if m := c.handling.Load(); m != nil {
			args = append(args, "performative", m.Performative().String())
		}
		s.opts.Logger.Warn("the agent's actor has not come back: its code blocks, and its messages wait", args...)
	}
}

// Handling returns the message that the agent's own code handles on its actor, nil while it
// handles none. Safe for concurrent use.
func (s Self) Handling() *performatives.Message { return s.c.handling.Load() }

// loops are the latest reports of [System.ReportLoop].
type loops struct {
	mu   sync.Mutex
	last map[[2]performatives.AgentID]time.Time
}

// The reports of one pair of agents are loopReports apart. maxLoops is how many pairs are
// remembered.
const (
	loopReports = time.Minute
	maxLoops    = 1024
)

// ReportLoop counts a chain of messages, each of which an agent has sent while it handled the
// one before, and logs it, not more than once a minute for each pair of agents. from sends the
// latest message to the agent to.
func (s *System) ReportLoop(from, to performatives.AgentID, length int) {
	s.looped.Add(1)
	pair, now := [2]performatives.AgentID{min(from, to), max(from, to)}, time.Now()
	s.loops.mu.Lock()
	defer s.loops.mu.Unlock()
	if last, ok := s.loops.last[pair]; ok && now.Sub(last) < loopReports {
		return
	}
	if len(s.loops.last) >= maxLoops || s.loops.last == nil {
		s.loops.last = make(map[[2]performatives.AgentID]time.Time)
	}
	s.loops.last[pair] = now
	s.opts.Logger.Warn("agents send each other messages in a loop, each one while they handle the one before", "agent", string(from), "peer", string(to), "length", length)
}
