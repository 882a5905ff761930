package codons

import (
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Input is the input of one step of one side of a conversation. It holds all that the step
// depends on: a step reads no clock, draws no ids and calls no code of the agent. [Rebuild]
// makes a conversation's [Value] of its events. An event that [Recorded] has published must
// not be changed.
type Input struct {
	// On is the symbol of the event in the table.
	On machine.Symbol
	// At is the time of the step.
	At time.Time
	// Message is the received message, also for [standard.CommandMisread]. For the command that
	// opens a conversation it is the opening act. Nil for any other event.
	Message *performatives.Message
	// Data is the content that a command gives the message which it makes the table send. For the
	// loss of the peer, and for [standard.CommandStop] after [StopWork], it is the
	// [performatives.Code] of the reason. Nil for none.
	Data any
	// Ontology is that of a request which names none, at the responder: see
	// [ResponderOptions.Ontology]. Empty for any other request.
	Ontology string
	// Moves says of the command [standard.CommandStop] that the agent is to continue elsewhere: see
	// [actors.System.Retire].
	Moves bool
	// Final says that the job that gave the command has returned.
	Final bool
	// Used is the usage of the work at the time of the event, at the responder. Nil for work
	// without a budget.
	Used Budget
	// Stamps are the ids and times of the messages that the step made. Only recorded events
	// have them.
	Stamps []performatives.Stamp

	effects []machine.Effect // of the step
	local   bool             // this side has made Message from a refusal that Send has returned, and that the system has counted
}

// Sends reports whether the step sends a new message.
func (e *Input) Sends() bool {
	return slices.ContainsFunc(e.effects, func(f machine.Effect) bool { return f.Kind == machine.EffectSend })
}

// Symbols with which events are compared.
var (
	onMisread  = machine.Commanded(standard.CommandMisread)
	onDeadline = machine.Timeout(machine.TimerDeadline)
)

// misread reports whether the event is a message that this side cannot read.
func (e *Input) misread() bool { return e.On == onMisread && e.Message != nil }

// Arms reports whether the step starts a timer.
func (e *Input) Arms(timer string) bool {
	return slices.ContainsFunc(e.effects, func(f machine.Effect) bool { return f.Kind == machine.EffectArm && f.Name == timer })
}

// lostPeer returns the reason for the loss of the peer, and whether the event is one.
func (e *Input) lostPeer() (performatives.Code, bool) {
	code, _ := e.Data.(performatives.Code)
	return code, e.On.Kind == machine.KindPeerLost
}

// hasCode reports whether the data of an event of this kind is a code.
func (e *Input) hasCode() bool { return e.On.Kind == machine.KindPeerLost }

// stamper returns the ids and times of the messages that a step makes.
type stamper interface{ stamp() performatives.Stamp }

// action is one effect of a step, with its message or time.
type action struct {
	effect  machine.Effect
	message *performatives.Message // the message to send; nil where there is none, or with err
	after   time.Duration          // the time until the timer is due; Never for a timer that does not run
	err     error
}

// reduce takes one step of the table and appends its actions to out, in order. It is pure: the
// same events give the same states and messages. An event for which the table has no row is
// a [*machine.UnexpectedError] and changes nothing.
func (v *Value) reduce(e *Input, ids stamper, out []action) ([]action, error) {
	next, effects, err := v.machine.Step(v.at, machine.Event{On: e.On, At: e.At})
	if err != nil {
		return nil, err
	}
	v.at, e.effects = next, effects
	switch {
	case e.Message == nil:
	case e.On.Kind == machine.KindUndeliverable, e.On.Kind == machine.KindUndelivered: // it is not the peer's
		v.refusedCopy(e)
	case e.On.Kind == machine.KindCommand && !e.misread():
		v.opening = e.Message
	case e.misread() && v.at.Role == machine.Responder: // the table answers the same message again as one that comes after the end
		v.heard()
	default:
		v.received(e.Message, e.On, effects)
	}
	v.side.Reduce(v, e)
	for _, f := range effects {
		out = append(out, v.compose(f, e, ids))
	}
	return out, nil
}

func idOf(m *performatives.Message) performatives.MessageID {
	if m == nil {
		return ""
	}
	return m.ID()
}

// compose returns the action of an effect. It changes only the records of sent messages and of
// the deadline.
func (v *Value) compose(f machine.Effect, e *Input, ids stamper) action {
	a := action{effect: f}
	switch f.Kind { //nolint:exhaustive // the other effects need neither message nor time
	case machine.EffectSend:
		if a.message, a.err = v.next(f, e, ids); a.err == nil {
			v.keep(a.message)
		}
	case machine.EffectResend:
		if s := v.sentOf(f.Act); s != nil {
			a.message = s.Message
			s.copies = min(s.copies, maxCopies-1) + 1
		}
	case machine.EffectRefuse:
		if a.message = e.Message.Refuse(v.self, ids.stamp(), performatives.Code(f.Name), ""); a.message != nil {
			v.keep(a.message)
		}
	case machine.EffectArm, machine.EffectDisarm:
		a.after = Never
		if f.Kind == machine.EffectArm {
			a.after = v.side.Timer(v, f.Name, e.At)
		}
		switch {
		case f.Name != machine.TimerDeadline:
		case a.after == Never:
			v.deadline = time.Time{}
		default:
			v.deadline = e.At.Add(a.after)
		}
	}
	return a
}

// next returns the next message of this side.
func (v *Value) next(f machine.Effect, e *Input, ids stamper) (*performatives.Message, error) {
	if v.at.Role == machine.Initiator && f.Act != performatives.ActCancel && f.Act.ExpectsReply() {
		v.asked = true
	}
	m, payload := v.opening, e.Data
	v.opening = nil
	if m == nil && !(e.misread() && f.Act == performatives.ActNotUnderstood) {
		payload = v.side.Compose(v, f, e)
	}
	var draft performatives.Envelope
	switch {
	case e.misread() && (f.Act == performatives.ActNotUnderstood || f.Act == performatives.ActFailure): // not the message that began the conversation
		draft = e.Message.ReplyEnvelope(v.self, ids.stamp(), f.Act, payload)
	case v.at.Role == machine.Responder:
		draft = v.answered(f.Act).ReplyEnvelope(v.self, ids.stamp(), f.Act, payload)
		if draft.Ontology == "" && e.Ontology != "" {
			draft.Ontology = performatives.ReplyOntology(e.Ontology, f.Act, payload)
		}
	case m != nil && m.MessageType() == v.codon.typeOf(f) && v.replyBy(f, m.ReplyBy()).Equal(m.ReplyBy()):
		return m, nil
	case m != nil:
		draft = m.Envelope()
	case f.Act.IsReply() && v.request != nil: // the initiator's answer to a proposal
		draft = v.request.ReplyEnvelope(v.self, ids.stamp(), f.Act, payload)
	default:
		draft = v.lastRequest().FollowEnvelope(ids.stamp(), f.Act, payload)
	}
	v.complete(&draft, f, e)
	return performatives.New(draft)
}

// complete sets the message type, the ReplyBy and the usage of a message.
func (v *Value) complete(draft *performatives.Envelope, f machine.Effect, e *Input) {
	draft.MessageType = v.codon.typeOf(f)
	draft.ReplyBy = v.replyBy(f, draft.ReplyBy)
	if e.Used != nil && (e.Final || v.Ended()) { // a handler that goes on may use more
		draft.Budget = performatives.ContentOf(e.Used)
	}
}

// replyBy returns the ReplyBy of the act that an effect sends.
func (v *Value) replyBy(f machine.Effect, otherwise time.Time) time.Time {
	if d, ok := v.side.(dateSide); ok {
		if by := d.ReplyBy(v, f); !by.IsZero() {
			return by
		}
	}
	return otherwise
}
