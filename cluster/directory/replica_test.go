package directory_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/cluster/directory"
	"github.com/ribosome-agents/ribosome/performatives"
)

func node(name string, epoch uint64) cluster.Incarnation {
	return cluster.Incarnation{Name: name, Epoch: epoch}
}

func agent(id performatives.AgentID, since uint64) directory.Entry {
	return directory.Entry{Agent: id, Since: since}
}

func receive(t *testing.T, r *directory.Replica, delta []byte) []performatives.AgentID {
	t.Helper()
	changed, err := r.Receive(delta)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

func merge(t *testing.T, r, from *directory.Replica) []performatives.AgentID {
	t.Helper()
	changed, err := r.Merge(from.State())
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

func TestDeltasInAnyOrder(t *testing.T) {
	a, b := directory.New(node("a", 1)), directory.New(node("b", 1))
	put, removed := a.Put(agent("Jules", 1), []byte(`{}`)), a.Remove("jules")
	if changed := receive(t, b, removed); changed != nil {
		t.Errorf("the removal of an unknown agent changes %v", changed)
	}
	if changed := receive(t, b, put); changed != nil || len(b.Lookup("Jules")) != 0 {
		t.Errorf("a late delta brings a removed agent back: %v", changed)
	}
	again := a.Put(agent("JULES", 2), nil)
	if changed := receive(t, b, again); !slices.Equal(changed, []performatives.AgentID{"jules"}) {
		t.Errorf("changed is %v", changed)
	}
	want := []directory.Entry{{Agent: "JULES", Owner: node("a", 1), Since: 2}}
	if diff := cmp.Diff(want, b.Lookup("jules")); diff != "" {
		t.Error(diff)
	}
	for _, late := range [][]byte{put, removed, again} {
		if changed := receive(t, b, late); changed != nil {
			t.Errorf("a repeated delta changes %v", changed)
		}
	}
	if a.Put(agent("JULES", 2), nil) != nil || a.Remove("Eddy") != nil {
		t.Error("a delta without a change")
	}
}

// A state that is complete tells of removals by what it does not have.
func TestStateTellsOfRemovals(t *testing.T) {
	a, b := directory.New(node("a", 1)), directory.New(node("b", 1))
	a.Put(agent("Jules", 1), []byte("text"))
	merge(t, b, a)
	late := a.Put(agent("Eddy", 1), nil)
	a.Remove("Jules")
	a.Remove("Eddy")
	if changed := merge(t, b, a); !slices.Equal(changed, []performatives.AgentID{"jules"}) || b.Len() != 0 || len(b.Missing(true, linked)) != 0 {
		t.Errorf("changed is %v, %d entries are left, missing is %v", changed, b.Len(), b.Missing(true, linked))
	}
	if changed := receive(t, b, late); changed != nil {
		t.Errorf("an agent that the state had removed is back: %v", changed)
	}
}

func TestIncarnations(t *testing.T) {
	old, b := directory.New(node("a", 1)), directory.New(node("b", 1))
	late := old.Put(agent("Jules", 1), nil)
	receive(t, b, late)
	restarted := directory.New(node("a", 2))
	if changed := receive(t, b, restarted.Put(agent("Eddy", 1), nil)); !slices.Equal(changed, []performatives.AgentID{"eddy", "jules"}) {
		t.Errorf("changed is %v", changed)
	}
	if changed := receive(t, b, late); changed != nil || b.Len() != 1 {
		t.Errorf("the earlier incarnation is back: %v", changed)
	}
	if changed := b.Gone(node("a", 1)); changed != nil {
		t.Errorf("the end of an earlier incarnation removes %v", changed)
	}
	if changed := b.Gone(node("a", 2)); !slices.Equal(changed, []performatives.AgentID{"eddy"}) || b.Len() != 0 {
		t.Errorf("changed is %v", changed)
	}
	if changed := merge(t, b, restarted); changed != nil {
		t.Errorf("late news of a node that has gone changes %v", changed)
	}
	b.Joined(node("a", 2)) // after a partition
	if changed := merge(t, b, restarted); !slices.Equal(changed, []performatives.AgentID{"eddy"}) {
		t.Errorf("changed is %v", changed)
	}
	if b.RunsAgain(node("a", 2)) || !b.RunsAgain(node("a", 1)) || b.RunsAgain(node("a", 3)) || b.RunsAgain(node("c", 1)) {
		t.Error("another run than the second is the latest one of a")
	}
	if got := b.Of(node("a", 2)); !slices.Equal(got, []performatives.AgentID{"eddy"}) || b.Of(node("a", 1)) != nil {
		t.Errorf("a has %v", got)
	}
	if changed := b.Gone(node("b", 1)); changed != nil {
		t.Errorf("a node that is told of its own end removes %v", changed)
	}
}

// A node that has lost its memory and its clock takes the numbers behind those that others know.
func TestForgottenNumbers(t *testing.T) {
	before, b := directory.New(node("a", 1)), directory.New(node("b", 1))
	for i := range uint64(5) {
		before.Put(agent(performatives.AgentID(fmt.Sprint("x", i)), i), nil)
	}
	merge(t, b, before)
	a := directory.New(node("a", 1))
	a.Put(agent("Jules", 1), nil)
	merge(t, b, a) // nothing new, it seems
	b.Joined(node("a", 1))
	merge(t, a, b)
	merge(t, b, a)
	if got := b.Of(node("a", 1)); !slices.Equal(got, []performatives.AgentID{"jules"}) {
		t.Errorf("a has %v", got)
	}
	a.Rename(node("a", 7))
	merge(t, b, a)
	if got := b.Lookup("jules"); len(got) != 1 || got[0].Owner != node("a", 7) {
		t.Errorf("found %v", got)
	}
}

// What is known of a node that has not joined, or has gone, is not passed on.
func TestStrangersAreNotPassedOn(t *testing.T) {
	a, b := directory.New(node("a", 2)), directory.New(node("b", 1))
	a.Put(agent("Jules", 1), nil)
	merge(t, b, a)
	knows := func() bool {
		c := directory.New(node("c", 1))
		merge(t, c, b)
		return len(c.Lookup("Jules")) > 0
	}
	if got := b.Lookup("Jules"); len(got) != 1 {
		t.Errorf("found %v before the node has joined", got)
	}
	if b.Joined(node("a", 1)); knows() {
		t.Error("the agents of a node are passed on, and another run of it has joined")
	}
	if b.Joined(node("a", 2)); !knows() {
		t.Error("the agents of a member are not passed on")
	}
	if b.Gone(node("a", 1)); !knows() {
		t.Error("the agents of a member are not passed on after the end of its earlier run")
	}
	b.Gone(node("a", 2))
	merge(t, b, a)
	if knows() {
		t.Error("the agents of a node that has gone are passed on")
	}
}

func TestStrangersAreBounded(t *testing.T) {
	b := directory.New(node("b", 1))
	b.Joined(node("a", 1))
	known := []*directory.Replica{directory.New(node("a", 1))}
	for i := range 1000 {
		known = append(known, directory.New(node(fmt.Sprint("stranger ", i), 1)))
	}
	dropped := 0
	for i, of := range known {
		of.Put(agent(performatives.AgentID(fmt.Sprint("x", i)), 1), nil)
		dropped += len(merge(t, b, of)) - 1
	}
	if b.Len() > 100 || b.Len()+dropped != len(known) || len(b.Lookup("x0")) != 1 {
		t.Errorf("%d entries are known, %d were dropped, and of the member %d", b.Len(), dropped, len(b.Lookup("x0")))
	}
}

// A node is named once as a stranger, and is forgotten only if it has not joined since.
func TestStrangersAreForgotten(t *testing.T) {
	b := directory.New(node("b", 1))
	b.Joined(node("member", 1))
	for _, of := range []cluster.Incarnation{node("member", 1), node("joins", 1), node("dies", 1), node("member", 2)} {
		a := directory.New(of)
		a.Put(agent(performatives.AgentID(fmt.Sprint("of ", of)), 1), nil)
		merge(t, b, a)
		merge(t, b, a)
	}
	if got, want := b.Strangers(), []cluster.Incarnation{node("joins", 1), node("dies", 1), node("member", 2)}; !slices.Equal(got, want) {
		t.Errorf("strangers: %v, want %v", got, want)
	}
	if again := b.Strangers(); len(again) > 0 {
		t.Errorf("strangers again: %v", again)
	}
	b.Joined(node("joins", 1))
	for _, of := range []cluster.Incarnation{node("b", 1), node("joins", 1), node("dies", 2), node("member", 1)} {
		if forgotten := b.Forget(of); len(forgotten) > 0 {
			t.Errorf("of %v it forgets %v", of, forgotten)
		}
	}
	if forgotten := b.Forget(node("dies", 1)); len(forgotten) != 1 {
		t.Errorf("of the stranger it forgets %v", forgotten)
	}
	if b.Len() != 2 {
		t.Errorf("%d entries are left", b.Len())
	}
}

// The same entry is in force on each node, whichever it has heard of first.
func TestOrderOfEntries(t *testing.T) {
	for name, c := range map[string]struct {
		entries map[string]directory.Entry // by node
		first   string
	}{
		"the earlier":            {map[string]directory.Entry{"a": agent("X", 2), "b": agent("x", 1)}, "b"},
		"the smaller name":       {map[string]directory.Entry{"a": agent("X", 1), "b": agent("x", 1)}, "a"},
		"a session's, the later": {map[string]directory.Entry{"a": {Agent: "X", Since: 1, Moves: true}, "b": {Agent: "X", Since: 2, Moves: true}}, "b"},
		"a session's, the authenticated": {map[string]directory.Entry{
			"a": {Agent: "X", Since: 1, Moves: true, Principal: directory.Digest{1}}, "b": {Agent: "X", Since: 2, Moves: true},
		}, "a"},
		"of two principals, always that of one": {map[string]directory.Entry{
			"a": {Agent: "X", Since: 1, Moves: true, Principal: directory.Digest{2}}, "b": {Agent: "X", Since: 2, Moves: true, Principal: directory.Digest{1}},
		}, "a"},
		"of one principal, the later": {map[string]directory.Entry{
			"a": {Agent: "X", Since: 1, Moves: true, Principal: directory.Digest{2}}, "b": {Agent: "X", Since: 2, Moves: true, Principal: directory.Digest{2}},
		}, "b"},
		"of activations, the earlier": {map[string]directory.Entry{
			"a": {Agent: "X", Since: 2, Placed: true, First: 2}, "b": {Agent: "X", Since: 3, Placed: true, First: 1},
		}, "b"},
		"of those that continue one, the later": {map[string]directory.Entry{
			"a": {Agent: "X", Since: 1, Placed: true}, "b": {Agent: "X", Since: 3, Placed: true, First: 1},
		}, "b"},
		"an agent before a session's": {map[string]directory.Entry{
			"a": {Agent: "X", Since: 1, Moves: true}, "b": {Agent: "X", Since: 2},
		}, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := directory.New(node("a", 1)), directory.New(node("b", 1))
			fromA, fromB := a.Put(c.entries["a"], nil), b.Put(c.entries["b"], nil)
			receive(t, a, fromB)
			receive(t, b, fromA)
			if diff := cmp.Diff(a.Lookup("x"), b.Lookup("x")); diff != "" {
				t.Errorf("(-a +b):\n%s", diff)
			}
			if got := a.Lookup("X"); len(got) != 2 || got[0].Owner.Name != c.first {
				t.Errorf("found %v, want %s first", got, c.first)
			}
		})
	}
}

// Whatever two entries are, one is before the other, and so in each order.
func TestCompareIsAnOrder(t *testing.T) {
	entry := rapid.Custom(func(t *rapid.T) directory.Entry {
		return directory.Entry{
			Owner: node(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "node"), 1), Since: rapid.Uint64Range(1, 2).Draw(t, "since"),
			Moves: rapid.Bool().Draw(t, "moves"), Principal: directory.Digest{rapid.Byte().Draw(t, "principal")},
			Placed: rapid.Bool().Draw(t, "placed"), First: rapid.Uint64Range(0, 2).Draw(t, "first"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := entry.Draw(t, "a"), entry.Draw(t, "b"), entry.Draw(t, "c")
		if a.Compare(b) != -b.Compare(a) {
			t.Fatalf("%d one way, %d the other", a.Compare(b), b.Compare(a))
		}
		if a.Compare(b) < 0 && b.Compare(c) < 0 && a.Compare(c) >= 0 {
			t.Fatal("the first is before the second, that before the third, and not the first before the third")
		}
	})
}

func TestCapabilitiesAreFetchedOnce(t *testing.T) {
	a, b := directory.New(node("a", 1)), directory.New(node("b", 1))
	text := []byte(strings.Repeat("large ", 1000))
	a.Put(agent("X", 1), text)
	a.Put(agent("Y", 1), slices.Clone(text))
	merge(t, b, a)
	digest := directory.DigestOf(text)
	if diff := cmp.Diff([]directory.Want{{Digest: digest, From: node("a", 1)}}, b.Missing(true, linked)); diff != "" {
		t.Error(diff)
	}
	if _, ok := b.Content(digest); ok {
		t.Error("a text that nobody gave")
	}
	if got := b.Provide([]byte("another")); got != nil {
		t.Errorf("nobody waits for another text, but %v", got)
	}
	if got := b.Provide(text); !slices.Equal(got, []performatives.AgentID{"x", "y"}) || len(b.Missing(true, linked)) != 0 {
		t.Errorf("it was for %v, missing is %v", got, b.Missing(true, linked))
	}
	receive(t, b, a.Put(directory.Entry{Agent: "X", Since: 2}, slices.Clone(text))) // changed, with the same text
	receive(t, b, a.Remove("X"))
	if got, ok := b.Content(digest); !ok || string(got) != string(text) {
		t.Error("the text has gone, and an agent has it")
	}
	receive(t, b, a.Remove("Y"))
	if _, ok := b.Content(digest); ok || b.Provide(text) != nil {
		t.Error("the text is kept, and no agent has it")
	}
	if got := directory.DigestOf(nil); got != (directory.Digest{}) {
		t.Errorf("nothing has the digest %x", got)
	}
}

// The text of an agent of this node may be one that others wait for: they are told when it comes,
// and not only the agent that has brought it.
func TestTextOfAnOwnAgent(t *testing.T) {
	a, b := directory.New(node("a", 1)), directory.New(node("b", 1))
	a.Put(agent("X", 1), []byte("text"))
	merge(t, b, a)
	b.Put(agent("Y", 1), []byte("text"))
	if len(b.Missing(true, linked)) != 1 {
		t.Errorf("missing is %v, and X is not told of its text", b.Missing(true, linked))
	}
	if got := b.Provide([]byte("text")); !slices.Equal(got, []performatives.AgentID{"x"}) || len(b.Missing(true, linked)) != 0 {
		t.Errorf("it was for %v, missing is %v", got, b.Missing(true, linked))
	}
}

// linked is for a node with links to all others.
func linked(cluster.Incarnation) bool { return true }

// When a node does not give the text of capabilities, the others are asked that have it, one after
// the other. None is asked before it is time to ask again.
func TestTextOfManyNodes(t *testing.T) {
	for name, c := range map[string]struct {
		linked, want []string
	}{
		"links to all":  {[]string{"a", "c", "d"}, []string{"a", "c", "d", "a"}},
		"links to some": {[]string{"c", "d"}, []string{"c", "d", "c", "d"}},
		"no link":       {nil, nil},
	} {
		b := directory.New(node("b", 1))
		for _, name := range []string{"a", "c", "d"} {
			other := directory.New(node(name, 1))
			other.Put(agent("X", 1), []byte("text"))
			other.Put(agent(performatives.AgentID(name), 1), []byte("text"))
			merge(t, b, other)
		}
		linked := func(of cluster.Incarnation) bool { return slices.Contains(c.linked, of.Name) }
		var asked []string
		for n := range 4 {
			for _, want := range b.Missing(n > 0, linked) {
				asked = append(asked, want.From.Name)
			}
			if early := b.Missing(false, linked); len(early) > 0 {
				t.Errorf("%s: too early: %v", name, early)
			}
		}
		if diff := cmp.Diff(c.want, asked); diff != "" {
			t.Errorf("%s: asked (-want +got):\n%s", name, diff)
		}
	}
}

// After a burst one state of the node's own part is as good as all deltas.
func TestOwnState(t *testing.T) {
	a, b, c := directory.New(node("a", 1)), directory.New(node("b", 1)), directory.New(node("c", 1))
	receive(t, a, c.Put(agent("Eddy", 1), nil))
	a.Put(agent("Jules", 1), nil)
	a.Put(agent("Eliza", 1), nil)
	a.Remove("Jules")
	if changed := receive(t, b, a.OwnState()); !slices.Equal(changed, []performatives.AgentID{"eliza"}) {
		t.Errorf("changed is %v", changed)
	}
}

func TestMalformed(t *testing.T) {
	a := directory.New(node("a", 1))
	delta := a.Put(directory.Entry{Agent: "Jules", Since: 300, Hidden: true}, []byte("text"))
	state := a.State()
	b := directory.New(node("b", 1))
	for i := range delta {
		if _, err := b.Receive(delta[:i]); err == nil {
			t.Errorf("a delta of %d bytes of %d is accepted", i, len(delta))
		}
	}
	for i := range state {
		if _, err := b.Merge(state[:i]); err == nil && i != 1 { // a state of no node
			t.Errorf("a state of %d bytes of %d is accepted", i, len(state))
		}
	}
	for name, bad := range map[string][]byte{
		"version":  append([]byte{9}, delta[1:]...),
		"trailing": append(slices.Clone(delta), 0),
		"control":  []byte(strings.Replace(string(delta), "Jules", "Jul\x01s", 1)),
	} {
		if _, err := b.Receive(bad); err == nil || !strings.HasPrefix(err.Error(), "directory: ") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := b.Merge(append(slices.Clone(state), state[1:]...)); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("a node that is there twice: got %v", err)
	}
	if b.Len() != 0 {
		t.Error("malformed input has changed something")
	}
}

// encoded returns the bytes of values: a text and a record have their length before them, a number
// is a varint.
func encoded(values ...any) (out []byte) {
	for _, v := range values {
		switch v := v.(type) {
		case string:
			out = append(binary.AppendUvarint(out, uint64(len(v))), v...)
		case []byte:
			out = append(binary.AppendUvarint(out, uint64(len(v))), v...)
		case int:
			out = binary.AppendUvarint(out, uint64(v))
		}
	}
	return out
}

// Each field of a delta has its place and its bounds, as other versions know them.
func TestFieldsOfADelta(t *testing.T) {
	owner, digest := encoded("a", 7), directory.DigestOf([]byte("text"))
	name, id := strings.Repeat("n", 256), strings.Repeat("i", performatives.MaxIDLength)
	entry := func(change func(*directory.Entry)) directory.Entry {
		e := directory.Entry{Agent: "Jules", Owner: node("a", 7), Since: 3}
		change(&e)
		return e
	}
	for text, test := range map[string]struct {
		delta []byte
		want  directory.Entry
		err   string
	}{
		"least":              {delta: encoded(1, owner, encoded(1, 0, "Jules", 3)), want: entry(func(*directory.Entry) {})},
		"unknown fields":     {delta: encoded(1, encoded("a", 7, "x"), encoded(1, 0, "Jules", 3, "x")), want: entry(func(*directory.Entry) {})},
		"hidden":             {delta: encoded(1, owner, encoded(1, 2, "Jules", 3)), want: entry(func(e *directory.Entry) { e.Hidden = true })},
		"moves":              {delta: encoded(1, owner, encoded(1, 4, "Jules", 3)), want: entry(func(e *directory.Entry) { e.Moves = true })},
		"digest":             {delta: encoded(1, owner, append(encoded(1, 8, "Jules", 3), digest[:]...)), want: entry(func(e *directory.Entry) { e.Digest = digest })},
		"proved":             {delta: encoded(1, owner, encoded(1, 16, "Jules", 3)), want: entry(func(e *directory.Entry) { e.Principal = directory.Digest{0xff} })},
		"placed":             {delta: encoded(1, owner, encoded(1, 32, "Jules", 3)), want: entry(func(e *directory.Entry) { e.Placed = true })},
		"hosts":              {delta: encoded(1, owner, encoded(1, 64, "Jules", 3)), want: entry(func(e *directory.Entry) { e.Hosts = true })},
		"first":              {delta: encoded(1, owner, encoded(1, 128, "Jules", 3, 2)), want: entry(func(e *directory.Entry) { e.First = 2 })},
		"principal":          {delta: encoded(1, owner, append(encoded(1, 256|16, "Jules", 3), digest[:]...)), want: entry(func(e *directory.Entry) { e.Principal = digest })},
		"longest texts":      {delta: encoded(1, encoded(name, 7), encoded(1, 0, id, 3)), want: directory.Entry{Agent: performatives.AgentID(id), Owner: node(name, 7), Since: 3}},
		"largest number":     {delta: encoded(1, owner, encoded(1<<62, 0, "Jules", 3)), want: entry(func(*directory.Entry) {})},
		"too large a number": {delta: encoded(1, owner, encoded(1<<62+1, 0, "Jules", 3)), err: "a number is too large"},
		"no number":          {delta: encoded(1, owner, encoded(0, 0, "Jules", 3)), err: "the number of a change is zero"},
		"no epoch":           {delta: encoded(1, encoded("a", 0), encoded(1, 0, "Jules", 3)), err: "the epoch of a node is zero"},
		"no name":            {delta: encoded(1, encoded("", 7), encoded(1, 0, "Jules", 3)), err: "the name of a node is empty"},
		"no id":              {delta: encoded(1, owner, encoded(1, 0, "", 3)), err: "the id of an agent is empty"},
		"long name":          {delta: encoded(1, encoded(name+"n", 7), encoded(1, 0, "Jules", 3)), err: "the name of a node has 257 bytes, the limit is 256"},
		"long id":            {delta: encoded(1, owner, encoded(1, 0, id+"i", 3)), err: fmt.Sprintf("the id of an agent has %d bytes, the limit is %d", len(id)+1, len(id))},
		"no UTF-8":           {delta: encoded(1, owner, encoded(1, 0, "\xff", 3)), err: "the id of an agent must be UTF-8 without control characters"},
		"short digest":       {delta: encoded(1, owner, append(encoded(1, 8, "Jules", 3), digest[1:]...)), err: "it ends too early"},
		"form":               {delta: encoded(3, owner), err: "the form 3 of a delta is not known, want 1"},
		"trailing bytes":     {delta: encoded(1, owner, encoded(1, 0, "Jules", 3), 0), err: "bytes follow the change"},
		"empty":              {err: "it ends too early"},
	} {
		b := directory.New(node("b", 1))
		_, err := b.Receive(test.delta)
		if test.err != "" {
			if err == nil || err.Error() != "directory: "+test.err || b.Len() != 0 {
				t.Errorf("%s: got %v, and %d entries", text, err, b.Len())
			}
			continue
		}
		if diff := cmp.Diff([]directory.Entry{test.want}, b.Lookup(test.want.Agent)); diff != "" || err != nil {
			t.Errorf("%s: %v %s", text, err, diff)
		}
	}
}

// network is a number of nodes that gossip badly.
type network struct {
	replicas []*directory.Replica
	names    []string
	epochs   []uint64
	flying   [][]byte // deltas and, with a byte before them, states
	truth    []map[performatives.AgentID]directory.Entry
}

func (n *network) gossip(delta []byte) {
	if delta != nil {
		n.flying = append(n.flying, append([]byte{'d'}, delta...))
	}
}

// joinAll has a replica know of all nodes.
func (n *network) joinAll(r *directory.Replica) {
	for i, name := range n.names {
		r.Joined(node(name, n.epochs[i]))
	}
}

func (n *network) deliver(t *rapid.T, r *directory.Replica, data []byte) {
	receive := r.Receive
	if data[0] == 's' {
		receive = r.Merge
	}
	if _, err := receive(data[1:]); err != nil {
		t.Fatal(err)
	}
}

// A node that provides a text itself, while it is to be fetched for an agent of another, fetches it
// from there.
func TestOwnTextIsNotFetched(t *testing.T) {
	a, b := directory.New(node("a", 1)), directory.New(node("b", 1))
	a.Joined(node("b", 1))
	delta := b.Put(directory.Entry{Agent: "z"}, []byte("text"))
	if _, err := a.Receive(delta); err != nil {
		t.Fatal(err)
	}
	for _, id := range []performatives.AgentID{"x", "z"} {
		a.Put(directory.Entry{Agent: id}, []byte("text"))
	}
	want := []directory.Want{{Digest: directory.DigestOf([]byte("text")), From: node("b", 1)}}
	if got := a.Missing(true, linked); !cmp.Equal(got, want) {
		t.Errorf("missing are %v, want %v", got, want)
	}
}

// Whatever is lost, repeated and reordered, after one exchange of states among all, all replicas
// say what the owners say.
func TestConvergence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := &network{}
		for i := range rapid.IntRange(2, 4).Draw(t, "nodes") {
			n.names = append(n.names, string(rune('a'+i)))
			n.epochs = append(n.epochs, 1)
			n.replicas = append(n.replicas, directory.New(node(n.names[i], 1)))
			n.truth = append(n.truth, map[performatives.AgentID]directory.Entry{})
		}
		for _, r := range n.replicas {
			n.joinAll(r)
		}
		some := rapid.IntRange(0, len(n.names)-1)
		clock := uint64(0)
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				i := some.Draw(t, "node")
				clock++
				e := directory.Entry{
					Agent: performatives.AgentID(rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "agent")), Since: clock,
					Hidden: rapid.Bool().Draw(t, "hidden"), Moves: rapid.Bool().Draw(t, "moves"), Principal: directory.Digest{rapid.Byte().Draw(t, "principal")},
				}
				n.gossip(n.replicas[i].Put(e, []byte(rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "text"))))
				n.truth[i][e.Agent] = n.replicas[i].Lookup(e.Agent)[slices.IndexFunc(n.replicas[i].Lookup(e.Agent), func(e directory.Entry) bool {
					return e.Owner.Name == n.names[i]
				})]
			},
			"remove": func(t *rapid.T) {
				i := some.Draw(t, "node")
				id := performatives.AgentID(rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "agent"))
				n.gossip(n.replicas[i].Remove(id))
				delete(n.truth[i], id)
			},
			"deliver": func(t *rapid.T) {
				if len(n.flying) == 0 {
					t.Skip()
				}
				i := rapid.IntRange(0, len(n.flying)-1).Draw(t, "which")
				n.deliver(t, n.replicas[some.Draw(t, "node")], n.flying[i])
				if rapid.Bool().Draw(t, "last") {
					n.flying = slices.Delete(n.flying, i, i+1)
				}
			},
			"state": func(t *rapid.T) {
				n.flying = append(n.flying, append([]byte{'s'}, n.replicas[some.Draw(t, "node")].State()...))
			},
			"restart": func(t *rapid.T) {
				i := some.Draw(t, "node")
				n.epochs[i]++
				n.replicas[i] = directory.New(node(n.names[i], n.epochs[i]))
				n.joinAll(n.replicas[i])
				for _, r := range n.replicas {
					r.Joined(node(n.names[i], n.epochs[i]))
				}
				clear(n.truth[i])
			},
			"gone": func(t *rapid.T) { // and back: a partition
				i, of := some.Draw(t, "node"), some.Draw(t, "of")
				n.replicas[i].Gone(node(n.names[of], n.epochs[of]))
				n.replicas[i].Joined(node(n.names[of], n.epochs[of]))
			},
		})
		for range 2 { // the second time, states have what others have told
			for i := range n.replicas {
				for j := range n.replicas {
					n.deliver(t, n.replicas[i], append([]byte{'s'}, n.replicas[j].State()...))
				}
			}
		}
		for i, r := range n.replicas {
			entries := 0
			for _, truth := range n.truth {
				entries += len(truth)
			}
			if r.Len() != entries {
				t.Fatalf("%s has %d entries, want %d", n.names[i], r.Len(), entries)
			}
			for j, truth := range n.truth {
				for id, want := range truth {
					if !slices.Contains(r.Lookup(id), want) {
						t.Fatalf("%s does not have %v of %s: %v", n.names[i], want, n.names[j], r.Lookup(id))
					}
				}
			}
			for _, w := range r.Missing(true, linked) {
				if w.From.Name == n.names[i] {
					t.Fatalf("%s wants its own text", n.names[i])
				}
			}
			if string(r.State()) != string(n.replicas[0].State()) {
				t.Fatalf("the states of %s and %s differ", n.names[i], n.names[0])
			}
		}
	})
}

