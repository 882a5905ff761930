// Package program holds the parts of a command-line program that the examples share:
// flags, interrupts, outputs, one-line texts and the end of a node. It imports only public
// packages, so that a copied example can import it too.
//
// # Concurrency
//
// An [Output] may be used by several goroutines. There is no shared state besides the signal
// handlers of the process.
package program
