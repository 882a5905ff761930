package runtime_test

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/internal/account"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// simRecorder records the transcript of a simulation, and the outcomes of its messages
// and conversations.
type simRecorder struct {
	deeds  *tally
	pairs  tally         // pairs of final states of conversations
	counts actors.Counts // at the end
	events *events.Subscription

	mu            sync.Mutex
	start         time.Time
	text          bytes.Buffer
	outcomes      account.Messages[p.MessageID] // of the copies of each message
	handling      p.MessageID                   // the message that a conversation is handling
	refused       uint64
	dead          uint64
	conversations map[simSide][]*simConversation
	order         []simSide // keys of conversations, in order of creation
	violations    []lifecycle.Violation
	records       []codons.Recorded
	broken        []string                    // problems detected during the run
	refusals      map[simDirection]simRefusal // the runtime's latest refusal of a copy
	turnedAway    *p.Message                  // the message that the runtime refused in the event before
	seen          int                         // number of events
	said          map[p.MessageID]bool        // messages of agents; the runtime's answers in their place are none
	accepted      tally                       // pairs and violations that a simException accepts, by its name
}

// simDirection is one direction of a conversation.
type simDirection struct {
	conversation p.ConversationID
	from, to     p.AgentID
}

func directionOf(m *p.Message) simDirection {
	return simDirection{m.ConversationID(), m.Sender().Fold(), m.Receiver().Fold()}
}

// simRefusal is the runtime's refusal of one copy of a message.
type simRefusal struct {
	at   int // number of the event
	act  p.Performative
	code p.Code
}

// simKinds returns the kinds of the events that a recorder takes.
func simKinds(checked bool) []events.Kind {
	kinds := []events.Kind{
		events.KindMessageSent, events.KindMessageReceived, events.KindMessageRefused, events.KindMessageDeadLettered,
		events.KindAgentStarted, events.KindAgentStopped, events.KindSupervisionDecided, events.KindJobAbandoned,
		lifecycle.KindTransition, lifecycle.KindViolation, lifecycle.KindJobFailed,
	}
	if checked {
		kinds = append(kinds, codons.KindRecorded)
	}
	return kinds
}

func newSimRecorder() *simRecorder {
	return &simRecorder{
		deeds: new(tally), start: time.Now(),
		conversations: make(map[simSide][]*simConversation),
		refusals:      make(map[simDirection]simRefusal), said: make(map[p.MessageID]bool),
	}
}

func (c *simRecorder) transcript() string { return c.text.String() }

// note appends a line to the transcript.
func (c *simRecorder) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.observeLocked()
	c.noteLocked(time.Now(), format, args...)
}

func (c *simRecorder) noteLocked(at time.Time, format string, args ...any) {
	c.beginLineLocked(at)
	fmt.Fprintf(&c.text, format, args...)
	c.text.WriteByte('\n')
}

// noteWordsLocked is noteLocked for the most frequent lines, without the cost of a format.
func (c *simRecorder) noteWordsLocked(at time.Time, words ...string) {
	c.beginLineLocked(at)
	for _, w := range words {
		c.text.WriteString(w)
	}
	c.text.WriteByte('\n')
}

// beginLineLocked begins a line with the time as "%13.6f ".
func (c *simRecorder) beginLineLocked(at time.Time) {
	var digits [32]byte
	number := strconv.AppendFloat(digits[:0], at.Sub(c.start).Seconds(), 'f', 6, 64)
	c.text.WriteString("             "[:max(0, 13-len(number))])
	c.text.Write(number)
	c.text.WriteByte(' ')
}

// attempted counts a copy of m that reached the receiver's node.
func (c *simRecorder) attempted(m *p.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.observeLocked()
	c.outcomes.Count(m.ID(), account.Accepted)
}

// handled counts a copy of m that an agent handled without a codon.
func (c *simRecorder) handled(m *p.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.observeLocked()
	c.outcomes.Count(m.ID(), account.Handled)
}

// resetHandling records that the following events do not concern the message handled
// last.
func (c *simRecorder) resetHandling() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.observeLocked()
	c.handling = ""
}

// finish records the last events. It is called in the bubble of the simulation.
func (c *simRecorder) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.observeLocked()
	c.events.Close()
	if n := c.events.Lost(); n > 0 {
		c.broken = append(c.broken, fmt.Sprintf("%d events were lost", n))
	}
}

