package discovery_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/machine"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// TestInTurn has the first agent end in some state; the case says which functions ask a second one.
func TestInTurn(t *testing.T) {
	for end, c := range map[machine.State]struct{ once, repeatable bool }{
		codons.StateCompleted: {}, codons.StateAbandoned: {},
		codons.StateRejected: {true, true}, codons.StateRefused: {true, true}, codons.StateNotUnderstood: {true, true},
		codons.StateTimedOut: {false, true}, codons.StateCancelled: {false, true}, codons.StateFailed: {false, true},
	} {
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			asked := func(run func(context.Context, codons.Party, []p.AgentID, func(p.AgentID) machine.State) error, cancelled bool) (n int) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				err := run(ctx, w.Eddy, []p.AgentID{"First", "Second"}, func(p.AgentID) machine.State {
					n++
					if cancelled {
						cancel()
					}
					if n == 1 {
						return end
					}
					return codons.StateCompleted
				})
				if err != nil {
					t.Error(err)
				}
				return n
			}
			if once, repeatable := asked(discovery.InTurn, false) == 2, asked(discovery.UntilDone, false) == 2; once != c.once || repeatable != c.repeatable {
				t.Errorf("%s: asked another: %t, and if it is safe to repeat: %t", end, once, repeatable)
			}
			if asked(discovery.InTurn, true) != 1 || asked(discovery.UntilDone, true) != 1 {
				t.Errorf("%s: asked another after the end of ctx", end)
			}
			w.Settled(0)
		})
	}
	if err := discovery.InTurn(t.Context(), nil, nil, nil); !errors.Is(err, codons.ErrNoParty) {
		t.Errorf("a nil party: %v", err)
	}
}

func TestEndOf(t *testing.T) {
	for _, c := range []struct {
		err  error
		want machine.State
	}{
		{nil, codons.StateCompleted},
		{actors.ErrStopped, codons.StateAbandoned},
		{&codons.EndError{State: codons.StateRejected}, codons.StateRejected},
		{fmt.Errorf("wrapped: %w", &codons.EndError{State: codons.StateCancelled}), codons.StateCancelled},
		{&codons.EndError{State: codons.StateCompleted}, codons.StateFailed},
		{&codons.EndError{State: codons.StateAbandoned}, codons.StateAbandoned},
		{&codons.EndError{State: codons.StateAbandoned, Refusal: p.Refusal{Code: p.CodeExpired}}, codons.StateTimedOut},
	} {
		if got := discovery.EndState(c.err); got != c.want {
			t.Errorf("%v: %s, want %s", c.err, got, c.want)
		}
	}
}
