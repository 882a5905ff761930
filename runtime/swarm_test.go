package runtime_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/ribosome-agents/ribosome/runtime"
)

func TestSwarms(t *testing.T) {
	failed := errors.New("no agents")
	var spawned []string
	swarm := func(name string, err error) runtime.Swarm {
		return runtime.Swarm{Name: name, Spawn: func(context.Context, *runtime.Node) error {
			spawned = append(spawned, name)
			return err
		}}
	}
	all := runtime.Swarms{swarm("one", nil), swarm("two", failed), swarm("three", nil)}
	if names := all.Names(); !slices.Equal(names, []string{"one", "two", "three"}) {
		t.Errorf("the names are %q", names)
	}
	for name, want := range map[string]string{
		"three": "", "two": `runtime: swarm "two": no agents`, "four": `runtime: there is no swarm "four"; there is one, two, three`,
	} {
		spawned = nil
		switch err := all.Host(t.Context(), nil, name); {
		case want == "" && (err != nil || !slices.Equal(spawned, []string{name})):
			t.Errorf("%s: %v, after %q", name, err, spawned)
		case want != "" && (err == nil || err.Error() != want || errors.Is(err, failed) != (len(spawned) == 1)):
			t.Errorf("%s: %v, after %q", name, err, spawned)
		}
	}
}
