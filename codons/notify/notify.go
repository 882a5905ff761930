package notify

import (
	"strconv"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Notify sends a notice to an agent and expects no answer (FIPA inform, SC00037J). The payload
// is a struct, a map or [performatives.Raw]. Notify does not wait, and may be called from any
// goroutine, also on an agent's own actor.
//
// The error reports only local failures: the payload is not valid, there is no such agent, it has
// stopped, its mailbox is full ([performatives.CodeBusy]), or p is the [Agent] of a notice with
// [MaxHops] hops ([performatives.CodeBudget]). Such a notice is counted as a
// dead letter. After a nil error the notice is in the agent's mailbox or on its way to another
// node. What happens to it there is not reported.
//
// Options about deadlines, retries and budgets have no effect.
func Notify(p codons.Party, to performatives.AgentID, payload any, opts ...codons.Option) error {
	self, o, err := begin(p, opts)
	if err != nil {
		return err
	}
	m, err := codons.NewRequest(envelope(p, to, payload, o))
	if err != nil {
		return err
	}
	return send(self, m)
}

// Broadcast sends a notice to every agent that the node's directory lists, except the party
// itself. The error says that the payload is not valid, or that no agent could be reached. If
// only some could not, the notice to each of these is a dead letter; use [All] to learn
// which.
//
// It needs a router, as a node has. Broadcast on an [actors.System] without one returns an
// error.
func Broadcast(p codons.Party, payload any, opts ...codons.Option) error {
	self, o, err := begin(p, opts)
	if err != nil {
		return err
	}
	m, err := performatives.New(envelope(p, "", payload, o))
	if err != nil {
		return err
	}
	return send(self, m)
}

// Reach says which agents a notice to several was sent to.
type Reach struct {
	Reached []performatives.AgentID         // in the order of the call
	Missed  map[performatives.AgentID]error // the error of each other agent; nil if there is none
}

// All sends a notice to each of several agents, as [Notify]. The error says that the
// payload is not valid, that p is nil, or that an option is one of another codon; then no
// notice is sent. The result says which agents could not be
// reached, and why.
func All(p codons.Party, to []performatives.AgentID, payload any, opts ...codons.Option) (Reach, error) {
	if err := performatives.CheckPayload(performatives.ActInform, payload); err != nil {
		return Reach{}, err
	}
	if _, _, err := begin(p, opts); err != nil {
		return Reach{}, err
	}
	var r Reach
	for _, id := range to {
		if err := Notify(p, id, payload, opts...); err != nil {
			if r.Missed == nil {
				r.Missed = make(map[performatives.AgentID]error)
			}
			r.Missed[id] = err
			continue
		}
		r.Reached = append(r.Reached, id)
	}
	return r, nil
}

// begin returns the handle of the party, and the options.
func begin(p codons.Party, opts []codons.Option) (actors.Self, codons.Options, error) {
	o := codons.NewOptions(opts...)
	self, err := codons.SelfOf(p)
	if err == nil {
		err = o.Check(Codon)
	}
	return self, o, err
}

// envelope returns the envelope of a notice; without a receiver it is a broadcast.
func envelope(p codons.Party, to performatives.AgentID, payload any, o codons.Options) performatives.Envelope {
	self := p.Self()
	stamp := self.Stamp()
	e := performatives.Envelope{
		ID: stamp.ID, Timestamp: stamp.Time, Performative: performatives.ActInform, Sender: self.ID(), Receiver: to,
		ConversationID: o.Conversation(), Protocol: Codon.Name(), Language: performatives.LanguageJSON,
		Ontology: o.Ontology(), Priority: o.Priority(), Trace: o.Trace(), Payload: payload,
	}
	if a, ok := p.(Agent); ok {
		e.Metadata = performatives.Members{memberHops: strconv.AppendInt(nil, int64(a.hops)+1, 10)}
	} else if chain := nextChain(self, to); chain > 0 {
		e.Metadata = performatives.Members{memberChain: strconv.AppendInt(nil, chain, 10)}
	}
	return e
}

// send takes the only step of the initiator, which needs no conversation actor.
func send(self actors.Self, m *performatives.Message) error {
	if hopsOf(m) > MaxHops {
		self.System().DeadLetter(string(m.Receiver()), m, performatives.CodeBudget)
		return errHops(m)
	}
	publishStep(self, m.Receiver(), m, machine.Initiator, machine.Commanded(machine.CommandStart))
	return self.Send(m)
}

// publishStep takes the only step of one side of a notice, and publishes its events if there
// is a subscriber.
func publishStep(self actors.Self, peer performatives.AgentID, m *performatives.Message, role machine.Role, on machine.Symbol) {
	stream := &self.System().Events
	if !events.Wants[lifecycle.Transition](stream) && !events.Wants[lifecycle.Began](stream) && !events.Wants[lifecycle.Ended](stream) {
		return
	}
	now := time.Now()
	before := Codon.Machine().Start(role, now)
	after, _, err := Codon.Machine().Step(before, machine.Event{On: on, At: now, ID: m.ID()})
	if err != nil {
		panic(err) // unreachable: the table has this row
	}
	at := events.At{Time: now}
	of := &lifecycle.Subject{Agent: self.ID(), Peer: peer, Conversation: m.ConversationID(), Protocol: Codon.Name(), Role: role}
	stream.Publish(lifecycle.Began{At: at, Subject: of})
	stream.Publish(lifecycle.Transition{
		At: at, Subject: of, From: before.State, To: after.State, On: on, Ended: Codon.Machine().Terminal(after.State),
	})
	stream.Publish(lifecycle.Ended{At: at, Subject: of, State: after.State, Began: now, Path: []machine.State{before.State, after.State}})
}

// Codon is the codon of a notice, to one agent or to all (addenda §2; FIPA inform, SC00037J).
var Codon = codons.MustDefine(codons.Definition{
	Table:    table(),
	Complete: true,
	Example:  "ExampleNotify",
	Payloads: []codons.Payload{
		{Act: performatives.ActInform, Type: performatives.Raw{}, Doc: "the notice, in a type of the application's"},
	},
	Outcomes: map[machine.State]string{
		stateNotified: "only that the notice was sent",
	},
})

// stateNotified ends both sides of a notice.
const stateNotified machine.State = "notified"

// reportNotice hands the notice to the responder's agent.
const reportNotice = "notice"

func table() machine.Table {
	return standard.Rows(0).MustComplete(machine.Table{
		Name: "notify", Title: "Notify and broadcast",
		Purpose: "One agent informs another, or all others, and expects no answer. " +
			"The notice is sent once: if it is lost, its sender does not learn of it.",
		Source:   "addenda §2 (a notification is an INFORM; without a receiver it is a broadcast); FIPA inform (SC00037J)",
		Terminal: []machine.State{stateNotified},
		Rows: []machine.Row{
			machine.Asks(machine.Idle).When(machine.Commanded(machine.CommandStart)).
				Goto(stateNotified, machine.Send(performatives.ActInform)).
				Because("the notice is sent once, and no answer is expected"),
			machine.Answers(machine.Idle).When(machine.Receive(performatives.ActInform)).
				Goto(stateNotified, machine.Report(reportNotice)).
				Because("the agent handles the notice"),
		},
		Agree: []machine.Pair{
			{Initiator: stateNotified, Responder: machine.Idle, After: []machine.Cause{machine.Lost()}, Note: "the notice was lost, and no answer to it is expected"},
		},
	})
}
