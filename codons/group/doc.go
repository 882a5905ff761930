// Package group has one party lead many conversations of one codon by the rules of a
// [machine.Coordination]: for codons such as an auction or a contract net. It is written with what
// package codons exports.
package group
