package actors

import (
	"context"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Ask sends message to pid and waits for the reply: the first message sent to the
// request's sender, by the receiver or by an actor that the receiver forwards the request
// to. It waits until timeout has passed or ctx ends. A timeout of zero or less means no
// timeout. A message handler must not call Ask, because that blocks its actor.
//
// A reply that is an error is returned as the error, for example the [*Refused] of a full
// mailbox. Ask fails at once with [ErrStopped] when there is no such actor or it has
// stopped, with [ErrTimeout] after the timeout, and with the cause of ctx when ctx ends
// first. A reply that arrives later goes to the dead letters of the actor system.
func Ask(ctx context.Context, system *actor.ActorSystem, pid *actor.PID, message any, timeout time.Duration) (any, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("actors: ask: %w", EndOf(ctx))
	}
	slots := slotsOf(system)
	s := slots.acquire()
	r := &askEnvelope{sender: actor.PID{Address: s.pid.Address, Id: s.pid.Id, RequestId: s.open(timeout)}}
	r.envelope = actor.MessageEnvelope{Message: message, Sender: &r.sender}
	system.Root.Send(pid, &r.envelope)
	answer, err := s.wait(ctx)
	slots.release(s)
	return unwrapAnswer(answer, err)
}

// askEnvelope is an envelope and its sender in one allocation. It is not reused, because
// the receiver may keep a pointer to either.
type askEnvelope struct {
	envelope actor.MessageEnvelope
	sender   actor.PID
}

// unwrapAnswer returns a reply that is an error as the error.
func unwrapAnswer(answer any, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	switch a := answer.(type) {
	case *actor.DeadLetterResponse:
		return nil, ErrStopped
	case error:
		return nil, a
	}
	return answer, nil
}
