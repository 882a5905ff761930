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

// An initiator counts the retries of its latest message in one state, and no other timers.
func TestInitiatorCountsRetries(t *testing.T) {
	send, retry, deadline := machine.Send(performatives.ActRequest), machine.Arm(machine.TimerRetry), machine.Arm(machine.TimerDeadline)
	answer := machine.Receive(performatives.ActAgree)
	side, v := &InitiatorSide{}, &Value{}
	for i, step := range []struct {
		at      machine.State
		on      machine.Symbol
		effects []machine.Effect
		want    initiatorData
	}{
		{"a", onDeadline, []machine.Effect{send, deadline, retry}, initiatorData{1, "a", false}},
		{"a", onDeadline, []machine.Effect{retry}, initiatorData{2, "a", false}},
		{"a", onDeadline, []machine.Effect{deadline}, initiatorData{2, "a", false}},
		{"a", answer, []machine.Effect{retry}, initiatorData{3, "a", true}},
		{"a", answer, []machine.Effect{retry, send}, initiatorData{1, "a", false}},
		{"b", answer, nil, initiatorData{0, "b", true}},
	} {
		v.at.State = step.at
		side.Reduce(v, &Input{On: step.on, effects: step.effects})
		if got := side.Data(); got != step.want {
			t.Errorf("step %d: got %+v, want %+v", i, got, step.want)
		}
	}
}
