// Package swarm is the Eddy-and-Jules swarm (acl §6, §7; addenda §3): Eddy
// supports developers and delegates what they bring, Jules is a software engineer
// who debugs Python, and Eliza has a persona and no such skill.
//
// Embed it whole with [New], give Jules another [Debugger], put an agent of your own
// in the place of one of these ([Options].Replace), or start your own swarm from
// these files.
//
// A task is a debug_code whose parameters are a [Problem], and its result's details
// a [Finding]. When the code or the traceback is missing or they do not fit, the
// result is a partial one that asks for more; the next round of the same
// conversation ([codons.WithInput]) need bring only what was missing.
//
// # Concurrency
//
// Every function may be called from any goroutine. The agents are values for
// [actors.System]: their methods belong to it.
package swarm
