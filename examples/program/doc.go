// Package program holds the parts of a command-line program that the examples share:
// flags, interrupts, input files, one-line errors and the end of a node. It imports
// only public packages, so that a copied example can import it too.
//
// # Concurrency
//
// There is no shared state besides the signal handlers of the process.
package program
