package placement

import (
	"cmp"
	"hash/fnv"
	"strings"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Separator is between the name of a kind and the rest of an agent's id.
const Separator = "/"

// KindOf returns the folded name of the kind of an agent with that id: the part before the first
// [Separator]. An id without a Separator is that of a singleton, and KindOf returns the whole id.
func KindOf(id performatives.AgentID) string {
	name, _, _ := strings.Cut(string(id.Fold()), Separator)
	return name
}

// Pick returns the node that runs the agent with that id, by rendezvous hashing (Thaler and
// Ravishankar, 1998). When a node joins, the only agents that move are those that it gets; when a
// node leaves, those that it had. The order of nodes does not matter. Pick returns an empty name
// when there are no nodes. Ids are compared case-insensitively.
func Pick(id performatives.AgentID, nodes []string) (node string) {
	var best uint64
	folded := string(id.Fold())
	for _, name := range nodes {
		if w := weight(folded, name); node == "" || cmp.Or(cmp.Compare(w, best), cmp.Compare(name, node)) > 0 {
			node, best = name, w
		}
	}
	return node
}

// weight is a hash of an id and the name of a node. FNV alone leaves the weights of nodes whose
// names differ in their last byte close together, so its result is mixed (the finalizer of
// MurmurHash3).
func weight(id, node string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(node)) // it returns no error
	_, _ = h.Write([]byte{0})
	_, _ = h.Write([]byte(id))
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
