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
	"github.com/ribosome-agents/ribosome/codons/standard"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// TestInTurn has the first agent end in some state; the case says which functions ask a second one.
func TestInTurn(t *testing.T) {
	for end, c := range map[machine.State]struct{ once, repeatable bool }{
		standard.StateCompleted: {}, standard.StateAbandoned: {},
		standard.StateRejected: {true, true}, standard.StateRefused: {true, true}, standard.StateNotUnderstood: {true, true},
		standard.StateTimedOut: {false, true}, standard.StateCancelled: {false, true}, standard.StateFailed: {false, true},
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
					return standard.StateCompleted
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
		{nil, standard.StateCompleted},
		{actors.ErrStopped, standard.StateAbandoned},
		{&codons.EndError{State: standard.StateRejected}, standard.StateRejected},
		{fmt.Errorf("wrapped: %w", &codons.EndError{State: standard.StateCancelled}), standard.StateCancelled},
		{&codons.EndError{State: standard.StateCompleted}, standard.StateFailed},
		{&codons.EndError{State: standard.StateAbandoned}, standard.StateAbandoned},
		{&codons.EndError{State: standard.StateAbandoned, Refusal: p.Refusal{Code: p.CodeExpired}}, standard.StateTimedOut},
	} {
		if got := discovery.EndState(c.err); got != c.want {
			t.Errorf("%v: %s, want %s", c.err, got, c.want)
		}
	}
}
