// Package kit holds the test doubles and checks that the tests of the kernel and of the families
// share.
//
//   - [World] is a system of agents in virtual time, with a network that loses messages and a
//     monitor that checks each conversation against its table. At its end each conversation and
//     each handler is accounted for.
//   - [Puppet] is a scripted peer that sends raw messages.
//   - [Worker], [Shop], [Boss] and the others are agents that answer by functions.
//   - [Kind] describes a codon made of an exchange, for the tests that all of them share.
//   - [Golden] compares transcripts, and [Canonical] writes a table for comparison.
package kit