// Whatever the order in which the deltas of a node come, and however often: they tell what its state
// tells, and leave nothing else behind.
func TestDeltasAreAsGoodAsAState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, byDeltas, byState := directory.New(node("a", 1)), directory.New(node("b", 1)), directory.New(node("b", 1))
		var deltas [][]byte
		for range rapid.IntRange(1, 8).Draw(t, "changes") {
			id := performatives.AgentID(rapid.SampledFrom([]string{"x", "X", "y"}).Draw(t, "agent"))
			if rapid.Bool().Draw(t, "remove") {
				deltas = append(deltas, a.Remove(id))
				continue
			}
			text := rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "text")
			deltas = append(deltas, a.Put(agent(id, rapid.Uint64Range(1, 2).Draw(t, "since")), []byte(text)))
		}
		deltas = slices.DeleteFunc(deltas, func(delta []byte) bool { return delta == nil })
		for _, delta := range rapid.Permutation(slices.Concat(deltas, deltas)).Draw(t, "order") {
			if _, err := byDeltas.Receive(delta); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := byState.Merge(a.State()); err != nil {
			t.Fatal(err)
		}
		for _, r := range []*directory.Replica{byDeltas, byState} {
			r.Joined(node("a", 1))
			if diff := cmp.Diff(byState.Missing(true, linked), r.Missing(true, linked)); diff != "" || r.Len() != a.Len() {
				t.Fatalf("%d entries, want %d, missing: %s", r.Len(), a.Len(), diff)
			}
		}
		if len(deltas) > 0 && string(byDeltas.State()) != string(byState.State()) {
			t.Fatalf("by deltas the state is %q, by a state it is %q", byDeltas.State(), byState.State())
		}
	})
}

// FuzzMerge: no input makes a replica panic or changes its own entries.
func FuzzMerge(f *testing.F) {
	a := directory.New(node("a", 1))
	f.Add(a.Put(directory.Entry{Agent: "Jules", Since: 300, Hidden: true}, []byte("text")))
	f.Add(a.Remove("Jules"))
	a.Put(directory.Entry{Agent: "Eddy", Moves: true}, nil)
	f.Add(a.State())
	f.Fuzz(func(t *testing.T, in []byte) {
		b := directory.New(node("b", 1))
		b.Put(agent("Jules", 1), []byte("own"))
		own := b.Lookup("Jules")[0]
		_, _ = b.Receive(in)
		_, _ = b.Merge(in)
		if !slices.Contains(b.Lookup("Jules"), own) {
			t.Error("its own entry has gone")
		}
		c := directory.New(node("c", 1))
		if _, err := c.Merge(b.State()); err != nil {
			t.Errorf("what it has taken in, it cannot send: %v", err)
		}
		b.Missing(true, linked)
		b.Gone(node("a", 1))
	})
}
