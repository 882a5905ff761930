package actors

import "testing"

// The index finds the other conversations of an id after the removal of one, in any order.
func TestConversationsOfOneID(t *testing.T) {
	keys := []Key{{ID: "c", Peer: "x"}, {ID: "c", Peer: "y"}, {ID: "c", Peer: "x", Initiator: true}}
	for removed := range keys {
		cs := new(conversations)
		for _, k := range keys {
			cs.add(&entry{key: k})
		}
		if e := cs.remove(keys[removed]); e == nil || e.key != keys[removed] {
			t.Fatalf("removed %v, want %v", e, keys[removed])
		}
		for i, k := range keys {
			if e := cs.find(k); (e != nil) != (i != removed) || e != nil && e.key != k {
				t.Errorf("after the removal of %v: found %v for %v", keys[removed], e, k)
			}
		}
	}
}

// The removal of a conversation removes its aliases, and no other conversation under the same
// alias.
func TestConversationAliases(t *testing.T) {
	first, second := Key{ID: "c1", Peer: "x"}, Key{ID: "c2", Peer: "y"}
	cs := new(conversations)
	cs.add(&entry{key: first})
	cs.add(&entry{key: second})
	cs.addAlias(Key{ID: "none"}, "m")
	for range 2 {
		cs.addAlias(first, "m")
		cs.addAlias(first, first.ID)
	}
	if e := cs.find(first); len(e.aliases) != 1 {
		t.Errorf("the aliases are %q", e.aliases)
	}
	cs.addAlias(second, "m")
	cs.remove(first)
	if e := cs.find(Key{ID: "m", Peer: "x"}); e != nil {
		t.Errorf("the alias of a removed conversation finds %v", e)
	}
	if e := cs.find(Key{ID: "m", Peer: "y"}); e == nil || e.key != second {
		t.Errorf("the alias of the other conversation finds %v", e)
	}
	cs.remove(second)
	if len(cs.byID) != 0 {
		t.Errorf("%d ids are left in the index", len(cs.byID))
	}
}

// A run of an agent leaves no conversation to the next one.
func TestResetForgetsConversations(t *testing.T) {
	s, err := NewSystem(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop(t.Context()) //nolint:errcheck // nothing runs
	c, e := &cell{Registration: Registration{sys: s}}, &entry{key: Key{ID: "c", Peer: "b"}, conversation: &recording{}}
	c.conversations.add(e)
	s.count(e, 1)
	if c.reset(); len(c.conversations.byID) != 0 || s.Counts().Open != 0 {
		t.Errorf("%d are left, and %d are counted", len(c.conversations.byID), s.Counts().Open)
	}
}
