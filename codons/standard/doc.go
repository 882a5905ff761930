// Package standard has the rows that the tables of all codons share, and the words of the tables of
// the families: their states, commands, jobs and reports. It is below the kernel: a table is
// completed before package codons runs it.
//
// [Rows.Complete] derives the standard rows from the own rows of a table: cancel, retry, deadline,
// misread messages, duplicates, refusals, the loss of the peer and the stop of an agent. An
// [Exchange] is the table of a codon in which one act is answered by one of a few others.
//
// A codon's author needs neither: a [codons.Definition] is completed with all rows unless it says
// otherwise, and package codons/machine has the words that every table needs.
//
// # Concurrency
//
// All functions are pure.
package standard
