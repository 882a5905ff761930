package saga_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/saga"
)

// deeds records the actions of the steps of a saga, in their order.
type deeds struct {
	mu   sync.Mutex
	done []string
}

// do records an action.
func (d *deeds) do(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.done = append(d.done, what)
}

// step returns a step whose actions are recorded.
func (d *deeds) step(name string) saga.Step {
	return saga.Step{
		Name: name,
		Do: func(_ context.Context, earlier map[string]any) (any, error) {
			d.do(fmt.Sprint(name, " after ", len(earlier)))
			return name + "'s", nil
		},
		Undo: func(_ context.Context, result any) error {
			d.do(fmt.Sprint("undo ", result))
			return nil
		},
	}
}

// failing returns a step that fails with err.
func (d *deeds) failing(name string, err error) saga.Step {
	s := d.step(name)
	s.Do = func(context.Context, map[string]any) (any, error) { return nil, err }
	return s
}

// want compares the recorded actions.
func (d *deeds) want(t *testing.T, lines ...string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Equal(d.done, lines) {
		t.Errorf("done: %q, want %q", d.done, lines)
	}
}
