package namespace_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/namespace"
)

// unionOf returns the combined capabilities of all visible agents but one, computed anew.
func unionOf(system *actors.System, except performatives.AgentID) performatives.Capabilities {
	all := performatives.Capabilities{Topics: []string{}, Actions: []performatives.Action{}}
	agents := slices.SortedFunc(system.Agents(), func(a, b *actors.Registration) int { return cmp.Compare(a.ID().Fold(), b.ID().Fold()) })
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

// worker is an agent that says what it can do.
type worker performatives.Capabilities

// Describe returns the capabilities.
func (w worker) Describe() performatives.Capabilities { return performatives.Capabilities(w) }

// The union of capabilities that a node keeps is that which is computed anew, after each change,
// for each agent that asks.
func TestCatalog(t *testing.T) {
	ids := []performatives.AgentID{"a", "B", "b2", "crm", "crm/x", "crm-y", "z"}
	t.Run("few agents", func(t *testing.T) { checkCatalog(t, ids, 0) })
	t.Run("many agents", func(t *testing.T) { checkCatalog(t, ids, 25) })
}

// checkCatalog checks a catalog while agents with these ids come and go. Between each two of them,
// that many others stay.
func checkCatalog(t *testing.T, ids []performatives.AgentID, others int) {
	names := rapid.SliceOfN(rapid.SampledFrom([]string{"one", "One", "two <b>", "two_<b>", "three", "four"}), 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		var catalog *namespace.Catalog
		system, err := actors.NewSystem(actors.Options{Node: "n", OnList: func(id performatives.AgentID) { catalog.Changed(id) }})
		if err != nil {
			t.Fatal(err)
		}
		defer system.Stop(context.Background()) //nolint:errcheck // nothing runs that could take time
		catalog = namespace.New(system, func([]performatives.AgentID) {})
		capabilities := func() (c performatives.Capabilities) {
			c.Topics = names.Draw(t, "topics")
			for _, name := range names.Draw(t, "actions") {
				c.Actions = append(c.Actions, performatives.Action{Name: name, Description: name, InputSchema: json.RawMessage(`{ }`)})
			}
			return c
		}
		remote := make(map[performatives.AgentID]*actors.Registration)
		id := rapid.SampledFrom(ids)
		for _, id := range ids {
			for i := range others {
				r, err := system.Register(performatives.AgentID(fmt.Sprintf("%s/%d", id, i)), nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Announce(performatives.Capabilities{Topics: []string{string(r.ID())}})
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"spawn": func(t *rapid.T) {
				w := worker(capabilities())
				_, _ = system.Spawn(t.Context(), actors.Spec{ID: id.Draw(t, "id"), New: func() actors.Agent { return w }}) // the error is that it exists
			},
			"stop": func(t *rapid.T) { _ = system.StopAgent(t.Context(), id.Draw(t, "id")) },
			"register": func(t *rapid.T) {
				of := id.Draw(t, "id")
				if r, err := system.Register(of, nil); err == nil {
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
				if r, ok := system.Find(id.Draw(t, "id")); ok {
					r.Announce(capabilities())
				}
			},
			"": func(t *rapid.T) {
				except := id.Draw(t, "asker")
				all := unionOf(system, except)
				want, err := json.Marshal(performatives.InformCapabilities{Capabilities: &all})
				if err != nil {
					t.Fatal(err)
				}
				if got := catalog.Summary(except); string(got) != string(want) {
					t.Fatalf("for %s:\n%s\nwant\n%s", except, got, want)
				}
				all = namespace.Union(catalog.Members(""), func(a *namespace.Agent) bool { return !a.Is(except) }, false)
				if got, _ := json.Marshal(performatives.InformCapabilities{Capabilities: &all}); string(got) != string(want) {
					t.Fatalf("union for %s:\n%s\nwant\n%s", except, got, want)
				}
				within := id.Draw(t, "namespace")
				var members, got []performatives.AgentID
				for a := range system.Agents() {
					if key := a.ID().Fold(); namespace.Within(string(within.Fold()), string(key)) {
						members = append(members, key)
					}
				}
				for _, a := range catalog.Members(within) {
					got = append(got, a.ID().Fold())
				}
				if slices.Sort(members); !slices.Equal(got, members) {
					t.Fatalf("members of %s: %s, want %s", within, got, members)
				}
			},
		})
	})
}

// An action that no message can have is not in the text for a peer, which has all others.
func TestUnwritableAction(t *testing.T) {
	system, err := actors.NewSystem(actors.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = system.Stop(context.WithoutCancel(t.Context())) }() // the error is the end of ctx
	schema := func(levels int) json.RawMessage {
		return json.RawMessage(`{"a":` + strings.Repeat("[", levels) + strings.Repeat("]", levels) + `}`)
	}
	of := worker{Actions: []performatives.Action{
		{Name: "deep", InputSchema: schema(89)},
		{Name: "no UTF-8", InputSchema: json.RawMessage("{\"a\":\"\xff\"}")},
		{Name: "no JSON", InputSchema: json.RawMessage(`{"a":}`)},
		{Name: "less deep", InputSchema: schema(88)},
	}}
	if _, err := system.Spawn(t.Context(), actors.Spec{ID: "w", New: func() actors.Agent { return of }}); err != nil {
		t.Fatal(err)
	}
	var all struct{ Capabilities performatives.Capabilities }
	if err := json.Unmarshal(namespace.New(system, nil).Summary(""), &all); err != nil {
		t.Fatal(err)
	}
	if got := all.Capabilities.Actions; len(got) != 1 || got[0].Name != "less deep" {
		t.Errorf("actions %v", got)
	}
}
