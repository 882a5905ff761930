package actors

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
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

// record returns the entry of the conversation.
func (s *side) record() *entry { return &entry{key: s.key, conversation: s} }

// folded returns the key by which conversations are compared.
func folded(k Key) Key {
	k.Peer = k.Peer.Fold()
	return k
}

// The index has the same conversations as a map by their keys, whatever is added and removed, and
// finds them by their id and by their peer, and under no alias.
func TestConversations(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	id := func() performatives.ConversationID { return performatives.ConversationID(fmt.Sprint(random.IntN(3))) }
	key := func() Key {
		return Key{id(), performatives.AgentID([]string{"a", "A", "b", "é", "É"}[random.IntN(5)]), random.IntN(2) == 0}
	}
	check := func(cs *conversations, model map[Key]Conversation, what string) {
		if got := cs.list(); !sameConversations(got, slices.Collect(maps.Values(model))) {
			t.Fatalf("%s: the index has %v, want %v", what, got, model)
		}
		for _, id := range []performatives.ConversationID{"0", "1", "2", "none"} {
			var want []Conversation
			for k, c := range model {
				if k.ID == id {
					want = append(want, c)
				}
			}
			if got := cs.with(id); !sameConversations(got, want) {
				t.Fatalf("%s: with the id %s it has %v, want %v", what, id, got, want)
			}
		}
		for _, peer := range []performatives.AgentID{"a", "B", "É", "none"} {
			found := false
			for k := range model {
				found = found || k.Peer == peer.Fold()
			}
			if got := cs.hasPeer(map[performatives.AgentID]bool{peer.Fold(): true}); got != found {
				t.Fatalf("%s: it has the peer %s: %v in %v", what, peer, got, model)
			}
			k := folded(Key{ID: "1", Peer: peer})
			asked := model[k] != nil
			k.Initiator = true
			if got := cs.has("1", peer); got != (asked || model[k] != nil) {
				t.Fatalf("%s: it has a conversation 1 with %s: %v in %v", what, peer, got, model)
			}
		}
	}
	for range 100 {
		var cs conversations
		model := map[Key]Conversation{}
		for range 40 {
			what, k := "remove", key()
			switch random.IntN(5) {
			case 0:
				what = "alias"
				if ref := id(); model[folded(k)] != nil && cs.find(Key{ref, k.Peer, k.Initiator}) == nil {
					cs.addAlias(k, ref)
				}
			case 1, 2:
				what = "add"
				if c := (&side{key: k}); cs.find(k) == nil {
					cs.add(c.record())
					model[folded(k)] = c
				}
			default:
				if c := model[folded(k)]; c != nil {
					if e := cs.remove(k); e == nil || e.conversation != c {
						t.Fatalf("removed %v of %v", e, model)
					}
					delete(model, folded(k))
				}
			}
			check(&cs, model, what)
		}
		for k := range model {
			cs.remove(k)
		}
		if len(cs.byID) > 0 {
			t.Fatalf("empty entries are kept: %v", cs.byID)
		}
		cs.add((&side{key: key()}).record())
		cs.clear()
		check(&cs, nil, "clear")
	}
}

// Other goroutines read the index while the agent's actor changes it.
func TestConversationsAreReadMeanwhile(t *testing.T) {
	var cs conversations
	var read atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; !read.Load(); i++ {
			e := (&side{key: Key{ID: "c", Peer: "b", Initiator: i%2 == 0}}).record()
			cs.add(e)
			cs.addAlias(e.key, "alias")
			cs.remove(e.key)
			cs.clear()
		}
	}()
	for range 1000 {
		has := cs.has("c", "b")
		cs.hasPeer(map[performatives.AgentID]bool{"b": has})
		for _, c := range slices.Concat(cs.list(), cs.with("c")) {
			if c.Key().ID != "c" {
				t.Errorf("it has %v", c.Key())
			}
		}
	}
	read.Store(true)
	<-done
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
func TestConversationsAllocateNothing(t *testing.T) {
	var cs conversations
	asking, asked := (&side{key: Key{"1", "Eddy", true}}).record(), (&side{key: Key{"1", "Eddy", false}}).record()
	peers := map[performatives.AgentID]bool{"jules": true}
	if allocs := testing.AllocsPerRun(100, func() {
		cs.add(asking)
		cs.add(asked)
		if cs.hasPeer(peers) || cs.has("1", "jules") {
			t.Error("it has a peer that it has not")
		}
		cs.remove(asking.key)
		cs.add(asking)
		cs.remove(asked.key)
		cs.remove(asking.key)
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

// BenchmarkConversations adds a conversation to the index of an agent that has 100 open ones, and
// removes it.
func BenchmarkConversations(b *testing.B) {
	var cs conversations
	for i := range 100 {
		cs.add((&side{key: Key{ID: performatives.ConversationID(fmt.Sprint("conversation-", i)), Peer: "worker-of-tasks"}}).record())
	}
	e := (&side{key: Key{ID: "conversation-100", Peer: "worker-of-tasks"}}).record()
	b.ReportAllocs()
	for b.Loop() {
		cs.add(e)
		cs.remove(e.key)
	}
}
