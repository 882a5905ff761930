// Package library lists the codons and the roles of all protocol families of this module.
//
// [Codons] serves the code that describes or checks protocols: the documentation (docs/codons), the
// exploration tests, package watch. [Services] and [Protocols] are for a system whose agents answer
// all families. A node of package runtime uses both. A program that wants fewer families lists
// their codons and roles itself.
//
// To add a codon, export it from its family's package as a variable, and its role, if it has
// one, as another; then name both here. A test reports a codon or role that is missing.
package library
