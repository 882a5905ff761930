package discovery

import (
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// commands are the contents of the commands of both tables.
func commands() map[string]any {
	return map[string]any{codons.CommandAnswer: performatives.InformCapabilities{}}
}

// whisperSides makes a new side of a role, for [codons.Rebuild].
func whisperSides(role machine.Role) codons.Side {
	if role == machine.Initiator {
		return &whisperInitiator{}
	}
	return whisperResponder{&codons.Responding{}}
}

// handshakeSides makes a new side of a role, for [codons.Rebuild].
func handshakeSides(role machine.Role) codons.Side {
	if role == machine.Initiator {
		return nil
	}
	return handshakeResponder{&codons.Responding{}}
}
