package runtime_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

func TestDirectory(t *testing.T) {
	n := newNode(t, runtime.Options{Name: "n1"})
	for id, topics := range map[performatives.AgentID][]string{
		"Jules": {"Python", "debug_code"}, "eliza": {"small talk"}, "Eddy": {"Debug-Code"},
	} {
		if err := n.Spawn(patience.Context(t), id, always(scripted{topics: topics})); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.Spawn(patience.Context(t), "ghost", always(scripted{topics: []string{"python"}}), runtime.Hidden()); err != nil {
		t.Fatal(err)
	}
	d := n.Directory()
	if diff := cmp.Diff([]performatives.AgentID{"Eddy", "Jules", "eliza"}, d.IDs()); diff != "" {
		t.Error(diff)
	}
	if e, ok := d.Lookup("JULES"); !ok || e.ID != "Jules" || e.Node != "n1" || len(e.Capabilities.Topics) != 2 {
		t.Errorf("got %+v", e)
	}
	if _, ok := d.Lookup("ghost"); !ok { // a hidden agent is found by its id
		t.Error("a hidden agent cannot be looked up")
	}
	if _, ok := d.Lookup("nobody"); ok {
		t.Error("found nobody")
	}
}
