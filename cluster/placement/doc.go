// Package placement decides which node of a cluster runs an agent that the cluster places. It is
// pure: all nodes with the same view of the members come to the same decisions without a message.
// Different decisions are corrected once the views agree.
package placement
