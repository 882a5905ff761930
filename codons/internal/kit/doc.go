// Package kit holds the test doubles and checks that the tests of the kernel and of the families
// share.
//
//   - [World] is a world of package systemtest with all codons of the library, and with a monitor
//     that checks each conversation against its table. At its end each conversation is rebuilt from
//     its record.
//   - [Worker] and [RequestHandler] are agents that answer by functions.
//   - [Golden] compares transcripts.
//
// What one package alone needs is in its own tests.
package kit
