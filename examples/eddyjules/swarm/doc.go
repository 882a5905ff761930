// Package swarm is the Eddy-and-Jules swarm (acl §6, §7; addenda §3): Eddy
// supports developers and delegates their tasks, Jules is a software engineer
// who debugs Python, and Eliza has a persona and no developer skill.
//
// [New] returns the whole swarm for a node to host. [Options] gives Jules another
// [Debugger], or replaces an agent of the swarm by your own.
//
// Eddy and Jules perform tasks of the type debug_code. The parameters of a task are a
// [Problem], and the details of its result a [Finding]. If the code or the traceback is
// missing, or they do not belong together, the result is a partial success that asks
// for the missing input. The next round of the same conversation ([delegation.WithInput])
// needs to contain the missing input only.
//
// Jules also performs the tasks of an editor (acl §6), refactor_code_snippet and explain_code: the
// parameters are a [Snippet], the details of the results a [Refactoring] and an [Explanation]. It
// answers QUERY_IF and QUERY_REF about its capacity and its skills. Editors of the variant of
// addenda §3 call the first one refactor_suggestion, and ask Eddy for get_documentation: Eddy
// delegates explain_code. All three agents declare the
// ontologies that they know: a request in another one is not understood (addenda §7).
//
// # Concurrency
//
// Every function may be called from any goroutine. Only the node calls the methods of
// the agents.
package swarm
