// Package placement decides which node of a cluster runs an agent that the cluster places. It is pure: all nodes that see the same
// members come to the same decisions without a word, and those that do not are set right once they do.
package placement
