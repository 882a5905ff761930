package runtime_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// chronicle writes down what happens in a simulation, and keeps account of it.
type chronicle struct {
	deeds  *tally
	pairs  tally         // how both sides of conversations ended
	counts actors.Counts // at the end

	mu         sync.Mutex
	start      time.Time
	text       bytes.Buffer
	fates      map[p.MessageID]*simFate
	handling   p.MessageID // the message that a conversation handles
	refused    uint64
	dead       uint64
	talks      map[simSide][]*simTalk
	order      []simSide         // of talks
	stops      map[p.AgentID]int // how often an agent has stopped
	violations []codons.Violation
	broken     []string                  // problems that were seen at once
	turned     map[p.ConversationID]bool // something of it was refused, and not by a conversation
	failed     map[p.ConversationID]bool // because the agent failed
}

// simFate is what became of the copies of one message.
type simFate struct{ attempted, handled, refused, dead int }

func newChronicle() *chronicle {
	return &chronicle{
		deeds: new(tally), start: time.Now(),
		fates: make(map[p.MessageID]*simFate), talks: make(map[simSide][]*simTalk),
		turned: make(map[p.ConversationID]bool), failed: make(map[p.ConversationID]bool), stops: make(map[p.AgentID]int),
	}
}

func (c *chronicle) transcript() string { return c.text.String() }

// note writes a line.
func (c *chronicle) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.noteLocked(format, args...)
}

func (c *chronicle) noteLocked(format string, args ...any) {
	fmt.Fprintf(&c.text, "%13.6f ", time.Since(c.start).Seconds())
	fmt.Fprintf(&c.text, format, args...)
	c.text.WriteByte('\n')
}

func (c *chronicle) fateLocked(id p.MessageID) *simFate {
	f := c.fates[id]
	if f == nil {
		f = new(simFate)
		c.fates[id] = f
	}
	return f
}

// attempted counts a copy of m that reached the node of its receiver.
func (c *chronicle) attempted(m *p.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fateLocked(m.ID()).attempted++
}

// handled counts a copy of m that an agent took without a codon.
func (c *chronicle) handled(m *p.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fateLocked(m.ID()).handled++
}

// otherwise says that what comes is not about the message that was handled last.
func (c *chronicle) otherwise() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handling = ""
}

// observe is told of every event.
func (c *chronicle) observe(ev actors.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e := ev.(type) {
	case actors.MessageSent:
		c.noteLocked("sent     %s", simLine(e.Message))
	case actors.MessageReceived:
		c.handling = ""
	case actors.MessageRefused:
		c.refused++
		c.noteLocked("refused  %s %s", e.Message.ID(), e.Refusal.Code)
		if e.Message.ID() != c.handling { // else a conversation failed on it
			c.fateLocked(e.Message.ID()).refused++
			c.turned[e.Message.ConversationID()] = true
			if e.Refusal.Code == p.CodeInternal {
				c.failed[e.Message.ConversationID()] = true
			}
		}
	case actors.DeadLetter:
		c.observeDeadLocked(e)
	case codons.Transition:
		c.observeStepLocked(e)
	case actors.AgentStarted:
		c.noteLocked("started  %s again=%t", e.Agent, e.Again)
	case actors.AgentStopped:
		c.stops[e.Agent]++
		c.noteLocked("stopped  %s", e.Agent)
	case actors.Supervised:
		if strings.Contains(fmt.Sprint(e.Reason), "runtime error") {
			c.broken = append(c.broken, fmt.Sprintf("%s: %v", e.Agent, e.Reason))
		}
		c.noteLocked("failed   %s: %v, %v in %v", e.Agent, e.Reason, e.Directive, e.Delay)
	case actors.WorkAbandoned:
		c.noteLocked("abandons %s %s", e.Agent, e.Conversation)
	case codons.Violation:
		c.violations = append(c.violations, e)
	case codons.HandlerPanicked:
		c.noteLocked("panicked %s %s %v", e.Agent, e.Conversation, e.Value)
	}
}

func (c *chronicle) observeDeadLocked(e actors.DeadLetter) {
	c.dead++
	m, ok := e.Message.(*p.Message)
	if !ok {
		c.noteLocked("dead     %T for %s: %s", e.Message, e.To, e.Code)
		return
	}
	c.noteLocked("dead     %s for %s: %s", m.ID(), e.To, e.Code)
	if m.ID() != c.handling { // else the table drops it
		c.fateLocked(m.ID()).dead++
		if m.Protocol() == "delivery" { // which its sender learns at once
			c.turned[m.ConversationID()] = true
		}
	}
}

func (c *chronicle) observeStepLocked(e codons.Transition) {
	c.handling = e.Message
	if e.Message != "" {
		c.fateLocked(e.Message).handled++
	}
	c.stepLocked(e)
	if e.Ended && e.From != e.To {
		c.noteLocked("ended    %s %s of %s with %s: %s", e.Protocol, e.Conversation, e.Agent, e.Peer, e.To)
	}
}

// simLine is a message in one line.
func simLine(m *p.Message) string {
	return fmt.Sprintf("%s %s -> %s %s in %s %s", m.ID(), m.Sender(), m.Receiver(), m.Performative(), m.ConversationID(), simSummary(m))
}

// simSummary is what a message says, in a few words.
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
