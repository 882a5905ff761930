package api_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/observe"
	"github.com/ribosome-agents/ribosome/runtime/observe/api"
)

type treeAnswer struct {
	missing
	Root          string         `json:"root"`
	Conversations []conversation `json:"conversations"`
	Truncated     bool           `json:"truncated"`
}

// check checks that each conversation is behind its parent, and is there once.
func (v treeAnswer) check(t *testing.T, want int) {
	t.Helper()
	seen := map[string]bool{}
	for _, c := range v.Conversations {
		if seen[c.ID] || c.ID != v.Root && !seen[c.Parent] {
			t.Errorf("%s is there twice, or before its parent %s", c.ID, c.Parent)
		}
		seen[c.ID] = true
	}
	if len(seen) != want {
		t.Errorf("the tree has %d conversations, want %d", len(seen), want)
	}
}

// One request has the whole tree, however deep it is and at which node its parts are. A part is
// found through others in both directions.
func TestTreeOfTwoNodes(t *testing.T) {
	c := newTown(t, nil)
	const deep = 60
	for i := range deep { // three at each node in turn, and no conversation at both
		parent := ""
		if i > 0 {
			parent = fmt.Sprint("c", i-1)
		}
		say(t, c.nodes[i/3%2], fmt.Sprint("m", i), fmt.Sprint("c", i), parent)
		say(t, c.nodes[i%2], fmt.Sprint("l", i), fmt.Sprint("leaf", i), fmt.Sprint("c", i))
	}
	say(t, c.nodes[1], "other", "other", "")
	for _, id := range []string{"c0", "c31", "c59", "leaf7", "leaf30"} {
		v := view[treeAnswer](c, "/api/conversations/"+id+"/tree")
		v.check(t, 2*deep)
		if v.Root != "c0" || v.Truncated || len(v.Missing) > 0 {
			t.Errorf("%s: the root is %s, truncated: %v, missing: %v", id, v.Root, v.Truncated, v.Missing)
		}
	}
	if v := view[treeAnswer](c, "/api/conversations/other/tree"); len(v.Conversations) != 1 || v.Conversations[0].ID != "other" {
		t.Errorf("the tree is %+v", v)
	}
	if code, text := c.ask("GET", "/api/conversations/none/tree", ""); code != http.StatusNotFound {
		t.Errorf("%d %s", code, text)
	}
}

// A tree that is longer than the limit says so, and has the conversation that was asked for.
func TestTruncatedTree(t *testing.T) {
	n, h, _ := serve(t, func(o *api.Options) {
		r, err := observe.New(o.Node, observe.Options{Conversations: 5000, Bytes: 1 << 30})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.Close)
		o.Recorder = r
	})
	for i := range 1200 {
		parent := ""
		if i > 0 {
			parent = fmt.Sprint("c", i-1)
		}
		say(t, n, fmt.Sprint("m", i), fmt.Sprint("c", i), parent)
	}
	for id, root := range map[string]string{"c0": "c0", "c999": "c0", "c1199": "c200", "c1100": "c101"} {
		v := read[treeAnswer](t, h, "/api/conversations/"+id+"/tree")
		if v.check(t, 1000); !v.Truncated || v.Root != root {
			t.Errorf("%s: the root is %s, truncated: %v", id, v.Root, v.Truncated)
		}
	}
	say(t, n, "top", "top", "")
	for i := range 999 {
		say(t, n, fmt.Sprint("b", i), fmt.Sprint("b", i), "top")
	}
	if v := read[treeAnswer](t, h, "/api/conversations/b5/tree"); v.Truncated || len(v.Conversations) != 1000 {
		t.Errorf("a tree of the limit has %d, truncated: %v", len(v.Conversations), v.Truncated)
	}
}

// A node is asked a bounded number of times, also if each answer has further conversations.
func TestTreeWithoutAnEnd(t *testing.T) {
	asked := 0
	_, h, _ := among(t, fakeNodes{"n2": func(w http.ResponseWriter, r *http.Request) {
		asked++
		id := func(i int) performatives.ConversationID { return performatives.ConversationID(fmt.Sprint("c", i)) }
		one := observe.Conversation{ID: id(asked), Parent: id(asked + 1), Began: at(1), Updated: at(1), Sides: []observe.Side{}}
		shows(t, map[string]any{"conversations": []observe.Conversation{one}})(w, r)
	}})
	v := read[treeAnswer](t, h, "/api/conversations/c1/tree")
	if asked != 16 || !v.Truncated || len(v.Conversations) != 16 {
		t.Errorf("asked %d times, %d conversations, truncated: %v", asked, len(v.Conversations), v.Truncated)
	}
}
