// Package directory replicates which agents live on which node of a cluster.
//
// A [Replica] is one node's copy. Each node is the only writer of its own part, and numbers its
// changes from 1. The parts spread in two ways: as deltas, each with one change, which may be lost,
// repeated and reordered, and as whole states, which repair that. For each node a replica knows up
// to which number it has all changes; whatever is missing from a state that is complete up to a
// number was removed at or before it. So a tombstone is needed only above that number, no time is
// involved, and nothing that was removed comes back.
//
// Of an agent's capabilities only the digest is replicated. Their text, which may have any size, is
// fetched once from its node.
//
// # Concurrency
//
// A Replica has no lock, clock or goroutine: the caller serialises the calls.
package directory
