package wire

import (
	"errors"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

func TestDismissSendsTheReason(t *testing.T) {
	l := lifecycle{state: stateOpen, closeTime: time.Second}
	why := &performatives.Refusal{Code: performatives.CodeStopped, Text: "another connection speaks for the agent"}
	do := l.step(event{kind: stopRequested, at: time.Unix(1, 0), err: why, refusal: why})
	if len(do.last) != 2 || do.last[0].Kind != KindError || do.last[0].Err != why || do.last[1].Kind != KindClose || string(do.last[1].Data) != why.Text {
		t.Errorf("close frames %+v", do.last)
	}
	if !errors.Is(l.reason, performatives.CodeStopped) {
		t.Errorf("the session ends with %v", l.reason)
	}
}
