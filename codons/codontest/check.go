package codontest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/internal/rebuilt"
	"github.com/ribosome-agents/ribosome/performatives"
)

// pairKey names a conversation: several bidders of one call may have the same id.
type pairKey struct {
	id                   performatives.ConversationID
	initiator, responder performatives.AgentID
}

// sideKey names one side of a conversation.
type sideKey struct {
	pairKey
	role machine.Role
}

// sideOf returns the key of a side, given its agent and its peer.
func sideOf(id performatives.ConversationID, role machine.Role, agent, peer performatives.AgentID) sideKey {
	if role == machine.Responder {
		agent, peer = peer, agent
	}
	return sideKey{pairKey{id, agent, peer}, role}
}

func (k sideKey) compare(other sideKey) int {
	return cmp.Or(cmp.Compare(k.id, other.id), cmp.Compare(k.responder, other.responder), cmp.Compare(k.role, other.role))
}

// observed is what the events say of one side.
type observed struct {
	codon *codons.Codon
	state machine.State
	ended bool
	by    performatives.MessageID // the message that ended it; empty where none did
	met   map[machine.Symbol]bool // the events of its steps
}

// check compares the events of a world with the table. It returns the transitions that
// were taken.
func (w *world) check() map[*machine.Transition]bool {
	taken, sides := map[*machine.Transition]bool{}, map[sideKey]*observed{}
	lines := map[performatives.ConversationID][]string{}
	for r := range w.events.C {
		switch e := r.Event.(type) {
		case lifecycle.Transition:
			lines[e.Conversation] = append(lines[e.Conversation], line(e))
			if t := w.checkStep(sides, e); t != nil {
				taken[t] = true
			}
		case codons.Recorded:
			w.checkRecord(e)
		case lifecycle.JobFailed:
			if p, is := errors.AsType[*actors.PanicError](e.Err); is {
				w.fault("a job of %s panicked: %v", e.Agent, p.Value)
			} else if errors.Is(e.Err, codons.ErrInvalidAnswer) {
				w.faultOf(e.Conversation, "a job of %s failed: %v", e.Agent, e.Err)
			}
		case events.MessageRefused:
			w.checkRefusal(e)
		case events.DeadLetter:
			if m, ok := e.Message.(*performatives.Message); ok {
				w.noteUndelivered(m, e.Code)
			}
		}
	}
	if n := w.events.Lost(); n > 0 {
		w.fault("%d events were lost, so not all was checked", n)
	}
	w.checkEnds(sides)
	w.checkAnswers()
	for _, id := range slices.Sorted(maps.Keys(w.about)) {
		w.faults = append(w.faults, lines[id]...)
	}
	return taken
}

// checkRefusal notes a message that the runtime refused. The refusal of an unexpected act is a
// fault of the table.
func (w *world) checkRefusal(e events.MessageRefused) {
	w.noteUndelivered(e.Message, e.Refusal.Code)
	if e.Refusal.Code == performatives.CodeUnexpectedAct {
		w.faultOf(e.Message.ConversationID(), "the table has no row for %s from %s: add one, if only to drop or refuse the message", e.Message.Performative(), e.Message.Sender())
	}
}

// noteUndelivered notes a message that its receiver did not get because it had stopped, or because
// the deadline had passed: the runtime answers in place of the receiver.
func (w *world) noteUndelivered(m *performatives.Message, code performatives.Code) {
	if code == performatives.CodeStopped || code == performatives.CodeUnknownAgent || code == performatives.CodeExpired {
		w.answered[pairKey{m.ConversationID(), m.Sender(), m.Receiver()}] = true
	}
}

// checkStep checks one transition, and that it goes on where the one before ended.
func (w *world) checkStep(sides map[sideKey]*observed, e lifecycle.Transition) *machine.Transition {
	c := w.codons[e.Protocol]
	if c == nil {
		w.faultOf(e.Conversation, "the conversation is of %s, of which no agent has a role: give the role to the option Agents", e.Protocol)
		return nil
	}
	key := sideOf(e.Conversation, e.Role, e.Agent, e.Peer)
	side := sides[key]
	if side == nil {
		side = &observed{codon: c, state: machine.Idle, met: map[machine.Symbol]bool{}}
		sides[key] = side
	}
	if e.From != side.state {
		w.faultOf(e.Conversation, "the %s takes a step in %s, after it came to %s", e.Role, e.From, side.state)
	}
	if e.Ended && !side.ended {
		side.by = e.Message
	}
	side.state, side.ended = e.To, e.Ended
	side.met[e.On] = true
	t := c.Machine().Find(e.Role, e.From, e.On)
	switch {
	case t == nil:
		w.faultOf(e.Conversation, "the table has no row for %s of the %s in %s", e.On, e.Role, e.From)
	case t.To != e.To:
		w.faultOf(e.Conversation, "the %s in %s goes to %s on %s, and the table says %s", e.Role, e.From, e.To, e.On, t.To)
	case e.Ended != c.Machine().Terminal(e.To):
		w.faultOf(e.Conversation, "the %s in %s has ended: %t", e.Role, e.To, e.Ended)
	}
	if e.On == machine.Commanded(standard.CommandMisread) && !w.network.unreadable[e.Message] { // both sides are correct
		w.faultOf(e.Conversation, "the %s in %s cannot read message %s: add a row for its act, if only to drop the message as late", e.Role, e.From, e.Message)
	}
	if t != nil && falls(t) && !c.Machine().Opens(t.On.Act) && !w.network.unreadable[e.Message] {
		w.faultOf(e.Conversation, "the table has no row for %s of the %s in %s but that for any unexpected message: add one, if only to drop the message as late", e.On, e.Role, e.From)
	}
	return t
}

