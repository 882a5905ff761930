package codontest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// sideKey names one side of a conversation.
type sideKey struct {
	id   performatives.ConversationID
	role machine.Role
}

// observed is what the events say of one side.
type observed struct {
	state machine.State
	ended bool
	by    machine.Symbol // of the step that ended it
}

// check compares the events of a world with the table. It returns the transitions that
// were taken.
func (w *world) check() map[*machine.Transition]bool {
	taken, sides := map[*machine.Transition]bool{}, map[sideKey]*observed{}
	lines := map[performatives.ConversationID][]string{}
	for r := range w.events.C {
		switch e := r.Event.(type) {
		case codons.Transition:
			lines[e.Conversation] = append(lines[e.Conversation], line(e))
			if t := w.checkStep(sides, e); t != nil {
				taken[t] = true
			}
		case codons.Recorded:
			w.checkRecord(e)
		case codons.PayloadChanged:
			w.fault("the payload of %s, a %s, was changed after it was sent", e.Message, e.Type)
		case codons.HandlerPanicked:
			w.fault("a job of %s panicked: %v", e.Agent, e.Value)
		case actors.MessageRefused:
			w.checkRefusal(e)
		}
	}
	if n := w.events.Lost(); n > 0 {
		w.fault("%d events were lost, so not all was checked", n)
	}
	w.checkEnds(sides)
	for _, text := range w.log.take() {
		w.fault("an error was logged: %s", text)
	}
	for _, id := range slices.Sorted(maps.Keys(w.about)) {
		w.faults = append(w.faults, lines[id]...)
	}
	return taken
}

// checkRefusal notes the requests that the runtime has answered in place of the responder,
// because its agent had stopped. Any other refusal is a fault of the table.
func (w *world) checkRefusal(e actors.MessageRefused) {
	id := e.Message.ConversationID()
	switch e.Refusal.Code { //nolint:exhaustive // the codes of messages that the runtime does not deliver
	case performatives.CodeStopped, performatives.CodeUnknownAgent:
		w.answered[id] = true
	case performatives.CodeUnexpectedAct:
		w.faultOf(id, "the table has no row for %s from %s", e.Message.Performative(), e.Message.Sender())
	}
}

// checkStep checks one transition, and that it goes on where the one before ended.
func (w *world) checkStep(sides map[sideKey]*observed, e codons.Transition) *machine.Transition {
	key := sideKey{e.Conversation, e.Role}
	side := sides[key]
	if side == nil {
		side = &observed{state: machine.Idle}
		sides[key] = side
	}
	if e.From != side.state {
		w.faultOf(e.Conversation, "the %s takes a step in %s, after it came to %s", e.Role, e.From, side.state)
	}
	if e.Ended && !side.ended {
		side.by = e.On
	}
	side.state, side.ended = e.To, e.Ended
	t := w.codon.Machine().Find(e.Role, e.From, e.On)
	switch {
	case t == nil:
		w.faultOf(e.Conversation, "the table has no row for %s of the %s in %s", e.On, e.Role, e.From)
	case t.To != e.To:
		w.faultOf(e.Conversation, "the %s in %s goes to %s on %s, and the table says %s", e.Role, e.From, e.To, e.On, t.To)
	case e.Ended != w.codon.Machine().Terminal(e.To):
		w.faultOf(e.Conversation, "the %s in %s has ended: %t", e.Role, e.To, e.Ended)
	}
	return t
}

// checkEnds checks that both sides of each conversation have ended, in a pair of the
// table's Agree. A responder that no message has reached is in Idle. The pair is not
// checked where the initiator ended by an answer of the runtime, which no table knows:
// such conversations are counted.
func (w *world) checkEnds(sides map[sideKey]*observed) {
	for _, asked := range w.started {
		id := asked.Conversation()
		initiator, responder := sides[sideKey{id, machine.Initiator}], sides[sideKey{id, machine.Responder}]
		if initiator == nil {
			continue // withdrawn before it began
		}
		if responder == nil {
			responder = &observed{state: machine.Idle, ended: true}
		}
		if !initiator.ended || !responder.ended {
			w.faultOf(id, "the initiator is %s and the responder %s, and both should have ended", initiator.state, responder.state)
			continue
		}
		if initiator.by.Kind == machine.KindReceive && w.answered[id] {
			w.unjudged++
			continue
		}
		if !w.agree(initiator.state, responder.state) {
			w.faultOf(id, "the initiator ended %s and the responder %s, which Agree does not have", initiator.state, responder.state)
		}
	}
}

func (w *world) agree(initiator, responder machine.State) bool {
	for _, p := range w.codon.Table.Agree {
		if p.Initiator == initiator && p.Responder == responder {
			return true
		}
	}
	return false
}

// checkRecord checks that the events of one side lead to the same state and the same
// messages again.
func (w *world) checkRecord(e codons.Recorded) {
	v, sent, err := codons.Rebuild(w.codon, e.Record)
	if err != nil {
		w.faultOf(e.Record.ID, "the %s cannot be rebuilt: %v", e.Record.Role, err)
		return
	}
	if v.State() != e.State {
		w.faultOf(e.Record.ID, "the %s ended %s, and %s when it is rebuilt", e.Record.Role, e.State, v.State())
	}
	rebuilt := map[performatives.MessageID]bool{}
	for _, m := range sent {
		rebuilt[m.ID()] = true
	}
	for _, m := range e.Sent {
		if !rebuilt[m.ID()] {
			w.faultOf(e.Record.ID, "the %s sent %s (%s), and not when it is rebuilt", e.Record.Role, m.Performative(), m.ID())
		}
	}
}

// line is a transition as a failure shows it.
func line(e codons.Transition) string {
	text := fmt.Sprintf("  %s %s  %-9s  %-36s  %s", e.Time.Format("15:04:05.000"), e.Conversation, e.Role, e.On, e.From)
	if e.To != e.From {
		text += " → " + string(e.To)
	}
	return strings.TrimRight(text, " ")
}
