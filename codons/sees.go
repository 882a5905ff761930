package codons

import "github.com/ribosome-agents/ribosome/codons/machine"

// seenEverywhere is what the caller of any codon gets in the states that no act of
// the peer brings about: [EndError] in words.
var seenEverywhere = map[machine.State]string{
	stateTimedOut:  "an `EndError` with the code `timeout`, which is context.DeadlineExceeded too unless the caller's context ended otherwise",
	stateCancelled: "an `EndError` with the code `canceled`",
	stateAbandoned: "an `EndError` with the code `agent_stopped`, and the end of the caller's context if that was why",
}

// seenOfPeer is what the caller gets in any other state.
const seenOfPeer = "an `EndError` with the code and the text that the peer gave"

// Seen returns what the caller gets, in words, when the initiator ends in a state
// other than the one that the codon is for.
func (c Codon) Seen(end machine.State) string {
	if text, ok := c.Sees[end]; ok {
		return text
	}
	if text, ok := seenEverywhere[end]; ok {
		return text
	}
	return seenOfPeer
}
