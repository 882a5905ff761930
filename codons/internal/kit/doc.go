// Package kit holds the test doubles and checks that the tests of the kernel and of the families
// share.
//
//   - [World] is a system of agents in virtual time, with a lossy network and a monitor that checks
//     each conversation against its table. At its end each conversation and each handler is
//     accounted for.
//   - [Peer] is a scripted peer that sends raw messages.
//   - [Worker] and [RequestHandler] are agents that answer by functions.
//   - [Golden] compares transcripts.
//
// What one package alone needs is in its own tests.
package kit
