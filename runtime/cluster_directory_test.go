package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	nodelink "github.com/ribosome-agents/ribosome/cluster/link"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// verbose is an agent whose capabilities are long.
type verbose struct{ p.Capabilities }

func (v verbose) Describe() p.Capabilities { return v.Capabilities }

// verboseOf returns an agent whose capabilities have that length as JSON.
func verboseOf(t *testing.T, size int) func() actors.Agent {
	t.Helper()
	c := p.Capabilities{Topics: []string{""}, Actions: []p.Action{{Name: "talk"}}}
	short, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	c.Topics[0] = strings.Repeat("x", size-len(short))
	return func() actors.Agent { return verbose{c} }
}

// The longest capabilities that a link carries reach other nodes. An agent with longer ones is
// refused: the others would wait for them for ever.
func TestLongCapabilities(t *testing.T) {
	racetest.Skip(t)
	nodes, ctx := newCluster(t, 2), context.Background()
	longest := nodelink.MaxMessage - 1
	if err := nodes[0].Spawn(ctx, "long", verboseOf(t, longest)); err != nil {
		t.Fatal(err)
	}
	knows(t, nodes[1], "long", "n1")
	err := nodes[0].Spawn(ctx, "longer", verboseOf(t, longest+1))
	if want := fmt.Sprint(longest+1, " bytes"); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `"longer"`) {
		t.Errorf("Spawn = %v, want the agent and %s", err, want)
	}
	if _, runs := nodes[0].System().Lookup("longer"); runs {
		t.Error("the agent runs, and Spawn has failed")
	}
	if err := nodes[0].Spawn(ctx, "longer", verboseOf(t, longest+1), runtime.Hidden()); err != nil {
		t.Errorf("a hidden agent has capabilities that nobody is told: %v", err)
	}
}
