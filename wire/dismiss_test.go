package wire

import (
	"errors"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

func TestDismissalTellsWhy(t *testing.T) {
	l := life{state: stateOpen, closes: time.Second}
	why := &performatives.Refusal{Code: performatives.CodeStopped, Text: "another connection speaks for the agent"}
	do := l.step(event{what: stopping, at: time.Unix(1, 0), err: why})
	if len(do.last) != 1 || do.last[0].Kind != KindClose || string(do.last[0].Data) != why.Text {
		t.Errorf("a dismissed peer is told %+v", do.last)
	}
	if !errors.Is(l.reason, performatives.CodeStopped) {
		t.Errorf("the session ends because of %v", l.reason)
	}
}
