package runtime_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// unionOf returns the combined capabilities of all visible agents but one, computed anew.
func unionOf(n *runtime.Node, except performatives.AgentID) performatives.Capabilities {
	all := performatives.Capabilities{Topics: []string{}, Actions: []performatives.Action{}}
	agents := slices.SortedFunc(n.System().Agents(), func(a, b *actors.Registration) int { return cmp.Compare(a.ID().Fold(), b.ID().Fold()) })
	seen := make(map[string]bool)
	fresh := func(kind, name string) bool {
		key := kind + performatives.FoldCapability(name)
		was := seen[key]
		seen[key] = true
		return !was
	}
	for _, a := range agents {
		if a.ID().Is(except) {
			continue
		}
		c := a.Describe()
		for _, t := range c.Topics {
			if fresh("topic ", t) {
				all.Topics = append(all.Topics, t)
			}
		}
		for _, of := range c.Actions {
			if fresh("action ", of.Name) {
				of.Extra = performatives.Members{"agent": fmt.Appendf(nil, "%q", a.ID())}
				all.Actions = append(all.Actions, of)
			}
		}
	}
	return all
}

// The union of capabilities that a node keeps is that which is computed anew, after each change,
// for each agent that asks.
func TestCatalog(t *testing.T) {
	ids := []performatives.AgentID{"a", "B", "b2", "crm", "crm/x", "crm-y", "z"}
	names := rapid.SliceOfN(rapid.SampledFrom([]string{"one", "One", "two <b>", "two_<b>", "three", "four"}), 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		n, err := runtime.New(runtime.Options{Name: "n"})
		if err != nil {
			t.Fatal(err)
		}
		defer n.Stop(context.Background()) //nolint:errcheck // nothing runs that could take time
		capabilities := func() (c performatives.Capabilities) {
			c.Topics = names.Draw(t, "topics")
			for _, name := range names.Draw(t, "actions") {
				c.Actions = append(c.Actions, performatives.Action{Name: name, Description: name, InputSchema: json.RawMessage(`{ }`)})
			}
			return c
		}
		remote := make(map[performatives.AgentID]*actors.Registration)
		id := rapid.SampledFrom(ids)
		t.Repeat(map[string]func(*rapid.T){
			"spawn": func(t *rapid.T) {
				_ = n.Spawn(t.Context(), id.Draw(t, "id"), returning(actionWorker{actions: capabilities().Actions})) // the error is that it exists
			},
			"stop": func(t *rapid.T) { _ = n.StopAgent(t.Context(), id.Draw(t, "id")) },
			"register": func(t *rapid.T) {
				of := id.Draw(t, "id")
				if r, err := n.System().Register(of, nil); err == nil {
					remote[of] = r
				}
			},
			"replace": func(t *rapid.T) {
				of := id.Draw(t, "id")
				if r := remote[of]; r != nil {
					if by, ok := r.Replace(of, nil); ok {
						remote[of] = by
					}
				}
			},
			"remove": func(t *rapid.T) {
				of := id.Draw(t, "id")
				if r := remote[of]; r != nil {
					r.Remove()
					delete(remote, of)
				}
			},
			"announce": func(t *rapid.T) {
				if r, ok := n.System().Find(id.Draw(t, "id")); ok {
					r.Announce(capabilities())
				}
			},
			"": func(t *rapid.T) {
				except := id.Draw(t, "asker")
				all := unionOf(n, except)
				want, err := json.Marshal(performatives.InformCapabilities{Capabilities: &all})
				if err != nil {
					t.Fatal(err)
				}
				if got := n.Summary(except); string(got) != string(want) {
					t.Fatalf("for %s:\n%s\nwant\n%s", except, got, want)
				}
				all = n.Union(except)
				if got, _ := json.Marshal(performatives.InformCapabilities{Capabilities: &all}); string(got) != string(want) {
					t.Fatalf("union for %s:\n%s\nwant\n%s", except, got, want)
				}
			},
		})
	})
}
