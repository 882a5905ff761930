// Package performatives holds what agents say to one another: the [Message],
// its communicative act, its typed content, and the codes of a refusal.
//
// It is the lowest layer. It knows no engine, no transport and no clock: who
// makes a message passes its id and its time in as a [Stamp].
//
// A Message is made once, by [New] or by one of its reply methods, is validated
// there, and never changes afterwards. Every goroutine may read it.
package performatives
