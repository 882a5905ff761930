package codons_test

import (
	"fmt"
	"slices"
	"sync"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// maxObserved is how many messages of a conversation are checked: what may have
// arrived when not makes the checks ever more expensive.
const maxObserved = 12

// monitor checks what is said against the tables, and writes it down.
type monitor struct {
	mu         sync.Mutex
	limit      int // conversations to check; 0 is all
	courses    map[course]*machine.Monitor
	said       map[p.MessageID]bool
	opened     map[course]p.AgentID
	length     map[course]int
	violations []error
	transcript []string
}

// course is one conversation. Both ids are in lower case, the lesser first.
type course struct {
	id   p.ConversationID
	a, b p.AgentID
}

var machines = func() map[string]*machine.Machine {
	all := map[string]*machine.Machine{}
	for _, t := range []machine.Table{codons.DelegationTable(), codons.WhisperTable(), codons.RequestTable()} {
		all[t.Name] = t.MustCompile()
	}
	return all
}()

func newMonitor() *monitor {
	return &monitor{
		courses: map[course]*machine.Monitor{}, said: map[p.MessageID]bool{},
		opened: map[course]p.AgentID{}, length: map[course]int{},
	}
}

func (o *monitor) observe(ev actors.Event) {
	sent, ok := ev.(actors.MessageSent)
	if !ok {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	m := sent.Message
	repeated := o.said[m.ID()]
	o.said[m.ID()] = true
	o.transcript = append(o.transcript, line(m, repeated))
	from, to := m.Sender().Fold(), m.Receiver().Fold()
	if from == to || machines[m.Protocol()] == nil {
		return // of a talk with oneself the sides cannot be told
	}
	k := course{m.ConversationID(), min(from, to), max(from, to)}
	fresh := m.Performative() == p.ActTaskRequest && !repeated && m.InReplyTo() == "" // under a name that was used before
	if o.courses[k] == nil || fresh {
		if o.limit > 0 && len(o.courses) == o.limit {
			return
		}
		o.length[k] = 0
		o.courses[k], o.opened[k] = machine.NewMonitor(machines[m.Protocol()]), from
	}
	if o.length[k]++; o.length[k] > maxObserved {
		return
	}
	u := machine.Utterance{From: machine.Responder, Act: m.Performative(), Tag: tagOf(m), Again: repeated}
	if o.opened[k] == from {
		u.From = machine.Initiator
	}
	if err := o.courses[k].Observe(u); err != nil {
		o.violations = append(o.violations, fmt.Errorf("%s of %s to %s: %w", m.Performative(), from, to, err))
	}
}

func tagOf(m *p.Message) string {
	switch c := m.Payload().(type) {
	case p.InformResult:
		if c.RequestForUser() != "" {
			return "input"
		}
	case p.Receipt:
		return "receipt"
	}
	return ""
}

// line is a message as transcripts show it.
func line(m *p.Message, again bool) string {
	text := fmt.Sprintf("%s -> %s: %s", m.Sender(), m.Receiver(), m.Performative())
	switch c := m.Payload().(type) {
	case p.InformResult:
		text += " " + string(c.Status)
	case p.TaskReject:
		text += " " + string(c.ReasonCode)
	case p.Failure:
		text += " " + string(c.ErrorCode)
	case p.NotUnderstood:
		text += " " + string(c.ReasonCode)
	case p.StatusUpdate:
		text += " " + c.Description
	}
	if again {
		text += " (again)"
	}
	return text
}

// lines returns what was said so far.
func (o *monitor) lines() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.transcript)
}

// count returns how often that was said.
func (o *monitor) count(line string) int {
	n := 0
	for _, l := range o.lines() {
		if l == line {
			n++
		}
	}
	return n
}
