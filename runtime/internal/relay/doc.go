// Package relay is the room of the messages that pass between two processes: between two sessions
// or links, or between one of them and an agent of this process. The other rooms pass such messages
// on through it.
//
// It owns the links to other processes, and the records of the requests that no conversation of
// this process accounts for. A record ends with the conversation by the table of its codon, at its
// deadline, or when one of its two parties is lost.
//
// It promises an end: the asker of each record gets a reply, or FAILURE in the worker's name. The
// worker then gets CANCEL, and a later reply is refused. A message is noted before it is passed on,
// and taken back if that fails. The requests of a link are bounded in number and in bytes.
//
// It may call the actor system, the tables of codons, and the two functions that [New] gets. It
// imports no other room. One lock guards all records; while it is held, only the actor system is
// called, and at the stop of the node the senders of links. Each link has a lock for the messages
// that come in by it. It is held while such a message is routed, and taken before that of the
// records.
package relay