// falls reports whether a message falls to a wildcard row that refuses or drops what no correct
// peer sends. Both sides of a conversation under test are correct. The caller leaves out an opening
// act: that of an auction expects no reply, a CFP may overtake it, and the wildcard then drops it.
func falls(t *machine.Transition) bool {
	return t.Wildcard && t.On.Kind == machine.KindReceive && slices.ContainsFunc(t.Do, func(e machine.Effect) bool {
		return e == machine.Drop(machine.DropUnexpected) || e == machine.Refuse(performatives.CodeUnexpectedAct)
	})
}

// checkEnds checks that both sides of each conversation have ended, in a pair of the table's Agree.
// A responder that no message has reached is in Idle. The pair is not checked where the responder's
// agent had stopped or the deadline had passed, and the runtime answered the initiator in its
// place. No table knows that answer. Such conversations are counted.
func (w *world) checkEnds(sides map[sideKey]*observed) {
	for _, key := range slices.SortedFunc(maps.Keys(sides), sideKey.compare) {
		initiator := sides[key]
		if key.role == machine.Responder {
			if sides[sideKey{key.pairKey, machine.Initiator}] == nil {
				w.faultOf(key.id, "%s is in a conversation that %s did not open", key.responder, key.initiator)
			}
			continue
		}
		responder := cmp.Or(sides[sideKey{key.pairKey, machine.Responder}], &observed{state: machine.Idle, ended: true})
		if !initiator.ended || !responder.ended {
			w.faultOf(key.id, "the initiator is %s and the responder %s, and both should have ended", initiator.state, responder.state)
			continue
		}
		if w.answered[key.pairKey] && initiator.by != "" && !w.sent[initiator.by] {
			w.unjudged++
			continue
		}
		if !agree(initiator, responder) {
			w.faultOf(key.id, "the initiator ended %s and the responder %s, which Agree does not have, or only after another event", initiator.state, responder.state)
		}
	}
}

// agree reports whether Agree has the pair in which the sides have ended, after an event that one
// of them has met.
func agree(initiator, responder *observed) bool {
	met := [2]map[machine.Symbol]bool{machine.Initiator: initiator.met, machine.Responder: responder.met}
	return slices.ContainsFunc(initiator.codon.Table.Agree, func(p machine.Pair) bool {
		return p.Initiator == initiator.state && p.Responder == responder.state &&
			p.Allowed(func(r machine.Role, on machine.Symbol) bool { return met[r][on] })
	})
}

// checkAnswers checks the last commands of the initiator's jobs.
func (w *world) checkAnswers() {
	for _, asked := range w.started {
		if _, err := asked.Wait(); errors.Is(err, codons.ErrInvalidAnswer) {
			w.faultOf(asked.Conversation(), "a job of the initiator failed: %v", err)
		}
	}
}

// checkRecord checks that the events of one side lead to the same state, data and messages again.
func (w *world) checkRecord(e codons.Recorded) {
	c := w.codons[e.Record.Protocol]
	if c == nil {
		return // its transitions are a fault
	}
	for _, m := range e.Sent {
		w.sent[m.ID()] = true
	}
	if err := rebuilt.CheckEvents(e, c); err != nil {
		w.faultOf(e.Record.ID, "%v", err)
	}
}

// line is a transition as a failure shows it.
func line(e lifecycle.Transition) string {
	text := fmt.Sprintf("  %s %s  %-9s  %-36s  %s", e.Time.Format("15:04:05.000"), e.Conversation, e.Role, e.On, e.From)
	if e.To != e.From {
		text += " → " + string(e.To)
	}
	return strings.TrimRight(text, " ")
}
