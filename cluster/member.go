package cluster

import (
	"cmp"
	"fmt"
	"maps"
)

// Incarnation is one run of a node's process. It is comparable.
type Incarnation struct {
	// Name is the name of the node, unique in the cluster.
	Name string `json:"node"`
	// Epoch is greater than that of each earlier run of a node with the name. It is never zero.
	Epoch uint64 `json:"epoch"`
}

// IsZero reports whether the incarnation is of no node.
func (i Incarnation) IsZero() bool { return i == Incarnation{} }

// Compare orders incarnations by name, and those of one name from the earlier to the later.
func (i Incarnation) Compare(other Incarnation) int {
	return cmp.Or(cmp.Compare(i.Name, other.Name), cmp.Compare(i.Epoch, other.Epoch))
}

// String returns the name and the epoch, for logs.
func (i Incarnation) String() string { return fmt.Sprintf("%s@%d", i.Name, i.Epoch) }

// Member is a node that takes part in the cluster, as it describes itself.
type Member struct {
	Incarnation
	// Gossip is the address of its membership, host:port.
	Gossip string `json:"gossip"`
	// Links is the address where it accepts the links of other nodes, host:port.
	Links string `json:"links"`
	// Labels are given by its operator, such as zone=eu-1. Nil means none.
	Labels map[string]string `json:"labels"`
	// Leaving means that the node hands over its agents and takes no new ones. It can still be
	// reached.
	Leaving bool `json:"leaving"`
}

// Equal reports whether both describe the same incarnation in the same way.
func (m Member) Equal(other Member) bool {
	return m.Incarnation == other.Incarnation && m.Gossip == other.Gossip && m.Links == other.Links &&
		m.Leaving == other.Leaving && maps.Equal(m.Labels, other.Labels)
}
