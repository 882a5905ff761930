package actors

import (
	"context"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Ask sends message to pid and waits for the answer: the first message that the
// receiver, or whoever it forwards the request to, sends to the request's sender.
// It waits for timeout at most, and no longer than ctx; a timeout of zero or less
// waits for ctx alone. A handler must not call it: it would block its actor.
//
// An answer that is an error is returned as the error, among them the [*Refused]
// of a full mailbox. Ask fails at once with [ErrStopped] when there is no such
// actor or it has stopped, with [ErrTimeout] after the timeout, and with the
// cause of ctx when that ends first. An answer that comes later goes to the
// actor system's dead letters.
func Ask(ctx context.Context, system *actor.ActorSystem, pid *actor.PID, message any, timeout time.Duration) (any, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("actors: ask: %w", err)
	}
	slots := slotsOf(system)
	s := slots.take()
	r := &request{sender: actor.PID{Address: s.pid.Address, Id: s.pid.Id, RequestId: s.open(timeout)}}
	r.envelope = actor.MessageEnvelope{Message: message, Sender: &r.sender}
	system.Root.Send(pid, &r.envelope)
	answer, err := s.wait(ctx)
	slots.putBack(s)
	return unwrapAnswer(answer, err)
}

// request is an envelope with its sender, in one allocation. It is not reused:
// the receiver may keep either.
type request struct {
	envelope actor.MessageEnvelope
	sender   actor.PID
}

// unwrapAnswer sorts the errors out of the answers.
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
