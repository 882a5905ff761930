package codons

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Solo is a conversation without a peer: the table has rows of the initiator only and sends no
// messages, as a saga's. It has no actor: its owner takes the events and carries out their
// effects. So it has no [Info] and publishes no [lifecycle.Transition]. Its events are always
// recorded. It is not safe for concurrent use.
type Solo struct {
	Value
	agent  actors.Self
	record Record
}

// NewSolo returns a conversation of an agent before its first event. It has a new id when id is
// empty. Its side is that of [Definition.InitiatorSide]; only the pure methods are called.
func NewSolo(c *Codon, agent actors.Self, id performatives.ConversationID) *Solo {
	stamp := agent.Stamp()
	id = cmp.Or(id, performatives.ConversationID(stamp.ID))
	s := &Solo{agent: agent}
	s.set(c, machine.Initiator, agent.ID(), actors.Key{ID: id, Initiator: true}, nil, c.newSide(machine.Initiator), stamp.Time)
	s.record = Record{Protocol: c.Name(), Role: machine.Initiator, Agent: s.self, ID: id, Events: make([]Input, 0, 4)}
	return s
}

// Side returns the side of the conversation.
func (s *Solo) Side() Side { return s.side }

// Record returns the events so far, which must not be changed. A later Take does not change
// the result, which any goroutine may read.
func (s *Solo) Record() Record {
	r := s.record
	r.Events = slices.Clip(r.Events)
	return r
}

// Take takes one step at the current time and returns its effects, which must not be changed. A
// step into a terminal state publishes [Recorded]. The error says that the content of a
// command is not of the registered type, or is a [*machine.UnexpectedError] for an event
// without a row. Then nothing has changed.
func (s *Solo) Take(on machine.Symbol, data any) ([]machine.Effect, error) {
	if err := s.codon.checkContent(Command{on.Name, data}); on.Kind == machine.KindCommand && err != nil {
		return nil, err
	}
	e := Input{On: on, At: time.Now(), Data: data}
	var room [4]action
	if _, err := s.reduce(&e, &replayed{}, room[:0]); err != nil {
		return nil, err
	}
	s.record.Events = append(s.record.Events, e)
	if s.Ended() && events.Wants[Recorded](&s.agent.System().Events) {
		s.agent.System().Events.Publish(Recorded{At: events.At{Time: e.At}, Record: s.Record(), State: s.State(), Data: s.Data()})
	}
	return e.effects, nil
}

// Failed logs and publishes the error of a job with which the owner carries out an effect, as
// [Handler.Failed] does. ctx is that of the owner: if it is the work in a conversation, the failure
// is one of that conversation. Safe for concurrent use.
func (s *Solo) Failed(ctx context.Context, job string, after time.Duration, err error) {
	if endedBy(ctx, err) || ownRefusal(err) != nil {
		return
	}
	j := lifecycle.JobFailed{Job: job, After: after, Err: err, Protocol: s.codon.Name(), Conversation: s.record.ID}
	if c, is := ctx.Value(actors.CallerKey{}).(actors.Caller); is && c.Conversation != "" {
		j.Conversation, j.Peer = c.Conversation, c.Peer
	}
	reportFailure(j, s.agent)
}
