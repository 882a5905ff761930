package actors

import (
	"fmt"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
)

// stone is a tombstone with replies of a size.
type stone struct {
	name string
	size int
}

func (*stone) Receive(Self, *performatives.Message) bool { return true }
func (s *stone) Size() int                               { return s.size }
func (s *stone) Shed()                                   { s.size = 0 }

func ended(id string) *entry {
	return &entry{key: Key{ID: performatives.ConversationID(id), Peer: "x"}}
}

// named returns the name of the tombstone that a key finds, empty for none.
func (t *tombstones) named(k Key) string {
	if g := t.find(k); g != nil {
		return g.tombstone.(*stone).name
	}
	return ""
}

// An agent remembers the last ended conversations, and forgets the oldest first.
func TestTombstonesAreBounded(t *testing.T) {
	all := newTombstones()
	const n = 3*maxTombstones + 5
	for i := range n {
		all.add(ended(fmt.Sprint(i)), &stone{name: fmt.Sprint(i)})
	}
	for i := range n {
		want := ""
		if i >= n-maxTombstones {
			want = fmt.Sprint(i)
		}
		if got := all.named(ended(fmt.Sprint(i)).key); got != want {
			t.Errorf("conversation %d: found %q, want %q", i, got, want)
		}
	}
	if len(all.places) != maxTombstones {
		t.Errorf("%d places, want %d", len(all.places), maxTombstones)
	}
}

// The removal of a tombstone leaves alone what a later conversation has taken over: its key or an
// alias.
func TestTombstoneOfALaterConversation(t *testing.T) {
	all := newTombstones()
	first := ended("first")
	first.aliases = []performatives.ConversationID{"shared"}
	all.add(first, &stone{name: "first"})
	later := ended("later")
	later.aliases = []performatives.ConversationID{"shared"}
	all.add(later, &stone{name: "later"})
	all.add(ended("first"), &stone{name: "again"}) // takes the place of the first
	for id, want := range map[string]string{"first": "again", "later": "later", "shared": "later"} {
		if got := all.named(ended(id).key); got != want {
			t.Errorf("%s: found %q, want %q", id, got, want)
		}
	}
	other := ended("first").key
	other.Initiator = true
	if got := all.named(other); got != "" {
		t.Errorf("the other side of the conversation: found %q", got)
	}
	other = ended("first").key
	other.Peer = "X"
	if got := all.named(other); got != "again" {
		t.Errorf("the peer in capital letters: found %q", got)
	}
}

// The replies of all tombstones together are bounded. The oldest are shed, and only as many as
// necessary.
func TestTombstonesShedReplies(t *testing.T) {
	all := newTombstones()
	const n, size = 3 * maxTombstones, maxReplyBytes / 16
	stones := make([]*stone, n)
	for i := range stones {
		stones[i] = &stone{name: fmt.Sprint(i), size: size}
		all.add(ended(fmt.Sprint(i)), stones[i])
		kept := 0
		for _, s := range stones[:i+1] {
			kept += s.size
		}
		if want := min(i+1, 16) * size; kept != want || stones[i].size == 0 {
			t.Fatalf("after %d ends: %d B of replies are kept, want %d, and the latest among them", i+1, kept, want)
		}
	}
	large := &stone{size: maxReplyBytes + 1}
	all.add(ended("large"), large)
	if large.size != 0 {
		t.Error("a reply that alone is too large is kept")
	}
}

// The replies of forgotten conversations leave room for others.
func TestForgottenRepliesLeaveRoom(t *testing.T) {
	all := newTombstones()
	const n, size = 4 * maxTombstones, maxReplyBytes / maxTombstones
	stones := make([]*stone, n)
	for i := range stones {
		stones[i] = &stone{size: size}
		all.add(ended(fmt.Sprint(i)), stones[i])
	}
	for i := n - maxTombstones; i < n; i++ {
		if stones[i].size == 0 {
			t.Fatalf("the reply of conversation %d was shed although there is room", i)
		}
	}
}