// observeLocked records the events that were published since the last call. The methods of
// the recorder call it first, so that events and calls are recorded in order.
func (c *simRecorder) observeLocked() {
	for len(c.events.C) > 0 {
		c.eventLocked((<-c.events.C).Event)
	}
}

func (c *simRecorder) eventLocked(ev events.Event) {
	c.seen++
	turnedAway := c.turnedAway
	c.turnedAway = nil
	switch e := ev.(type) {
	case events.MessageSent:
		if turnedAway == nil || !e.Message.Answers(turnedAway) || !e.Message.Sender().Is(turnedAway.Receiver()) {
			c.said[e.Message.ID()] = true
		}
		c.noteWordsLocked(e.Time, "sent     ", simLine(e.Message))
	case events.MessageReceived:
		c.handling = ""
	case events.MessageRefused:
		c.refused++
		c.noteLocked(e.Time, "refused  %s %s", e.Message.ID(), e.Refusal.Code)
		if e.Message.ID() != c.handling { // otherwise a conversation failed on it
			c.outcomes.Count(e.Message.ID(), account.Refused)
			c.refusals[directionOf(e.Message)] = simRefusal{c.seen, e.Message.Performative(), e.Refusal.Code}
			c.turnedAway = e.Message
		}
	case events.DeadLetter:
		c.observeDeadLocked(e)
	case lifecycle.Transition:
		c.observeStepLocked(e)
	case events.AgentStarted:
		c.noteLocked(e.Time, "started  %s again=%t", e.Agent, e.Again)
	case events.AgentStopped:
		c.noteLocked(e.Time, "stopped  %s", e.Agent)
	case events.Supervised:
		if strings.Contains(fmt.Sprint(e.Reason), "runtime error") {
			c.broken = append(c.broken, fmt.Sprintf("%s: %v", e.Agent, e.Reason))
		}
		c.noteLocked(e.Time, "failed   %s: %v, %v in %v", e.Agent, e.Reason, e.Directive, e.Delay)
	case events.WorkAbandoned:
		c.noteLocked(e.Time, "abandons %s %s", e.Agent, e.Conversation)
	case codons.Recorded:
		c.records = append(c.records, e)
	case lifecycle.Violation:
		c.violations = append(c.violations, e)
	case lifecycle.JobFailed:
		if e.Stack != nil {
			c.noteLocked(e.Time, "panicked %s %s %v", e.Agent, e.Conversation, e.Err)
		}
	}
}

func (c *simRecorder) observeDeadLocked(e events.DeadLetter) {
	c.dead++
	m, ok := e.Message.(*p.Message)
	if !ok {
		c.noteLocked(e.Time, "dead     %T for %s: %s", e.Message, e.To, e.Code)
		return
	}
	c.noteLocked(e.Time, "dead     %s for %s: %s", m.ID(), e.To, e.Code)
	if m.ID() != c.handling { // otherwise the table drops it
		c.outcomes.Count(m.ID(), account.Dead)
		c.refusals[directionOf(m)] = simRefusal{c.seen, m.Performative(), e.Code}
	}
}

func (c *simRecorder) observeStepLocked(e lifecycle.Transition) {
	c.handling = e.Message
	if e.Message != "" {
		c.outcomes.Count(e.Message, account.Handled)
	}
	c.stepLocked(e)
	if e.Ended && e.From != e.To {
		c.noteWordsLocked(e.Time, "ended    ", e.Protocol, " ", string(e.Conversation), " of ", string(e.Agent), " with ", string(e.Peer), ": ", string(e.To))
	}
}

// simLine returns a message in one line.
func simLine(m *p.Message) string {
	return string(m.ID()) + " " + string(m.Sender()) + " -> " + string(m.Receiver()) + " " + m.Performative().String() +
		" in " + string(m.ConversationID()) + " " + simSummary(m)
}

// simSummary returns a short summary of a message.
func simSummary(m *p.Message) string {
	switch c := m.Payload().(type) {
	case p.TaskRequest:
		return c.Description
	case p.StatusUpdate:
		if c.Progress != nil {
			return fmt.Sprint(*c.Progress, "% ", c.Description)
		}
		return c.Description
	case p.InformResult:
		return fmt.Sprint(c.Status, " ", c.Summary, c.RequestForUser())
	}
	if r := m.AsRefusal(); r != nil {
		return r.Error()
	}
	return ""
}
