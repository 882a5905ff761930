// Package cluster describes the nodes that form a cluster. Its sub-packages do the work: membership
// knows which nodes there are, directory which agents live on them, and link carries messages
// between two of them.
//
// An agent author needs none of them: a node joins a cluster by one option of package runtime.
package cluster
