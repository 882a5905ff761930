package agenttest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Problem is a kind of event that fails a test.
type Problem string

// The problems.
const (
	ErrorLogged    Problem = "an error was logged"
	Violation      Problem = "a message breaks its protocol"
	PayloadChanged Problem = "a payload was changed after it was sent"
	DeadLetter     Problem = "a message could not be delivered" // before the test's end
)

// Allow says that problems of these kinds do not fail the test.
func (n *Node) Allow(problems ...Problem) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range problems {
		n.excused[p] = true
	}
}

// report fails the test, unless the problem is allowed.
func (n *Node) report(p Problem, format string, args ...any) {
	n.t.Helper()
	n.mu.Lock()
	excused := n.excused[p]
	n.mu.Unlock()
	if !excused {
		n.t.Errorf("agenttest: %s: %s", p, fmt.Sprintf(format, args...))
	}
}

// loggedChange is a part of the error that is logged beside a [lifecycle.PayloadChanged].
const loggedChange = "a payload was changed after its message was sent"

// check reports what the events, the log and the network say once the node has stopped.
func (n *Node) check() {
	n.t.Helper()
	for r := range n.events.C {
		switch e := r.Event.(type) {
		case lifecycle.Violation:
			n.report(Violation, "%s to %s: %v", e.Sender, e.Receiver, e)
		case lifecycle.PayloadChanged:
			n.report(PayloadChanged, "%s, a %s", e.Message, e.Type)
		}
	}
	if lost := n.events.Lost() + n.WatchCounts().Dropped; lost > 0 {
		n.t.Errorf("agenttest: %d events were lost, so not all was checked", lost)
	}
	for _, text := range n.log.take() {
		if strings.Contains(text, loggedChange) {
			continue // its event was reported
		}
		n.report(ErrorLogged, "%s", text)
	}
	for _, f := range n.network.unmet() {
		n.t.Errorf("agenttest: the fault %s met too few messages", f)
	}
}

// dropped are the codes of messages that a table drops: they were delivered, and say
// nothing new.
var dropped = []performatives.Code{machine.DropDuplicate, machine.DropStale, machine.DropLate}

// checkDeadLetters reports the dead letters from before the shutdown.
func (n *Node) checkDeadLetters() {
	n.t.Helper()
	for r := range n.letters.C {
		e, ok := r.Event.(events.DeadLetter)
		if !ok || slices.Contains(dropped, e.Code) {
			continue
		}
		text := fmt.Sprintf("%T", e.Message)
		if m, isMessage := e.Message.(*performatives.Message); isMessage {
			text = describe(m)
		}
		n.report(DeadLetter, "%s for %s: %s", text, e.To, e.Code)
	}
}

// describe is a message as a failure shows it.
func describe(m *performatives.Message) string {
	return fmt.Sprintf("%s from %s with %+v", m.Performative(), m.Sender(), m.Payload())
}
