package actors

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
)

// side is a conversation that has nothing but its key.
type side struct {
	key   Key
	actor ConversationActor
}

func (s *side) Key() Key                  { return s.key }
func (s *side) Actor() *ConversationActor { return &s.actor }
func (*side) Start()                      {}
func (*side) Receive(any)                 {}
func (*side) Stop()                       {}

// The set has the same conversations as a map by their keys, whatever is added, replaced and
// removed, and finds them by their id and by their peer.
func TestOpenSet(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	key := func() Key {
		return Key{performatives.ConversationID(fmt.Sprint(random.IntN(3))), performatives.AgentID([]string{"a", "A", "b", "é", "É"}[random.IntN(5)]), random.IntN(2) == 0}
	}
	check := func(o *openSet, model map[Key]Conversation, what string) {
		if got := o.list(); !sameConversations(got, slices.Collect(maps.Values(model))) {
			t.Fatalf("%s: the set has %v, want %v", what, got, model)
		}
		for _, id := range []performatives.ConversationID{"0", "1", "2", "none"} {
			var want []Conversation
			for k, c := range model {
				if k.ID == id {
					want = append(want, c)
				}
			}
			if got := o.with(id); !sameConversations(got, want) {
				t.Fatalf("%s: with the id %s it has %v, want %v", what, id, got, want)
			}
		}
		for _, peer := range []performatives.AgentID{"a", "B", "É", "none"} {
			found := false
			for k := range model {
				found = found || k.Peer == peer.Fold()
			}
			if got := o.hasPeer(map[performatives.AgentID]bool{peer.Fold(): true}); got != found {
				t.Fatalf("%s: it has the peer %s: %v in %v", what, peer, got, model)
			}
			k := Key{ID: "1", Peer: peer}.folded()
			asked := model[k] != nil
			k.Initiator = true
			if got := o.has("1", peer); got != (asked || model[k] != nil) {
				t.Fatalf("%s: it has a conversation 1 with %s: %v in %v", what, peer, got, model)
			}
		}
	}
	for range 100 {
		var o openSet
		model, all := map[Key]Conversation{}, []*side{{}}
		for range 40 {
			what := "remove"
			if c := all[random.IntN(len(all))]; random.IntN(2) == 0 {
				o.remove(c)
				if model[c.key.folded()] == Conversation(c) {
					delete(model, c.key.folded())
				}
			} else {
				what = "add"
				c := &side{key: key()}
				all = append(all, c)
				o.add(c)
				model[c.key.folded()] = c
			}
			check(&o, model, what)
		}
		for _, c := range all {
			o.remove(c)
		}
		if len(o.all) > 0 {
			t.Fatalf("empty entries are kept: %v", o.all)
		}
		o.add(all[0])
		o.clear()
		check(&o, nil, "clear")
	}
}

// sameConversations reports whether both have the same conversations, in any order.
func sameConversations(a, b []Conversation) bool {
	byAddress := func(x, y Conversation) int { return strings.Compare(fmt.Sprintf("%p", x), fmt.Sprintf("%p", y)) }
	slices.SortFunc(a, byAddress)
	slices.SortFunc(b, byAddress)
	return slices.Equal(a, b)
}

// An agent that asks itself has two conversations with one id. Neither takes memory, and a search
// for a peer takes none, whatever the letters of the ids.
func TestOpenSetAllocatesNothing(t *testing.T) {
	var o openSet
	asking, asked := &side{key: Key{"1", "Eddy", true}}, &side{key: Key{"1", "Eddy", false}}
	peers := map[performatives.AgentID]bool{"jules": true}
	if allocs := testing.AllocsPerRun(100, func() {
		o.add(asking)
		o.add(asked)
		if o.hasPeer(peers) {
			t.Error("it has a peer that it has not")
		}
		o.remove(asking)
		o.add(asking)
		o.remove(asked)
		o.remove(asking)
	}); allocs != 0 {
		t.Errorf("it takes %v allocations", allocs)
	}
}

// Ids are compared as they are folded, also those that are longer than a valid one or have letters
// outside of ASCII.
func TestHasFolded(t *testing.T) {
	long := strings.Repeat("A", performatives.MaxIDLength+1)
	for _, id := range []performatives.AgentID{"", "a-1", "Jules", "ÉCOLE", "\u212a", performatives.AgentID(long), performatives.AgentID(long[1:])} {
		if !hasFolded(map[performatives.AgentID]bool{id.Fold(): true}, id) || hasFolded(map[performatives.AgentID]bool{id.Fold() + "-": true}, id) {
			t.Errorf("%q is not found, or where it is not", id)
		}
	}
}

// BenchmarkOpenSet adds a conversation to the set of an agent that has 100 open ones, and removes
// it.
func BenchmarkOpenSet(b *testing.B) {
	var o openSet
	for i := range 100 {
		o.add(&side{key: Key{ID: performatives.ConversationID(fmt.Sprint("conversation-", i)), Peer: "worker-of-tasks"}})
	}
	c := &side{key: Key{ID: "conversation-100", Peer: "worker-of-tasks"}}
	b.ReportAllocs()
	for b.Loop() {
		o.add(c)
		o.remove(c)
	}
}
