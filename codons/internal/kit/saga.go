package kit

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/saga"
)

// Deeds records the actions of the steps of a saga, in their order.
type Deeds struct {
	Mu   sync.Mutex
	Done []string
}

// Do records an action.
func (d *Deeds) Do(what string) {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	d.Done = append(d.Done, what)
}

// Step returns a step whose actions are recorded.
func (d *Deeds) Step(name string) saga.Step {
	return saga.Step{
		Name: name,
		Do: func(_ context.Context, earlier map[string]any) (any, error) {
			d.Do(fmt.Sprint(name, " after ", len(earlier)))
			return name + "'s", nil
		},
		Undo: func(_ context.Context, done any) error {
			d.Do(fmt.Sprint("undo ", done))
			return nil
		},
	}
}

// Failing returns a step that fails with err.
func (d *Deeds) Failing(name string, err error) saga.Step {
	s := d.Step(name)
	s.Do = func(context.Context, map[string]any) (any, error) { return nil, err }
	return s
}

// Want compares the recorded actions.
func (d *Deeds) Want(t *testing.T, want ...string) {
	t.Helper()
	d.Mu.Lock()
	defer d.Mu.Unlock()
	if !slices.Equal(d.Done, want) {
		t.Errorf("done: %q, want %q", d.Done, want)
	}
}
