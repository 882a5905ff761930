// Package relay is the room of the messages that pass between two processes: between two sessions
// or links, or between one of them and an agent of this process. The other rooms pass such messages
// on through it.
//
// It owns a [Link] for each session, uplink and node, and the records of the requests that no
// conversation of this process accounts for. A record ends by the table of its request's codon, at
// its deadline, or when one of its two parties is lost. A request between programs of two nodes has
// a record at each: the asker's node tells the asker at the deadline, and the worker's node gives
// the worker a grace. A request by [actors.Self.Ask] with a deadline to an agent of another node
// has no record at the asker's node while the call waits: the call is the memory of it, and package
// actors answers it when that node is lost (see [actors.Registration.AccountFor]).
//
// It promises an end: the asker of each record gets a reply, or FAILURE in the worker's name. With
// the FAILURE, a worker that is not lost gets CANCEL, and its later replies are refused. A message
// is noted before it is passed on, and taken back if that fails. The requests of a link are bounded
// in number and in bytes. Those without a record are bounded by the worker's node.
//
// It may call the actor system, the tables of codons and the [Sender] of a link. It asks the room
// mesh by the two functions that [New] gets. It imports no other room. One lock guards all records.
// While it is held, only the actor system is called, and at the stop of the node the senders of
// links. Each link has a lock for the messages that come in by it. It is held while such
// a message is routed, and taken before that of the records.
package relay
