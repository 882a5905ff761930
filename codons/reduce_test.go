package codons

import (
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// composing is a side that makes the same content for each message.
type composing struct {
	Side
	composed int
}

func (c *composing) Compose(*Value, machine.Effect, *Input) any {
	c.composed++
	return performatives.InformResult{Status: performatives.StatusSuccess}
}

// oneStamp makes one stamp.
type oneStamp performatives.Stamp

func (s oneStamp) stamp() performatives.Stamp { return performatives.Stamp(s) }

// A side composes neither the message that opens its conversation, which its caller has made, nor
// the NOT_UNDERSTOOD for a message that it cannot read.
func TestComposed(t *testing.T) {
	m, now := aRequest(t), time.Now()
	stamp := oneStamp{ID: "next", Time: now}
	misread := &Input{On: machine.Commanded(standard.CommandMisread), At: now, Message: m, Data: performatives.NotUnderstood{ReasonCode: performatives.CodeInvalidPayload}}
	for _, c := range []struct {
		role machine.Role
		act  performatives.Performative
		e    *Input
		want int
	}{
		{machine.Initiator, performatives.ActRequest, &Input{On: machine.Commanded(machine.CommandStart), At: now, Message: m}, 0},
		{machine.Responder, performatives.ActNotUnderstood, misread, 0},
		{machine.Responder, performatives.ActInformResult, &Input{At: now}, 1},
	} {
		v, side := new(Value), new(composing)
		v.set(errand, c.role, m.Sender(), actors.Key{ID: "c", Peer: m.Receiver(), Initiator: c.role == machine.Initiator}, m, side, now)
		if v.request = m; c.role == machine.Initiator {
			v.opening = m
		}
		sent, err := v.next(machine.Send(c.act), c.e, stamp)
		if err != nil || side.composed != c.want {
			t.Errorf("%s: composed %d times, want %d: %v", c.act, side.composed, c.want, err)
			continue
		}
		if n, err := performatives.PayloadAs[performatives.NotUnderstood](sent); c.e == misread && (err != nil || n.ReasonCode != performatives.CodeInvalidPayload) {
			t.Errorf("it is not understood because of %+v: %v", n, err)
		}
	}
}
