// Package swarm is the Eddy-and-Jules swarm (acl §6, §7; addenda §3): Eddy
// supports developers and delegates their tasks, Jules is a software engineer
// who debugs Python, and Eliza has a persona and no developer skill.
//
// [New] returns the whole swarm for a node to host. [Options] gives Jules another
// [Debugger], or replaces an agent of the swarm by your own.
//
// The swarm performs tasks of the type debug_code. The parameters of a task are a
// [Problem], and the details of its result a [Finding]. If the code or the traceback is
// missing, or they do not belong together, the result is a partial success that asks
// for the missing input. The next round of the same conversation ([delegation.WithInput])
// needs to contain the missing input only.
//
// # Concurrency
//
// Every function may be called from any goroutine. Only the node calls the methods of
// the agents.
package swarm
